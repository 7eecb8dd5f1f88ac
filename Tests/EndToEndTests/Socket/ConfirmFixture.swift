import Foundation
import JSONRPC
import UsherTestKit

/// A daemon with rules that require confirmation, the programs that they match, and a signed-in
/// account.
///
/// Calls of `kiosk` and `till` must be confirmed. `desk` may answer the questions of `kiosk` and
/// subscribe to events, and nothing else.
struct ConfirmFixture {
  static let passcode = "canary-passcode-4711"

  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  let account: JSONValue
  private let place: TemporaryDirectory
  private let programs: [String: NamedProgram]

  /// - Parameters:
  ///   - limits: Lines of `[limits]`.
  ///   - rules: Further rules, appended to those of the three programs.
  init(
    limits: String = "", rules: (TemporaryDirectory) throws -> String = { _ in "" },
    clock: MovableClock? = nil
  ) throws {
    let place = try TemporaryDirectory()
    sandbox = try SandboxUnderTest()
    let asking = try ["kiosk", "till"].map {
      try NamedProgram.rule($0, in: place) + "confirm = true\n"
    }
    let desk = try NamedProgram.rule("desk", in: place)
      .replacingOccurrences(of: #"allow = ["*"]"#, with: #"allow = ["events.*"]"#)
    daemon = try DaemonUnderTest(
      config: """
        [access]
        group = "4242"
        [limits]
        flow_starts_per_minute = 10000
        \(limits)

        \(sandbox.provider())
        \(asking.joined(separator: "\n"))
        \(desk)confirms = ["kiosk"]

        \(try rules(place))
        """,
      clock: clock, messageBus: FprintdUnderTest.noBus, at: place)
    var programs: [String: NamedProgram] = [:]
    for name in ["kiosk", "till", "desk"] {
      programs[name] = try NamedProgram(name, in: place, at: daemon)
    }
    self.place = place
    self.programs = programs
    account = try daemon.client().signIn()["result"]?["account"] ?? .null
  }

  /// Opens a connection of the named program; `nil`: of this process, which no rule matches.
  func client(_ name: String? = nil) throws -> RawClient {
    guard let name else { return try daemon.client() }
    guard let program = programs[name] else {
      throw TestError("the fixture has no program \(name)")
    }
    return try program.client()
  }

  func setPasscode() throws {
    _ = try daemon.client().call("localAuth.setPasscode", ["new": .string(Self.passcode)])
  }
}

extension RawClient {
  /// Makes a call that must fail because it needs confirmation, and returns the id of its question.
  func question(
    of method: String = "token.get", _ params: JSONValue = ["provider": "demo"]
  ) throws -> JSONValue {
    let error = try error(of: method, params)
    guard error["code"] == 1101, error["data"]?["reason"] == "interaction_required",
      error["data"]?["retryable"] == true, let id = error["data"]?["confirmation"]
    else { throw TestError("\(method) did not fail with interaction_required: \(error.text)") }
    return id
  }

  /// Makes a call and returns `result`, or the reason of its error.
  func outcome(
    of method: String = "token.get", _ params: JSONValue = ["provider": "demo"]
  ) throws -> String {
    let reply = try reply(to: method, params)
    return reply["result"] == nil ? reply.replyReason ?? "none" : "result"
  }

  /// Answers a question.
  ///
  /// - Returns: `result`, or the reason of the error.
  func answer(
    _ question: JSONValue, _ allow: Bool = true, _ remember: JSONValue? = nil
  ) throws -> String {
    var params: JSONValue = ["confirmation": question, "allow": .bool(allow)]
    params["remember"] = remember
    return try outcome(of: "confirm.answer", params)
  }

  func questions() throws -> [JSONValue] {
    try call("confirm.list")["questions"]?.arrayValue ?? []
  }

  /// Completes a `local` `authenticate` flow of this client with the passcode.
  func prove() throws {
    let start = try startFlow(
      "local", "authenticate", params: ["localAuthType": "passcode", "reason": "agree"])
    let end = try flow(
      in: call(
        "flow.submit",
        [
          "flow": start["id"] ?? .null, "revision": start["revision"] ?? .null,
          "input": ["type": "localAuth", "passcode": .string(ConfirmFixture.passcode)],
          "waitMs": 60_000,
        ], within: 120))
    guard try finished(end)["status"] == "succeeded" else {
      throw TestError("local authentication did not succeed: \(end.text)")
    }
  }

  /// Returns the next event of any subscription of this connection.
  func event() throws -> JSONValue {
    while true {
      let message = try next()
      if message["method"] == "events.notify" { return message["params"]?["event"] ?? .null }
    }
  }
}
