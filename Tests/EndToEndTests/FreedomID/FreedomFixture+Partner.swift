import Foundation
import JSONRPC
import UsherTestKit

// A Freedom ID of the modes with a browser: the partner API and OpenID.

extension FreedomFixture {
  static let clientSecret = "s3cret:freedom/client+="

  /// - Parameters:
  ///   - provider: More lines of the `[[provider]]`.
  ///   - more: More of the configuration, before it.
  ///   - secret: Of the client; nil sets none.
  ///   - wire: What stands between the daemon and the provider.
  static func partner(
    _ provider: String = "", more: String = "", secret: String? = clientSecret,
    wire: PartnerWire? = nil, at place: TemporaryDirectory? = nil
  ) throws -> FreedomFixture {
    try browsing(
      { "mode = \"oauth2\"\napi_base_url = \"\(wire?.freedom ?? $0.freedom)\"\npoll_seconds = 1" },
      provider, more, secret, wire, place)
  }

  /// - Parameter wire: What stands before the token endpoint.
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

// MARK: - People at the pages

extension FreedomFixture {
  enum Decision: Sendable {
    case allow, deny
    /// Does not even sign in.
    case giveUp
  }

  /// Signs somebody in at a page, and returns where the provider sends the browser.
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

  /// The whole way: the browser comes back to the daemon.
  @discardableResult
  func visit(
    _ flow: JSONValue, _ name: String = "alice", _ decision: Decision = .allow
  ) throws -> Web.Reply {
    try Web.get(decide(at: flow.url, name, decision))
  }

  /// Somebody's own page: who asks for what, and how to log out.
  func own(_ name: String) throws -> Web.Reply {
    let guest = FreedomGuest(name: name)
    return try press(
      "login", ["action": "login", "name": guest.email, "password": guest.password],
      on: Web.get("\(sandbox.freedom)/me"))
  }

  /// Sends the form of a page.
  func press(_ form: String, _ fields: [String: String], on page: Web.Reply) throws -> Web.Reply {
    var fields = fields
    for match in page.text.matches(of: /name="(transaction|csrf)" value="([^"]*)"/) {
      fields[String(match.1)] = String(match.2)
    }
    guard fields["transaction"] != nil else { throw TestError("no form: \(page.text)") }
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
  /// From `flow.start` to the end, whichever it is.
  func attempt(
    _ grants: [String], as name: String = "alice", _ decision: Decision = .allow,
    _ more: JSONValue = [:]
  ) throws -> JSONValue {
    let flow = try authorize(grants, more)
    guard flow["status"] == "active" else { return flow }
    try visit(flow, name, decision)
    return try app.finished(flow)
  }

  /// The whole way, to its good end.
  @discardableResult
  func signedIn(
    _ grants: [String] = ["read.firstname"], as name: String = "alice", _ more: JSONValue = [:]
  ) throws -> JSONValue {
    let end = try attempt(grants, as: name, .allow, more)
    guard end["status"] == "succeeded" else { throw TestError("not signed in: \(end.text)") }
    return end
  }

  /// Starts a flow of another kind; returns it at its end, or still under way after the wait.
  func perform(_ kind: String, _ params: JSONValue, waitMs: Int64 = 15_000) throws -> JSONValue {
    try app.flow(
      in: app.call(
        "flow.start",
        [
          "provider": "freedom", "kind": .string(kind), "params": params,
          "waitMs": .integer(waitMs),
        ]))
  }

  func paste(_ url: String, to flow: JSONValue) throws -> JSONValue {
    try submit(["type": "openURL", "redirectURL": .string(url)], to: flow)
  }

  func token(_ params: JSONValue = ["provider": "freedom"]) throws -> JSONValue {
    try app.call("token.get", params)
  }

  /// Of a `token.get` that must be refused.
  func tokenError(_ params: JSONValue = ["provider": "freedom"]) throws -> JSONValue {
    try app.error(of: "token.get", params)
  }

  /// Waits for a page that is not the one of the flow before.
  func anotherPage(than flow: JSONValue) throws -> JSONValue {
    try moved(flow, "has another page") { !$0.url.isEmpty && $0.url != flow.url }
  }
}

/// A client that hears of everything from now on.
final class PartnerListener {
  private let client: RawClient

  init(_ client: RawClient) throws {
    self.client = client
    _ = try client.call(
      "events.subscribe", ["topics": ["flow", "account", "token", "provider", "confirm", "kyc"]])
  }

  /// All events up to the first for which it holds.
  func events(until holds: (JSONValue) -> Bool) throws -> [JSONValue] {
    var events: [JSONValue] = []
    while let event = try client.receive()?["params"]?["event"] {
      events.append(event)
      if holds(event) { return events }
    }
    throw TestError("the connection is closed; heard \(events)")
  }

  /// How often a token was told to be dead before somebody else's flow began.
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

  /// The params of the `flow.start` that an error says is next.
  var next: JSONValue? { self["data"]?["next"]?["params"] }
}
