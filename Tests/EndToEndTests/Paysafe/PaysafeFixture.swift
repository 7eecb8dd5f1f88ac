import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A fake wallet provider, a daemon that has it as provider `paysafe`, and a client connection; one
/// set for each test.
struct PaysafeFixture: ProviderFixture {
  static let backend = "paysafe"

  static let clientSecret = "s3cret:+/%"

  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  let app: RawClient

  /// - Parameters:
  ///   - provider: More lines of the `[[provider]]`.
  ///   - more: TOML after the provider.
  ///   - operations: The wallet calls that the provider permits.
  ///   - signedIn: The customer to sign in; nil: none.
  ///   - clock: The clock of daemon and sandbox; nil: the machine's.
  ///   - logLevel: The daemon's log level.
  init(
    provider: String = "", more: String = "", operations: String = "[\"*:/wallets/*\"]",
    signedIn user: String? = nil, clock: MovableClock? = nil, logLevel: String = "debug"
  ) throws {
    sandbox = try SandboxUnderTest(clock: clock)
    daemon = try DaemonUnderTest(
      config: """
        [limits]
        flow_starts_per_minute = 10000

        """ + sandbox.wallet("operations = \(operations)\n\(provider)") + more, clock: clock,
      logLevel: logLevel)
    app = try daemon.client()
    try daemon.setCredential("paysafe-client-secret", Self.clientSecret)
    if let user { try signIn(user: user) }
  }

  init(_ sandbox: SandboxUnderTest, _ daemon: DaemonUnderTest, _ app: RawClient) {
    self.sandbox = sandbox
    self.daemon = daemon
    self.app = app
  }

  func at(_ app: RawClient) -> PaysafeFixture { PaysafeFixture(sandbox, daemon, app) }

  // MARK: The provider

  /// Creates an SCA event of a customer; returns its `eventId` and `walletOperationId`.
  func event(
    _ settings: JSONValue = [:], user: String = "alice"
  ) throws -> (id: String, operation: String) {
    var request = settings
    request["username"] = .string(user)
    let event = try sandbox.control("POST", "paysafe/events", request)
    guard let id = event["eventId"]?.stringValue,
      let operation = event["walletOperationId"]?.stringValue
    else { throw TestError("the sandbox created no SCA event: \(event.text)") }
    return (id, operation)
  }

  func event(_ id: String, change: JSONValue? = nil) throws -> JSONValue {
    try sandbox.control(change == nil ? "GET" : "POST", "paysafe/events/\(id)", change)
  }

  func decide(_ event: String, approve: Bool) throws {
    try sandbox.control("POST", "paysafe/events/\(event)/decision", ["approve": .bool(approve)])
  }

  /// Returns the newest message of a channel: `sms`, `email` or `push`.
  func message(_ channel: String) throws -> JSONValue {
    let all = try outbox()
    guard let newest = all.first(where: { $0["channel"] == .string(channel) }) else {
      throw TestError("the outbox has no \(channel) message: \(all)")
    }
    return newest
  }

  func messages(_ channel: String) throws -> Int {
    try outbox().count { $0["channel"] == .string(channel) }
  }

  /// Returns the code of the newest SMS or e-mail.
  func code(_ channel: String = "sms") throws -> String {
    guard let code = try message(channel)["code"]?.stringValue else {
      throw TestError("the newest \(channel) message has no code")
    }
    return code
  }

  /// Returns a code of six digits that differs from the newest one.
  func wrongCode(_ channel: String = "sms") throws -> String {
    try code(channel) == "000000" ? "000001" : "000000"
  }

  func authenticatorCode(user: String = "alice") throws -> String {
    let shown = try sandbox.control("GET", "paysafe/authenticator?username=\(user)")
    return shown["code"]?.stringValue ?? ""
  }

  /// Returns the operations that the wallet has performed.
  func performed(_ method: String? = nil) throws -> [JSONValue] {
    let all = try sandbox.control("GET", "paysafe/operations")["operations"]?.arrayValue ?? []
    return all.filter { method == nil || $0["method"] == method.map { .string($0) } }
  }

  // MARK: The daemon

  @discardableResult
  func signIn(user: String = "alice", params: JSONValue = [:]) throws -> JSONValue {
    let flow = try app.startFlow("paysafe", "authorize", params: params)
    try Customer.signIn(at: flow.url, user: user)
    let end = try app.finished(flow)
    guard end["status"] == "succeeded" else {
      throw TestError("the sign-in did not succeed: \(end.text)")
    }
    return end
  }

  /// Starts an SCA flow and returns it at the first step other than `wait`.
  func sca(
    _ event: (id: String, operation: String), _ more: JSONValue = [:]
  ) throws -> JSONValue {
    var params = more
    params["eventId"] = .string(event.id)
    params["walletOperationId"] = .string(event.operation)
    return try app.startFlow("paysafe", "sca", params: params)
  }

  func enter(_ code: String, to flow: JSONValue) throws -> JSONValue {
    try submit(["type": "enterCode", "code": .string(code)], to: flow)
  }

  func operate(
    _ method: String, _ path: String, body: JSONValue? = nil, _ more: JSONValue = [:],
    waitMs: Int64 = 60_000
  ) throws -> JSONValue {
    var params = more
    params["method"] = .string(method)
    params["path"] = .string(path)
    params["body"] = body
    return try app.flow(
      in: app.call(
        "flow.start",
        [
          "provider": "paysafe", "kind": "operation", "params": params, "waitMs": .integer(waitMs),
        ], within: 120))
  }

  func pay(_ amount: String, _ more: JSONValue = [:], waitMs: Int64 = 60_000) throws -> JSONValue {
    try operate(
      "POST", "/wallets/wlt_alice/payments",
      body: ["amount": .string(amount), "currency": "EUR", "payee": "Bakery"], more,
      waitMs: waitMs)
  }
}

extension SandboxUnderTest {
  /// Returns a `[[provider]]` of type `paysafe` with this sandbox's URL.
  func wallet(_ more: String = "") -> String {
    """
    [[provider]]
    name = "paysafe"
    type = "paysafe"
    base_url = "\(base)/paysafe"
    brand_identity = "acme"
    client_id = "acme-wallet"
    client_credential = "paysafe-client-secret"
    poll_seconds = 1
    \(more)

    """
  }
}

/// A customer at the brand's pages, without a browser: reads the form and submits it.
enum Customer {
  static let pins = ["alice": "2468", "bob": "1357"]

  /// Signs in or denies; returns the reply, which redirects the browser.
  static func decide(
    at url: String, user: String = "alice", secret: [String: String]? = nil, allow: Bool = true
  ) throws -> Web.Reply {
    let page = try Web.get(url)
    guard let parts = URLComponents(string: url), let port = parts.port else {
      throw TestError("not a page of the sandbox: \(url)")
    }
    var form =
      secret
      ?? (page.text.contains("name=\"pin\"")
        ? ["pin": pins[user] ?? ""] : ["password": "\(user)-password"])
    for match in page.text.matches(of: /name="(transaction|csrf)" value="([^"]*)"/) {
      form[String(match.1)] = String(match.2)
    }
    guard form["transaction"] != nil else { throw TestError("the page has no form: \(page.text)") }
    form["username"] = user
    form["action"] = allow ? "login" : "deny"
    let path = parts.path.replacing(/authorize$/, with: "login")
    return try Web.post("http://127.0.0.1:\(port)\(path)", form: form)
  }

  /// Signs in or denies, and follows the redirect to the daemon's listener.
  @discardableResult
  static func signIn(at url: String, user: String = "alice", allow: Bool = true) throws -> Web.Reply
  {
    guard let back = try decide(at: url, user: user, allow: allow).location else {
      throw TestError("the provider did not redirect")
    }
    return try Web.get(back)
  }
}

/// The partner's backend, which exchanges codes with the client secret.
enum Partner {
  static func exchange(
    _ sandbox: SandboxUnderTest, code: String, redirectURI: String, verifier: String,
    brand: String = "acme"
  ) throws -> JSONValue {
    let secret = "acme-wallet:s3cret%3A%2B%2F%25"
    let form = [
      "grant_type": "authorization_code", "code": code, "redirect_uri": redirectURI,
      "code_verifier": verifier,
    ]
    let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
    let text = form.map { name, value in
      "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")"
    }.joined(separator: "&")
    let reply = try Web.send(
      "POST", "\(sandbox.base)/paysafe/auth/brands/\(brand)/token", body: Array(text.utf8),
      type: "application/x-www-form-urlencoded",
      headers: ["Authorization": "Basic \(Data(secret.utf8).base64EncodedString())"])
    guard reply.status == 200 else { throw TestError("the code was not exchanged: \(reply.text)") }
    return try JSONValue(parsing: reply.body)
  }
}

extension JSONValue {
  var problem: String? { self["problem"]?["reason"]?.stringValue }

  var failure: JSONValue { self["failure"] ?? .null }
}
