import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The seed's "Authorization Flow", heading by heading: that the daemon, its store and the provider do
/// what the flow decides. What it decides is in `UsherFlowsTests`.
@Suite("Freedom ID's authorization flow", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomDeviceFlowTests {
  private let fixture: FreedomFixture

  init() throws { fixture = try FreedomFixture() }

  // MARK: App Initialization, Account Check

  @Test("Account Check: the provider knows no account of this device: the Authentication Screen")
  func noAccount() throws {
    let flow = try fixture.authorize(["read.firstname"])
    #expect(flow.state == "authentication", "\(flow.text)")
    #expect(flow.options == ["phoneOTP", "emailPassword", "phonePassword"])
    #expect(try fixture.requests("accounts") == 1 && fixture.messages().isEmpty)
  }

  @Test("Account Check: an account exists: the Home Screen, also after a restart")
  func accountExists() throws {
    try fixture.authorized(["read.firstname"])
    try fixture.daemon.restart()
    let home = try fixture.again().authorize(["read.lastname"])
    #expect(home.state == "home", "\(home.text)")
    #expect(home["step"]?["what"] == "account")
    #expect(home.labels == ["+4 ••• 23", "Another account"])
    #expect(home.options.last == "other")
    #expect(try fixture.requests("password") == 1)
  }

  @Test("an account that the provider does not tie to the device any more is not at home")
  func untied() throws {
    try fixture.authorized(["read.firstname"])
    try fixture.sandbox.control("POST", "freedomid/revokeAll")
    let flow = try fixture.authorize(["read.lastname"])
    #expect(flow.state == "authentication", "\(flow.text)")
    // The same person again is the same account.
    let end = try fixture.walk(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.accounts().count == 1)
  }

  // MARK: Authentication Screen Interaction

  @Test("Authentication: the phone number, and the code of an SMS")
  func phoneAndCode() throws {
    var flow = try fixture.choose("phoneOTP", at: fixture.authorize(["read.firstname"]))
    #expect(
      flow["step"]?["fields"] == [
        ["name": "phone", "type": "phone", "required": true, "maxLength": 32]
      ], "\(flow.text)")
    flow = try fixture.fill("phone", "+44 (7700) 900-123", at: flow)
    #expect(flow.stepType == "enterCode", "\(flow.text)")
    let step = flow["step"]
    #expect(step?["purpose"] == "otp" && step?["channel"] == "sms" && step?["digits"] == 6)
    #expect(step?["maskedTarget"] == "+4 ••• 23")
    #expect(try fixture.messages().map { $0["to"] } == ["+447700900123"])
    flow = try fixture.enter(code: fixture.code(), at: flow)
    #expect(flow.state == "home" && flow.labels.first == "+4 ••• 23", "\(flow.text)")
    #expect(try fixture.requests("password") == 0)
  }

  @Test(
    "Authentication: a password, and with 2FA a code more",
    arguments: [(FreedomGuest.Way.emailPassword, "totp"), (.phonePassword, "email")])
  func secondFactor(way: FreedomGuest.Way, channel: String) throws {
    try fixture.setTwoFactor(channel, of: "alice")
    let guest = FreedomGuest.alice.by(way)
    let asked = try fixture.walk(fixture.authorize(["read.firstname"]), guest) {
      $0["step"]?["purpose"] == "twoFactor"
    }
    #expect(asked["step"]?["channel"] == .string(channel), "\(asked.text)")
    #expect(try fixture.accounts().isEmpty, "it is not signed in yet")
    #expect(try fixture.messages().count == (channel == "totp" ? 0 : 1))
    let end = try fixture.walk(asked, guest)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.requests("twoFactor") == 1)
  }

  // MARK: Home Screen Interaction

  @Test("Home: another account signs in beside the first; each is opened by itself")
  func severalAccounts() throws {
    try fixture.authorized(["read.firstname"], .alice)
    let first = try fixture.authorize(["read.firstname"])
    let other = try fixture.choose("other", at: first)
    #expect(other.state == "authentication", "\(other.text)")
    let home = try fixture.walk(other, .bob) { $0.state == "home" }
    #expect(home.labels == ["+4 ••• 23", "+4 ••• 56", "Another account"], "\(home.text)")
    let proving = try fixture.choose(home.options[1], at: home)
    #expect(proving.stepType == "localAuth" && proving.state == "home", "\(proving.text)")
    #expect(proving["step"]?["reason"]?.stringValue?.contains("+4 ••• 56") == true)
    #expect(try fixture.walk(proving).profile == ["firstname": "Bob"])
    #expect(try fixture.authorized(["read.lastname"], .bob).profile == ["lastname": "Brown"])
    let accounts = try fixture.accounts()
    #expect(accounts.map { $0["label"] } == ["+4 ••• 23", "+4 ••• 56"])
    #expect(accounts[0]["profile"] == ["firstname": "Alice"])
    #expect(accounts[1]["profile"] == ["firstname": "Bob", "lastname": "Brown"])
  }

  @Test("Home: local authentication comes first; cancelled or failed, nothing is asked for")
  func localAuthentication() throws {
    var flow = try fixture.standing(at: "localAuth")
    #expect(flow["step"]?["methods"] == ["passcode"], "\(flow.text)")
    flow = try fixture.submit(["type": "localAuth", "cancel": true], to: flow)
    #expect(flow.state == "home" && flow.stepType == "choose", "\(flow.text)")
    #expect(flow.problem == "local_auth_cancelled")
    flow = try fixture.prove("not the passcode", at: fixture.choose(flow.options[0], at: flow))
    #expect(flow.stepType == "localAuth" && flow.problem == "wrong_passcode", "\(flow.text)")
    flow = try fixture.prove(at: flow)
    #expect(flow.state == "permissions", "\(flow.text)")
    #expect(try fixture.requests("consent") == 0)
  }

  @Test("Home: an account that was named is chosen already; somebody else may not sign in for it")
  func named() throws {
    let account = try fixture.authorized(["read.firstname"])["result"]?["account"] ?? .null
    let flow = try fixture.authorize(["read.lastname"], ["account": account])
    #expect(flow.stepType == "localAuth", "\(flow.text)")
    #expect(try fixture.walk(flow).profile == ["lastname": "Adams"])
    try fixture.sandbox.control("POST", "freedomid/revokeAll")
    let again = try fixture.authorize(["read.email"], ["account": account])
    #expect(again.state == "authentication", "\(again.text)")
    let end = try fixture.walk(again, .bob)
    #expect(Array(end.failure.prefix(2)) == ["provider_rejected", "authError"], "\(end.text)")
    // Bob is not left tied to this device.
    try eventually("bob is untied") { try fixture.list("accounts").isEmpty }
    #expect(try fixture.accounts().count == 1)
  }

  // MARK: Request for Permissions, User Decision, Completion

  @Test("Request for Permissions: granted some: the others are neither told nor kept")
  func grantedSome() throws {
    let asked = try fixture.standing(at: "consent", ["read.firstname", "read.phone", "read.email"])
    #expect(asked["step"]?["client"] == .string(NSUserName()), "\(asked.text)")
    let labels = asked["step"]?["grants"]?.arrayValue?.compactMap { $0["label"]?.stringValue }
    #expect(labels?.count == 3 && labels?.allSatisfy { !$0.isEmpty } == true)
    // No answer names what the step does not ask for.
    #expect(
      try fixture.refusal(
        ["type": "consent", "granted": ["read.phone", "read.gender"]], to: asked)
        == ["invalid_input", "input.granted"])
    let end = try fixture.grant(["read.phone"], at: asked)
    #expect(end["result"]?["granted"] == ["read.phone"], "\(end.text)")
    #expect(end.profile == ["phone": "+447700900123"])
    #expect(end["result"]?["account"] == (try fixture.accounts().first)?["id"])
    #expect(try fixture.accounts().map { $0["profile"] } == [["phone": "+447700900123"]])
    #expect(try fixture.list("consents").map { $0["granted"] } == [["read.phone"]])
    #expect(try fixture.flow(end) == end, "the same is told to whoever asks again")
    let next = try fixture.standing(at: "consent", ["read.firstname", "read.phone"])
    #expect(next.asked == ["read.firstname": false, "read.phone": true])
  }

  @Test("User Decision: denied once: the Home Screen; denied twice: accessDenied, nothing was told")
  func denied() throws {
    let home = try fixture.deny(fixture.standing(at: "consent"))
    #expect(home.state == "home" && home.problem == "denied", "\(home.text)")
    let end = try fixture.deny(fixture.walk(home) { $0.stepType == "consent" })
    #expect(end.failure == ["denied", "accessDenied", nil], "\(end.text)")
    #expect(try fixture.requests("consent") == 0 && fixture.consents().isEmpty)
    // The log-in was none of the denial's business: the account is at home.
    #expect(try fixture.authorize(["read.firstname"]).state == "home")
  }
}
