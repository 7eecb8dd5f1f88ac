import Glibc
import JSONRPC

/// A usherd with an account of this user, and the usher-sandbox at which the account was signed in.
///
/// The account's token is valid for a day, so that the daemon refreshes nothing during a
/// measurement.
final class SignedInDaemon {
  let daemon: MeasuredDaemon
  /// The id of the first account: `acc_` and 26 characters.
  let account: String
  /// The access token that every account gets.
  let accessToken: String
  private let provider: SandboxProvider

  /// The provider's name in the daemon's configuration.
  static let providerName = "demo"

  /// - Parameters:
  ///   - usherd: The program. usher-sandbox must be in the directory of this program.
  ///   - connections: The number of connections that this user may open.
  ///   - tokenBytes: The length of the access token.
  ///   - limits: More lines for `[limits]`.
  ///   - config: More sections for usherd.toml.
  init(
    _ usherd: String, connections: Int = 1024, tokenBytes: Int = 800, limits: String = "",
    config: String = ""
  ) throws {
    provider = try SandboxProvider(tokenBytes: tokenBytes)
    accessToken = provider.accessToken
    daemon = try MeasuredDaemon(
      usherd,
      config: """
        [[provider]]
        name = "\(Self.providerName)"
        type = "oidc"
        issuer = "\(provider.issuer)"
        client_id = "usher"

        [limits]
        connections = \(connections + 64)
        connections_per_user = \(connections + 32)
        flow_starts_per_minute = 100000
        \(limits)

        \(config)
        """)
    account = try Self.signIn("alice", daemon, provider)
    guard try token()["accessToken"]?.stringValue == accessToken else {
      throw BenchError("the daemon returned another token than the provider issued")
    }
  }

  /// Signs in another user of the sandbox.
  ///
  /// - Returns: The id of the account.
  func signIn(_ user: String) throws -> String { try Self.signIn(user, daemon, provider) }

  /// Returns a call of `token.get` as programs make it.
  ///
  /// - Parameter id: Three digits, so that all calls have the same length, and so do their replies.
  func tokenCall(id: Int = 100) -> [UInt8] {
    Calls.line("token.get", #"{"account":"\#(account)","minValidSeconds":60}"#, id: id)
  }

  /// Returns the result of one such call.
  func token() throws -> JSONValue {
    try Self.result(of: tokenCall(), try BlockingClient(daemon.socketPath))
  }

  // MARK: Signing in

  private static func signIn(
    _ user: String, _ daemon: MeasuredDaemon, _ provider: SandboxProvider
  ) throws -> String {
    let client = try BlockingClient(daemon.socketPath)
    let start = #"{"provider":"\#(providerName)","kind":"authorize","params":{},"waitMs":15000}"#
    var flow = try result(of: Calls.line("flow.start", start), client)["flow"]
    guard let page = flow?["step"]?["url"]?.stringValue, let id = flow?["id"]?.stringValue else {
      throw BenchError("the flow has no page to open: \(client.reply)")
    }
    try provider.signIn(user, at: page)
    for _ in 0..<10 where flow?["status"]?.stringValue == "active" {
      let revision = flow?["revision"]?.integerValue ?? 0
      let wait = #"{"flow":"\#(id)","revision":\#(revision),"timeoutMs":5000}"#
      flow = try result(of: Calls.line("flow.wait", wait), client)["flow"]
    }
    guard let account = flow?["result"]?["account"]?.stringValue else {
      throw BenchError("the sign-in failed: \(client.reply)")
    }
    return account
  }

  private static func result(of call: [UInt8], _ client: BlockingClient) throws -> JSONValue {
    _ = try client.time(call)
    guard let result = try? JSONValue(parsing: Array(client.reply.utf8))["result"] else {
      throw BenchError("the daemon refused the call: \(client.reply)")
    }
    return result
  }
}

/// A usher-sandbox on a free port, with tokens of a realistic length.
final class SandboxProvider {
  /// The base URL: `http://127.0.0.1:` and the port.
  let base: String
  let accessToken: String
  private let program: ChildProcess
  private let directory: ScratchDirectory

  var issuer: String { "\(base)/oidc" }

  init(tokenBytes: Int) throws {
    directory = try ScratchDirectory()
    // The characters of a JSON Web Token.
    accessToken = String(
      decoding: "eyJhbGciOiJFUzI1NiJ9.".utf8
        + (0..<max(0, tokenBytes - 21)).map { Array("bench-Token_0123456789".utf8)[$0 % 22] },
      as: UTF8.self)
    let own = try MeasuredDaemon.builtProgram("usher-sandbox")
    program = try ChildProcess(own, ["--port-file", directory.file("port")])
    let port = try Self.port(of: program, in: directory.file("port"))
    base = "http://127.0.0.1:\(port)"
    // The sandbox does not know this access token, so it must neither put its hash into the ID
    // token nor offer a userinfo endpoint.
    try control(
      "settings",
      """
      {"tokenReply": {"access_token": "\(accessToken)", "expires_in": 86400},
       "idToken": {"claims": {"at_hash": null}}, "discovery": {"userinfo_endpoint": null}}
      """)
  }

  private func control(_ what: String, _ json: String) throws {
    let reply = try LoopbackWeb.post("\(base)/_control/\(what)", json: json)
    guard reply.status < 300 else { throw BenchError("the sandbox refused this: \(reply.body)") }
  }

  /// Makes the sandbox return the access token for any refresh token.
  func answerRefreshes() throws {
    try control(
      "faults",
      """
      {"endpoint": "token", "grantType": "refresh_token", "fault": {"body":
        {"access_token": "\(accessToken)", "token_type": "Bearer", "expires_in": 86400}}}
      """)
  }

  deinit { program.stop() }

  /// Submits the sandbox's forms as a browser does, up to the redirect to the daemon's listener.
  func signIn(_ user: String, at page: String) throws {
    var form = try Self.hidden(in: LoopbackWeb.get(page).body)
    form["username"] = user
    form["password"] = "\(user)-password"
    form["action"] = "login"
    form = try Self.hidden(in: LoopbackWeb.post("\(issuer)/login", form: form).body)
    form["decision"] = "allow"
    let answer = try LoopbackWeb.post("\(issuer)/consent", form: form)
    guard let back = answer.headers["location"] else {
      throw BenchError("the provider did not redirect the browser: status \(answer.status)")
    }
    _ = try LoopbackWeb.get(back)
  }

  /// Returns the hidden fields of a form.
  static func hidden(in page: String) throws -> [String: String] {
    var fields: [String: String] = [:]
    for match in page.matches(of: #/name="(transaction|csrf)" value="([^"]*)"/#) {
      fields[String(match.1)] = String(match.2)
    }
    guard fields.count == 2 else { throw BenchError("not a page of the sandbox: \(page)") }
    return fields
  }

  private static func port(of program: ChildProcess, in file: String) throws -> UInt16 {
    for _ in 0..<1000 {
      if let text = try? wholeFile(file), let port = UInt16(text.prefix { $0.isNumber }) {
        return port
      }
      guard program.isRunning else { throw BenchError("usher-sandbox ended before it listened") }
      usleep(10_000)
    }
    throw BenchError("usher-sandbox does not listen")
  }
}

/// Returns the text of a file, which may be one in /proc.
func wholeFile(_ path: String) throws -> String {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else {
    throw BenchError("\(path): \(String(cString: strerror(errno)))")
  }
  defer { close(descriptor) }
  var (bytes, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
  while true {
    let count = read(descriptor, &chunk, chunk.count)
    guard count >= 0 else { throw BenchError("\(path): \(String(cString: strerror(errno)))") }
    guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
    bytes += chunk.prefix(count)
  }
}
