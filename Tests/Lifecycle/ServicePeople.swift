import Foundation
import JSONRPC
import UsherTestKit

// Actions of people at the provider, and programs of other users at the daemon.
extension ServiceFixture {
  /// Completes a sign-in for a client of root.
  @discardableResult
  func signIn(_ client: RawClient) throws -> JSONValue {
    let flow = try client.startFlow("work")
    try comeBack(to: wayBack(of: flow))
    let end = try client.finished(flow)
    guard end["status"] == "succeeded" else { throw TestError("the sign-in failed: \(end.text)") }
    return end
  }

  /// Signs in at the page of a flow, and allows.
  ///
  /// - Returns: The URL to which the provider redirects the browser.
  func wayBack(of flow: JSONValue) throws -> String {
    guard let page = flow["step"]?["url"]?.stringValue,
      let back = try system.inNetwork({ try Person.decide(at: page).location })
    else { throw TestError("the flow has no page, or the page no redirect: \(flow.text)") }
    return back
  }

  /// Opens the redirect URL as the browser does. Retries, because right after a restart the
  /// listener may not be open yet.
  func comeBack(to url: String) throws {
    try eventually("the daemon answers at the redirect URL") {
      (try? system.inNetwork { try Web.get(url) })?.status == 200
    }
  }

  /// Enters the code of a device flow at the provider, and allows.
  func approve(_ flow: JSONValue) throws {
    guard let page = flow["step"]?["verificationURIComplete"]?.stringValue,
      let code = flow["step"]?["userCode"]?.stringValue
    else { throw TestError("the flow shows no user code: \(flow.text)") }
    _ = try system.inNetwork { try Person.decide(at: page, userCode: code) }
  }

  /// Calls the provider's control API.
  @discardableResult
  func control(_ method: String, _ path: String, _ body: JSONValue? = nil) throws -> JSONValue {
    try system.inNetwork {
      try SandboxUnderTest.control("http://127.0.0.1:8765", method, path, body)
    }
  }

  /// Returns the number of refresh requests at the provider.
  func refreshes() throws -> Int64 {
    try control("GET", "requests?endpoint=token&grantType=refresh_token")["count"]?.integerValue
      ?? -1
  }

  /// Returns the access token that a client gets.
  func token(_ client: RawClient) throws -> String {
    try client.call("token.get", ["provider": "work"])["accessToken"]?.stringValue ?? ""
  }
}

// MARK: - Programs

extension ServiceFixture {
  /// Starts a program of a user in a unit, which relays its connections to a socket.
  func program(
    of user: String, unit: String, at target: String = socket
  ) throws -> () throws -> RawClient {
    let listen = "/run/callers/\(unit)"
    try system.run(
      "systemd-run", "--quiet", "--unit=\(unit)", "--uid=\(user)", "/usr/bin/python3",
      Self.tools + "as_user.py", "relay", listen, target)
    return { [system] in try .waiting(for: system.path(listen)) }
  }

  /// Runs a command as a user, to its end.
  @discardableResult
  func run(as user: String, _ command: String...) throws -> String {
    try system.run(
      ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--init-groups"] + command)
  }

  /// Completes a sign-in with a client and a browser of the same user.
  func signIn(_ user: String, by client: RawClient) throws {
    let flow = try client.startFlow("work")
    let back = try wayBack(of: flow)
    try run(as: user, "/usr/bin/python3", Self.tools + "as_user.py", "get", back)
    let end = try client.finished(flow)
    guard end["status"] == "succeeded" else { throw TestError("the sign-in failed: \(end.text)") }
  }

  /// Returns the exit status and all output of a command.
  func outcome(_ command: String...) throws -> (status: Int, output: String) {
    try outcome(command, input: "")
  }

  func outcome(_ command: [String], input: String) throws -> (status: Int, output: String) {
    let place = "/run/outcome-\(UInt32.random(in: 0...UInt32.max))"
    try system.write(input, to: place)
    let output = try system.run(
      ["sh", "-c", #"in=$1; shift; "$@" <"$in" 2>&1; echo "$?""#, "sh", place] + command)
    try system.run("rm", place)
    let lines = output.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
    guard let status = Int(lines.last ?? "") else { throw TestError("no exit status: \(output)") }
    return (status, lines.dropLast().joined(separator: "\n"))
  }
}

// MARK: - Load

/// Clients of `ada` that call `token.get` without pause, with the client library.
struct Load {
  private let fixture: ServiceFixture
  let clients: Int

  /// Starts the clients, and returns when each has got a token. `ada` must have signed in.
  init(_ fixture: ServiceFixture, clients: Int = 50) throws {
    self.fixture = fixture
    self.clients = clients
    try fixture.system.run("systemctl", "reset-failed")
    try fixture.system.run(
      "systemd-run", "--quiet", "--unit=load.service", "--uid=ada",
      "--property=StandardOutput=truncate:/run/load", "--property=RemainAfterExit=yes",
      ServiceFixture.programs + "usher-bench", "load", "--provider", "work", "--clients",
      "\(clients)", "--seconds", "600")
    try eventually(within: 60, "all of them have a token: \(said)") { said.contains("calling") }
  }

  private var said: String { (try? fixture.system.run("cat", "/run/load")) ?? "" }

  /// Waits until all clients are connected.
  func isThere() throws {
    try eventually("all clients are connected again") {
      let open = try fixture.admin().call("system.status")["connections"]?.integerValue ?? 0
      return open > clients
    }
  }

  /// Ends the load.
  ///
  /// - Returns: The number of calls, the number of failed calls, and the output.
  func end() throws -> (calls: Int, failed: Int, said: String) {
    try fixture.system.run("systemctl", "kill", "load.service")
    try eventually(within: 60, "the clients have ended") { said.contains("\nfailed ") }
    try fixture.system.run("systemctl", "stop", "load.service")
    func number(_ name: String) -> Int {
      let line = said.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
      return Int(line?.dropFirst(name.count + 1) ?? "") ?? -1
    }
    return (number("calls"), number("failed"), said)
  }
}
