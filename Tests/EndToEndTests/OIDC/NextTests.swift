import JSONRPC
import Testing
import UsherTestKit

/// A program that gets an error with `next` starts that flow, and makes its call again.
@Suite("Following next ends the error", .mayBlock, .timeLimit(.minutes(10)))
struct NextTests {
  let fixture: OIDCFixture
  private let clock = MovableClock()

  init() throws { fixture = try OIDCFixture(clock) }

  /// Starts the flow that an error names, and decides at its page; returns its parameters.
  @discardableResult
  private func follow(_ error: JSONValue) throws -> JSONValue {
    let start = try #require(error.data["next"]?["params"])
    let kind = start["kind"]?.stringValue ?? ""
    let flow = try fixture.app.startFlow("demo", kind, params: start["params"] ?? [:])
    if kind == "device" {
      _ = try Person.decide(
        at: flow["step"]?["verificationURI"]?.stringValue ?? "",
        userCode: flow["step"]?["userCode"]?.stringValue)
      #expect(try fixture.app.finished(flow, moving: clock)["status"] == "succeeded")
    } else {
      try Person.signIn(at: flow.url)
      #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    }
    return start["params"] ?? [:]
  }

  private func refusal(_ more: [String: JSONValue] = [:]) throws -> JSONValue {
    try fixture.app.error(of: "token.get", .object(["provider": "demo"].merging(more) { $1 }))
  }

  private func words(_ scope: JSONValue?) -> Set<Substring> {
    Set(scope?.stringValue?.split(separator: " ") ?? [])
  }

  @Test("consent_required for more scope ends with a grant that has the old scope and the new one")
  func moreScope() throws {
    try fixture.app.signIn()
    let before = words(try fixture.token()["scope"])
    let error = try refusal(["scope": "openid payments"])
    #expect(error.data["reason"] == "consent_required")
    try follow(error)
    let token = try fixture.token()
    #expect(words(token["scope"]) == before.union(["payments"]))
    // A part is still not requested from the provider, but the whole grant covers it.
    #expect(try refusal(["scope": "openid payments"]).data["reason"] == "invalid_params")
    #expect(try fixture.accounts.count == 1)
  }

  @Test(
    "a dead grant is renewed with its own scope, keepAlive and acrValues, not the configured ones")
  func deadGrant() throws {
    try fixture.set(["idToken": ["claims": ["acr": "gold"]]])
    let params: JSONValue = [
      "scope": "openid email payments", "keepAlive": true, "acrValues": "gold",
    ]
    #expect(try fixture.attempt(params: params)["status"] == "succeeded")
    try fixture.sandbox.control("POST", "revokeAll")
    try clock.advance(by: 301)
    let error = try refusal()
    #expect(error.data["reason"] == "reauthentication_required")
    let again = try follow(error)
    #expect(again["acrValues"] == "gold" && again["keepAlive"] == true)
    #expect(try fixture.accounts[0]["keepAlive"] == true)
    #expect(words(again["scope"]).isSuperset(of: ["openid", "email", "payments"]))
    #expect(words(try fixture.token()["scope"]).isSuperset(of: ["openid", "email", "payments"]))
    #expect(try !words(fixture.token()["scope"]).contains("profile"))
  }

  @Test("an account that was signed in with a device code is signed in so again")
  func device() throws {
    try fixture.set(["tokenReply": ["expires_in": 0]])
    let flow = try fixture.app.startFlow("demo", "device", params: ["keepAlive": false])
    _ = try Person.decide(
      at: flow["step"]?["verificationURI"]?.stringValue ?? "",
      userCode: flow["step"]?["userCode"]?.stringValue)
    _ = try fixture.app.finished(flow, moving: clock)
    try fixture.sandbox.control("POST", "revokeAll")
    let error = try refusal()
    #expect(error.data["next"]?["params"]?["kind"] == "device")
    try fixture.set(["tokenReply": [:]])
    try follow(error)
    #expect(try fixture.token()["accessToken"] != nil)
  }

  @Test("a grant that the provider narrowed gets its whole scope back")
  func narrowed() throws {
    try fixture.set(["tokenReply": ["expires_in": 0]])
    try fixture.app.signIn()
    try fixture.set(["tokenReply": ["scope": "openid"]])
    let error = try refusal()
    #expect(error.data["reason"] == "consent_required")
    try fixture.set(["tokenReply": [:]])
    try follow(error)
    #expect(words(try fixture.token()["scope"]).contains("profile"))
  }

  @Test("an ID token that is not renewed comes with the sign-in that the error names")
  func idToken() throws {
    try fixture.set(["idTokenOnRefresh": false])
    try fixture.app.signIn()
    try clock.advance(by: 301)
    try follow(try refusal(["field": "idToken"]))
    #expect(try fixture.token(["provider": "demo", "field": "idToken"])["idToken"] != nil)
  }
}
