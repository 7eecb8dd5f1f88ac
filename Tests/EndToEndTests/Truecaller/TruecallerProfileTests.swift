import JSONRPC
import Testing
import UsherTestKit

/// The profile: whose it must be, by whom it is signed, and the account and token that come of it.
@Suite("Truecaller: profile, account, token", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerProfileTests {
  private let fixture: TruecallerFixture
  private let clock = MovableClock()

  init() throws { fixture = try TruecallerFixture(clock: clock) }

  private func end(_ number: String = TruecallerFixture.number) throws -> JSONValue {
    let flow = try fixture.verify(number)
    return try fixture.enter(fixture.code(), to: flow)
  }

  @Test("a profile of another number ends the flow with TCError 15, and nothing is kept")
  func otherNumber() throws {
    try fixture.set(["profileOtherNumber": true, "profileNumber": "number"])
    let end = try end()
    #expect(end.failure == ["provider_rejected", "15", nil], "\(end.text)")
    #expect(end["result"] == .null)
    #expect(try fixture.app.call("account.list")["accounts"] == [])
  }

  @Test("a profile that cannot be read leaves the token, and the next flow needs no code")
  func kept() throws {
    try fixture.spoil("profile", ["status": 404, "body": ["code": 8]], times: 1)
    #expect(try end().failure == ["provider_rejected", "10", "8"])
    let token = try fixture.app.call("token.get", ["provider": "truecaller"])
    #expect(token["accessToken"]?.stringValue?.isEmpty == false)
    let next = try fixture.app.finished(fixture.verify())
    #expect(next["status"] == "succeeded" && next["state"] == "verifiedBefore", "\(next.text)")
    #expect(next["result"]?["profile"]?["firstName"] == "Asha")
    #expect(try fixture.requests("create") == 1)
    #expect(try fixture.app.call("token.get", ["provider": "truecaller"]) == token)
    let accounts = try fixture.app.call("account.list")["accounts"]?.arrayValue ?? []
    #expect(accounts.count == 1 && accounts.first?["attributes"]?["profilePending"] == nil)
  }

  @Test("a profile that gets no answer is told while verificationComplete, and tried again")
  func fails() throws {
    let listener = try Listener(fixture.daemon)
    try fixture.spoil("profile", ["status": 503], times: 1)
    let flow = try fixture.verify()
    let sent = try fixture.enter(fixture.code(), to: flow, waitMs: 0)
    let told = try fixture.moved(sent, "is in trouble") { $0.problem[0] != nil }
    try clock.advance(by: 5)
    #expect(try fixture.app.finished(told)["status"] == "succeeded")
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "otpReceived", "verificationComplete", "verificationComplete",
        "verificationComplete succeeded",
      ])
    #expect(try fixture.requests("profile") == 2)
  }

  // MARK: Signed profiles

  @Test("a signed profile is checked by a key that is fetched once, and again after a rotation")
  func signed() throws {
    try fixture.set(["profileSignature": "right", "otherKeysFirst": true])
    let listener = try Listener(fixture.daemon)
    #expect(try end()["status"] == "succeeded")
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "otpReceived", "verificationComplete",
        "verificationComplete succeeded",
      ])
    #expect(try end("9876543211")["status"] == "succeeded")
    #expect(try fixture.requests("key") == 1)
    try fixture.sandbox.control("POST", "truecaller/keys/rotate", [:])
    #expect(try end("9876543212")["status"] == "succeeded")
    #expect(try fixture.requests("key") == 2)
  }

  @Test("a profile whose signature is wrong ends the flow with TCError 15, and nothing is kept")
  func wronglySigned() throws {
    try fixture.set(["profileSignature": "wrong"])
    let end = try end()
    #expect(end.failure == ["provider_rejected", "15", nil], "\(end.text)")
    #expect(try fixture.app.call("account.list")["accounts"] == [])
  }

  // MARK: Account and token

  @Test("there is no renewal, and account.forget wipes the token")
  func forget() throws {
    let account = try fixture.verified()["result"]?["account"] ?? .null
    let before = try fixture.app.call("token.get", ["account": account])
    #expect(
      try fixture.app.reason(of: "token.get", ["account": account, "forceRefresh": true])
        == "reauthentication_required")
    #expect(try fixture.app.call("token.get", ["account": account]) == before)
    #expect(try fixture.app.call("token.list")["tokens"]?.arrayValue?.count == 1)
    _ = try fixture.app.call("account.forget", ["account": account])
    #expect(try fixture.app.reason(of: "account.get", ["account": account]) == "not_found")
    #expect(try fixture.app.call("token.list")["tokens"] == [])
    #expect(try fixture.app.reason(of: "token.get", ["account": account]) == "not_found")
    #expect(
      try fixture.app.reason(of: "token.get", ["provider": "truecaller"]) == "interaction_required")
  }
}
