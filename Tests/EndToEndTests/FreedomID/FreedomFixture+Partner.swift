import Foundation
import JSONRPC
import UsherTestKit

// Freedom ID in its browser modes: the partner API and OpenID.

extension FreedomFixture {
  static let clientSecret = "s3cret:freedom/client+="

  /// - Parameters:
  ///   - provider: More lines of the `[[provider]]`.
  ///   - more: TOML before the provider.
  ///   - secret: The client secret; nil sets none.
  ///   - wire: A recording proxy between the daemon and the provider.
  static func partner(
    _ provider: String = "", more: String = "", secret: String? = clientSecret,
    wire: PartnerWire? = nil, at place: TemporaryDirectory? = nil
  ) throws -> FreedomFixture {
    try browsing(
      { "mode = \"oauth2\"\napi_base_url = \"\(wire?.freedom ?? $0.freedom)\"\npoll_seconds = 1" },
      provider, more, secret, wire, place)
  }

  /// - Parameter wire: A recording proxy before the token endpoint.
  static func openID(
    _ provider: String = "", secret: String? = clientSecret, wire: PartnerWire? = nil
  ) throws -> FreedomFixture {
    let paths = wire.map {
      "[provider.paths]\nopenid_token = \"\($0.freedom)/api/v1/oidc/token\""
    }
    let fixture = try browsing(
      { _ in "mode = \"oidc\"" }, "\(provider)\n\(paths ?? "")", "", secret, nil, nil)
    wire?.lead(to: fixture.sandbox.base)
    return fixture
  }

  private static func browsing(
    _ mode: (SandboxUnderTest) -> String, _ provider: String, _ more: String, _ secret: String?,
    _ wire: PartnerWire?, _ place: TemporaryDirectory?
  ) throws -> FreedomFixture {
    let fixture = try withoutActuallyEscaping(mode) { mode in
      try FreedomFixture(
        mode: mode,
        provider: """
          client_id = "acme"
          client_credential = "freedom-secret"
          \(provider)
          """, more: more, credentials: secret.map { ["freedom-secret": $0] } ?? [:],
        passcode: nil, base: wire?.freedom, at: place)
    }
    wire?.lead(to: fixture.sandbox.base)
    return fixture
  }
}

// MARK: - The provider's pages

extension FreedomFixture {
  enum Decision: Sendable {
    case allow, deny
    /// Cancels the log-in.
    case giveUp
  }

  /// Signs a person in at a page, decides, and returns the URL that the provider redirects to.
  func decide(
    at url: String, _ name: String = "alice", _ decision: Decision = .allow
  ) throws -> String {
    var page = try Web.get(url)
    guard decision != .giveUp else {
      return try wayBack(press("login", ["action": "cancel"], on: page))
    }
    let guest = FreedomGuest(name: name)
    page = try press(
      "login", ["action": "login", "name": guest.email, "password": guest.password], on: page)
    if page.text.contains("id=\"code\"") {
      page = try press("login", ["action": "login", "code": code()], on: page)
    }
    let word = decision == .allow ? "allow" : "deny"
    return try wayBack(press("consent", ["decision": word], on: page))
  }

  /// Signs a person in at the flow's page, decides, and follows the redirect to the daemon.
  @discardableResult
  func visit(
    _ flow: JSONValue, _ name: String = "alice", _ decision: Decision = .allow
  ) throws -> Web.Reply {
    try Web.get(decide(at: flow.url, name, decision))
  }

  /// Signs in to a person's own page, which has the pending profile requests and the log-out.
  func own(_ name: String) throws -> Web.Reply {
    let guest = FreedomGuest(name: name)
    return try press(
      "login", ["action": "login", "name": guest.email, "password": guest.password],
      on: Web.get("\(sandbox.freedom)/me"))
  }

  /// Submits a form of a page.
  func press(_ form: String, _ fields: [String: String], on page: Web.Reply) throws -> Web.Reply {
    var fields = fields
    for match in page.text.matches(of: /name="(transaction|csrf)" value="([^"]*)"/) {
      fields[String(match.1)] = String(match.2)
    }
    guard fields["transaction"] != nil else {
      throw TestError("the page has no form: \(page.text)")
    }
    return try Web.post("\(sandbox.freedom)/\(form)", form: fields)
  }

  private func wayBack(_ reply: Web.Reply) throws -> String {
    guard let back = reply.location else {
      throw TestError("Freedom did not redirect: \(reply.status) \(reply.text)")
    }
    return back
  }
}

// MARK: - The daemon

extension FreedomFixture {
  /// Runs an authorization to its end.
  func attempt(
    _ grants: [String], as name: String = "alice", _ decision: Decision = .allow,
    _ more: JSONValue = [:]
  ) throws -> JSONValue {
    let flow = try authorize(grants, more)
    guard flow["status"] == "active" else { return flow }
    try visit(flow, name, decision)
    return try app.finished(flow)
  }

  /// Signs in; throws unless the flow succeeds.
  @discardableResult
  func signedIn(
    _ grants: [String] = ["read.firstname"], as name: String = "alice", _ more: JSONValue = [:]
  ) throws -> JSONValue {
    let end = try attempt(grants, as: name, .allow, more)
    guard end["status"] == "succeeded" else {
      throw TestError("the authorization did not succeed: \(end.text)")
    }
    return end
  }

  /// Starts a flow of a kind; returns it at its end, or still active after `waitMs`.
  func perform(_ kind: String, _ params: JSONValue, waitMs: Int64 = 60_000) throws -> JSONValue {
    try app.flow(
      in: app.call(
        "flow.start",
        [
          "provider": "freedom", "kind": .string(kind), "params": params,
          "waitMs": .integer(waitMs),
        ], within: 120))
  }

  func paste(_ url: String, to flow: JSONValue) throws -> JSONValue {
    try submit(["type": "openURL", "redirectURL": .string(url)], to: flow)
  }

  func token(_ params: JSONValue = ["provider": "freedom"]) throws -> JSONValue {
    try app.call("token.get", params)
  }

  /// Returns the error of a `token.get` that must be refused.
  func tokenError(_ params: JSONValue = ["provider": "freedom"]) throws -> JSONValue {
    try app.error(of: "token.get", params)
  }

  /// Waits until the flow has another page than before.
  func anotherPage(than flow: JSONValue) throws -> JSONValue {
    try moved(flow, "has another page") { !$0.url.isEmpty && $0.url != flow.url }
  }
}

/// A client that is subscribed to all topics.
final class PartnerListener {
  private let client: RawClient

  init(_ client: RawClient) throws {
    self.client = client
    _ = try client.call(
      "events.subscribe", ["topics": ["flow", "account", "token", "provider", "confirm", "kyc"]])
  }

  /// Returns all events up to the first that satisfies a condition.
  func events(until holds: (JSONValue) -> Bool) throws -> [JSONValue] {
    var events: [JSONValue] = []
    while let event = try client.receive()?["params"]?["event"] {
      events.append(event)
      if holds(event) { return events }
    }
    throw TestError("the connection was closed before the expected event; received: \(events)")
  }

  /// Returns the events about dead tokens up to the first event of a flow.
  func deaths(before flow: JSONValue) throws -> [JSONValue] {
    try events { $0["flow"] == flow["id"] }
      .filter { $0["topic"] == "token" && $0["what"] == "dead" }
  }
}

extension JSONValue {
  var redirectURI: String { self["step"]?["redirectURI"]?.stringValue ?? "" }

  var completes: String? { self["step"]?["completes"]?.stringValue }

  var account: JSONValue { self["result"]?["account"] ?? .null }

  var reason: String? { self["data"]?["reason"]?.stringValue }

  /// The params of the `flow.start` that an error names as the next call.
  var next: JSONValue? { self["data"]?["next"]?["params"] }
}
