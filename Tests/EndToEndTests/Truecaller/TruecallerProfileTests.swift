import JSONRPC
import Testing
import UsherTestKit

/// Number and signature of the profile, and the resulting account and token.
@Suite("Truecaller's profile, account and token", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerProfileTests {
  private let fixture: TruecallerFixture

  init() throws { fixture = try TruecallerFixture() }

  private func end(_ number: String = TruecallerFixture.number) throws -> JSONValue {
    let flow = try fixture.verify(number)
    return try fixture.enter(fixture.code(), to: flow)
  }

  /// Expects that the account has its token and no profile, as in each `verificationComplete`.
  private func expectPending() throws {
    let accounts = try fixture.app.call("account.list")["accounts"]?.arrayValue ?? []
    #expect(accounts.count == 1 && accounts.first?["attributes"]?["profilePending"] == true)
    #expect(accounts.first?["profile"] == nil)
    let token = try fixture.app.call("token.get", ["provider": "truecaller"])
    #expect(token["accessToken"]?.stringValue?.isEmpty == false)
  }

  @Test(
    "a profile of another number ends Truecaller verifyPhone with TCError 15; the token is kept")
  func otherNumber() throws {
    try fixture.set(["profileOtherNumber": true, "profileNumber": "number"])
    let end = try end()
    #expect(end.failure == ["provider_rejected", "15", nil], "\(end.text)")
    #expect(end["result"] == .null && end["state"] == "verificationComplete")
    try expectPending()
    try fixture.set(["profileOtherNumber": false])
    #expect(try fixture.app.finished(fixture.verify())["status"] == "succeeded")
  }

  @Test("a name that Truecaller refuses does not undo a right code: the result names the problem")
  func refusedName() throws {
    try fixture.spoil("update", ["status": 422, "body": ["code": 4221]], times: 1)
    let end = try end()
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(end["result"]?["nameProblem"]?["provider"]?["code"] == "13")
    #expect(end["result"]?["profile"]?["phoneNumber"] == "919876543210")
  }

  @Test(
    "Truecaller verifyPhone keeps the token if the profile fails, and the next flow needs no code")
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

  @Test("Truecaller verifyPhone reports a profile request that fails with HTTP 503, and repeats it")
  func fails() throws {
    let listener = try Listener(fixture.daemon)
    try fixture.spoil("profile", ["status": 503], times: 1)
    // The next attempt is held, so that the flow has its problem until the test has seen it.
    try fixture.spoil("profile", ["held": true])
    let flow = try fixture.verify()
    let sent = try fixture.enter(fixture.code(), to: flow, waitMs: 0)
    let told = try fixture.moved(sent, "has a problem") { $0.problem[0] != nil }
    try fixture.sandbox.release()
    #expect(try fixture.app.finished(told)["status"] == "succeeded")
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "verifying", "otpReceived", "verificationComplete",
        "verificationComplete", "verificationComplete succeeded",
      ])
    #expect(try fixture.requests("profile") == 2)
  }

  // MARK: Signed profiles

  @Test("Truecaller's key for signed profiles is fetched once, and again after a rotation")
  func signed() throws {
    try fixture.set(["profileSignature": "right", "otherKeysFirst": true])
    let listener = try Listener(fixture.daemon)
    #expect(try end()["status"] == "succeeded")
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "verifying", "otpReceived", "verificationComplete",
        "verificationComplete succeeded",
      ])
    #expect(try end("9876543211")["status"] == "succeeded")
    #expect(try fixture.requests("key") == 1)
    try fixture.sandbox.control("POST", "truecaller/keys/rotate", [:])
    #expect(try end("9876543212")["status"] == "succeeded")
    #expect(try fixture.requests("key") == 2)
  }

  @Test(
    "a wrong signature of a profile ends Truecaller verifyPhone with TCError 15; the token is kept")
  func wronglySigned() throws {
    try fixture.set(["profileSignature": "wrong"])
    let end = try end()
    #expect(end.failure == ["provider_rejected", "15", nil], "\(end.text)")
    try expectPending()
  }

  // MARK: Account and token

  @Test("a Truecaller token cannot be renewed, and account.forget wipes it")
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
    // Truecaller still knows the number.
    #expect(try fixture.app.finished(fixture.verify())["state"] == "verifiedBefore")
  }
}
