import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// "Authorization Flow" of the SDK's documentation, heading by heading, with daemon, store and
/// provider. `UsherFlowsTests` covers the decisions of the flow.
@Suite("Freedom ID's authorization flow", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomDeviceFlowTests {
  private let fixture: FreedomFixture

  init() throws { fixture = try FreedomFixture() }

  // MARK: App Initialization, Account Check

  @Test(
    "without an account of this device, Freedom ID authorize begins at the authentication screen")
  func noAccount() throws {
    let flow = try fixture.authorize(["read.firstname"])
    #expect(flow.state == "authentication", "\(flow.text)")
    #expect(flow.options == ["phoneOTP", "emailPassword", "phonePassword"])
    #expect(try fixture.requests("accounts") == 1 && fixture.messages().isEmpty)
  }

  @Test("with an account of this device, authorize begins at the home screen, even after a restart")
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

  @Test("after Freedom ID has untied an account, its person signs in again to the same account")
  func untied() throws {
    try fixture.authorized(["read.firstname"])
    try fixture.sandbox.control("POST", "freedomid/revokeAll")
    let flow = try fixture.authorize(["read.lastname"])
    #expect(flow.state == "authentication", "\(flow.text)")
    // Signing in again as the same person adds no second account.
    let end = try fixture.walk(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.accounts().count == 1)
  }

  // MARK: Authentication Screen Interaction

  @Test("Freedom ID authorize signs a person in by phone number and the code of an SMS")
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
    "with 2FA, a Freedom ID password log-in asks for a second code before the account is added",
    arguments: [(FreedomGuest.Way.emailPassword, "totp"), (.phonePassword, "email")])
  func secondFactor(way: FreedomGuest.Way, channel: String) throws {
    try fixture.setTwoFactor(channel, of: "alice")
    let guest = FreedomGuest.alice.by(way)
    let asked = try fixture.walk(fixture.authorize(["read.firstname"]), guest) {
      $0["step"]?["purpose"] == "twoFactor"
    }
    #expect(asked["step"]?["channel"] == .string(channel), "\(asked.text)")
    #expect(try fixture.accounts().isEmpty, "no account exists before the second factor")
    #expect(try fixture.messages().count == (channel == "totp" ? 0 : 1))
    let end = try fixture.walk(asked, guest)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.requests("twoFactor") == 1)
  }

  // MARK: Home Screen Interaction

  @Test("a second Freedom ID account signs in beside the first, and each keeps its own profile")
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

  @Test(
    "a cancelled or failed localAuth at Freedom ID's home screen does not lead to the permissions")
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

  @Test("Freedom ID authorize with an account preselects it and refuses a log-in by another person")
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
    // The refused log-in does not leave Bob tied to this device.
    try eventually("Bob's account is no longer tied to the device") {
      try fixture.list("accounts").isEmpty
    }
    #expect(try fixture.accounts().count == 1)
  }

  // MARK: Request for Permissions, User Decision, Completion

  @Test("after a partial Freedom ID consent, the other members are not returned or stored")
  func grantedSome() throws {
    let asked = try fixture.standing(at: "consent", ["read.firstname", "read.phone", "read.email"])
    #expect(asked["step"]?["client"] == .string(NSUserName()), "\(asked.text)")
    let labels = asked["step"]?["grants"]?.arrayValue?.compactMap { $0["label"]?.stringValue }
    #expect(labels?.count == 3 && labels?.allSatisfy { !$0.isEmpty } == true)
    // An answer with a grant that the step does not ask for is refused.
    #expect(
      try fixture.refusal(
        ["type": "consent", "granted": ["read.phone", "read.gender"]], to: asked)
        == ("invalid_input", "input.granted"))
    let end = try fixture.grant(["read.phone"], at: asked)
    #expect(end["result"]?["granted"] == ["read.phone"], "\(end.text)")
    #expect(end.profile == ["phone": "+447700900123"])
    #expect(end["result"]?["account"] == (try fixture.accounts().first)?["id"])
    #expect(try fixture.accounts().map { $0["profile"] } == [["phone": "+447700900123"]])
    #expect(try fixture.list("consents").map { $0["granted"] } == [["read.phone"]])
    #expect(try fixture.flow(end) == end, "flow.get returns the same final flow again")
    let next = try fixture.standing(at: "consent", ["read.firstname", "read.phone"])
    #expect(next.asked == ["read.firstname": false, "read.phone": true])
  }

  @Test("Freedom ID's first denial leads to the home screen; the second ends with accessDenied")
  func denied() throws {
    let home = try fixture.deny(fixture.standing(at: "consent"))
    #expect(home.state == "home" && home.problem == "denied", "\(home.text)")
    let end = try fixture.deny(fixture.walk(home) { $0.stepType == "consent" })
    #expect(end.failure == ["denied", "accessDenied", nil], "\(end.text)")
    #expect(try fixture.requests("consent") == 0 && fixture.consents().isEmpty)
    // The denial does not end the log-in: the account is still at the home screen.
    #expect(try fixture.authorize(["read.firstname"]).state == "home")
  }
}
