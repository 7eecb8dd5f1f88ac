import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A sandbox, a daemon that has it as provider `demo`, and a connection of an app.
struct OIDCFixture: ProviderFixture {
  static let backend = ""

  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  let app: RawClient

  /// - Parameters:
  ///   - provider: More lines of the `[[provider]]`.
  ///   - limits: More lines of `[limits]`.
  ///   - more: Returns further `[[provider]]` tables for the sandbox.
  init(
    provider: String = "", limits: String = "",
    more: (SandboxUnderTest) -> String = { _ in "" }
  ) throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(
      config: sandbox.provider(more: provider) + more(sandbox) + """
        [limits]
        flow_starts_per_minute = 10000
        \(limits)
        """)
    app = try daemon.client()
  }

  private init(_ fixture: OIDCFixture, _ app: RawClient) {
    sandbox = fixture.sandbox
    daemon = fixture.daemon
    self.app = app
  }

  func at(_ app: RawClient) -> OIDCFixture { OIDCFixture(self, app) }

  // MARK: The provider

  func mend() throws {
    try sandbox.control("DELETE", "settings")
    try sandbox.control("DELETE", "faults")
  }

  /// Routes the daemon's token requests through a gate. Call this before the daemon's first
  /// request.
  func tokenGate() throws -> AnswerGate {
    let gate = try AnswerGate(before: sandbox.base)
    try set(["discovery": ["token_endpoint": .string("\(gate.base)/oidc/token")]])
    return gate
  }

  func forgetRequests() throws { try sandbox.control("DELETE", "requests") }

  var refreshes: Int {
    get throws { try sandbox.requests("token", grantType: "refresh_token") }
  }

  /// The number of successful revocation requests.
  var revocations: Int {
    get throws {
      let seen = try sandbox.control("GET", "requests?endpoint=revocation")["requests"]
      return seen?.arrayValue?.count { $0["status"] == 200 } ?? 0
    }
  }

  /// Returns the userinfo endpoint's reply for an access token.
  func userinfo(_ accessToken: JSONValue?) throws -> Web.Reply {
    try Web.send(
      "GET", "\(sandbox.issuer)/userinfo",
      headers: ["Authorization": "Bearer \(accessToken?.stringValue ?? "")"])
  }

  /// Signs in with a token that has expired when it arrives; later tokens are valid.
  @discardableResult
  func signInWithExpiredToken(user: String = "alice") throws -> JSONValue {
    try set(["tokenReply": ["expires_in": 0]])
    let flow = try app.signIn(user: user)
    try set(["tokenReply": [:]])
    try forgetRequests()
    return flow
  }

  // MARK: The daemon

  var accounts: [JSONValue] {
    get throws { try app.call("account.list", [:])["accounts"]?.arrayValue ?? [] }
  }

  func token(_ params: JSONValue = ["provider": "demo"]) throws -> JSONValue {
    try app.call("token.get", params)
  }

  /// Submits a redirect URL, which the flow must accept, and returns the flow.
  func submit(_ url: String, to flow: JSONValue) throws -> JSONValue {
    try app.flow(in: app.call("flow.submit", submission(url, to: flow)))
  }

  func submission(_ url: String, to flow: JSONValue) -> JSONValue {
    [
      "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null,
      "input": ["type": "openURL", "redirectURL": .string(url)],
    ]
  }

  /// Starts a flow, decides at its page, and returns the flow at its end.
  func attempt(
    user: String = "alice", params: JSONValue = [:], allow: Bool = true
  ) throws -> JSONValue {
    let flow = try app.startFlow(params: params)
    try Person.signIn(at: flow.url, user: user, allow: allow)
    return try app.finished(flow)
  }
}

extension JSONValue {
  var redirectURI: String { self["step"]?["redirectURI"]?.stringValue ?? "" }

  var failure: JSONValue { self["failure"] ?? .null }

  /// The `data` of an error.
  var data: JSONValue { self["data"] ?? .null }

  /// Whether the text of this value contains something like a code, a token or a client secret.
  var hasSecret: Bool {
    text.contains("s3cret") || text.contains("eyJ")
      || text.contains(/(ac|at|rt|dc)_[A-Za-z0-9_-]{12}/)
  }
}
