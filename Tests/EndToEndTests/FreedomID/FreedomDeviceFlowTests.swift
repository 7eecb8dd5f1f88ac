import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The seed's "Authorization Flow", heading by heading.
@Suite("Freedom ID's authorization flow", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomDeviceFlowTests {
  private let scene: FreedomScene

  init() throws { scene = try FreedomScene() }

  // MARK: App Initialization, Account Check

  @Test("App Initialization: the accounts tied to the device are asked for, by nobody's doing")
  func appInitialization() throws {
    let flow = try scene.start(["read.firstname"])
    #expect(flow.state == "accountCheck" && flow.stepType == "wait", "\(flow.text)")
    _ = try scene.moved(flow, "has asked") { $0.state == "authentication" }
    #expect(try scene.requests("accounts") == 1)
    #expect(try scene.messages().isEmpty)
  }

  @Test("Account Check: no account exists: the Authentication Screen")
  func noAccount() throws {
    let flow = try scene.authorize(["read.firstname"])
    #expect(flow.state == "authentication", "\(flow.text)")
    #expect(flow.options == ["phoneOTP", "emailPassword", "phonePassword"])
    // There is nowhere to go back to.
    #expect(
      try scene.refusal(["type": "choose", "back": true], to: flow) == [
        "invalid_input", "input.back",
      ])
  }

  @Test("Account Check: an account exists: the Home Screen, also after a restart")
  func accountExists() throws {
    try scene.authorized(["read.firstname"])
    try scene.daemon.restart()
    let home = try scene.again().authorize(["read.lastname"])
    #expect(home.state == "home", "\(home.text)")
    #expect(home["step"]?["what"] == "account")
    #expect(home.labels == ["+4 ••• 23", "Another account"])
    #expect(home.options.last == "other")
    #expect(try scene.requests("password") == 1)
  }

  @Test("an account that the provider does not tie to the device any more is not at home")
  func untied() throws {
    try scene.authorized(["read.firstname"])
    try scene.sandbox.control("POST", "freedomid/revokeAll")
    let flow = try scene.authorize(["read.lastname"])
    #expect(flow.state == "authentication", "\(flow.text)")
    // The same person again is the same account.
    let end = try scene.walk(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.accounts().count == 1)
  }

  // MARK: Authentication Screen Interaction

  @Test("Authentication: the phone number, and the code of an SMS")
  func phoneAndCode() throws {
    var flow = try scene.choose("phoneOTP", at: scene.authorize(["read.firstname"]))
    #expect(
      flow["step"]?["fields"] == [
        ["name": "phone", "type": "phone", "required": true, "maxLength": 32]
      ], "\(flow.text)")
    flow = try scene.fill("phone", "+44 (7700) 900-123", at: flow)
    #expect(flow.stepType == "enterCode", "\(flow.text)")
    let step = flow["step"]
    #expect(step?["purpose"] == "otp" && step?["channel"] == "sms" && step?["digits"] == 6)
    #expect(step?["maskedTarget"] == "+4 ••• 23")
    #expect(try scene.messages().map { $0["to"] } == ["+447700900123"])
    flow = try scene.enter(code: scene.code(), at: flow)
    #expect(flow.state == "home" && flow.labels.first == "+4 ••• 23", "\(flow.text)")
    #expect(try scene.requests("password") == 0)
  }

  @Test("Authentication: the e-mail address, or the phone number, and the password")
  func passwords() throws {
    for (way, field, value) in [
      ("emailPassword", "email", "Alice@Example.com"), ("phonePassword", "phone", "+447700900123"),
    ] {
      var flow = try scene.authorize(["read.firstname"])
      if flow.state == "home" { flow = try scene.choose("other", at: flow) }
      flow = try scene.fill(field, value, at: scene.choose(way, at: flow))
      #expect(flow["step"] == ["type": "enterPassword", "purpose": "login"], "\(flow.text)")
      flow = try scene.enter(password: "alice-password", at: flow)
      #expect(flow.state == "home", "\(way): \(flow.text)")
    }
    #expect(try scene.messages().isEmpty)
  }

  @Test(
    "Authentication: with 2FA a code more, whichever the way; without it none",
    arguments: [FreedomGuest.Way.phoneOTP, .emailPassword, .phonePassword],
    ["sms", "email", "totp"])
  func secondFactor(way: FreedomGuest.Way, channel: String) throws {
    try scene.setTwoFactor(channel, of: "alice")
    let guest = FreedomGuest.alice.by(way)
    let isSecond = { (flow: JSONValue) in flow["step"]?["purpose"] == "twoFactor" }
    let asked = try scene.walk(scene.authorize(["read.firstname"]), guest, until: isSecond)
    #expect(asked["step"]?["channel"] == .string(channel), "\(asked.text)")
    #expect(asked["step"]?["digits"] == 6)
    #expect(try scene.accounts().isEmpty, "it is not signed in yet")
    let codes = (way == .phoneOTP ? 1 : 0) + (channel == "totp" ? 0 : 1)
    #expect(try scene.messages().count == codes)
    let end = try scene.walk(asked, guest)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.requests("twoFactor") == 1)
  }

  @Test("Authentication: one can go back from each step, to another way")
  func goesBack() throws {
    var flow = try scene.choose("phoneOTP", at: scene.authorize(["read.firstname"]))
    flow = try scene.back(flow)
    #expect(flow["step"]?["what"] == "loginMethod", "\(flow.text)")
    flow = try scene.fill("email", "alice@example.com", at: scene.choose("emailPassword", at: flow))
    flow = try scene.back(flow)
    #expect(flow.stepType == "fillForm", "\(flow.text)")
    flow = try scene.fill("email", "bob@example.com", at: flow)
    flow = try scene.enter(password: "bob-password", at: flow)
    #expect(flow.labels.first == "+4 ••• 56", "\(flow.text)")
    flow = try scene.back(scene.choose("other", at: flow))
    #expect(flow.state == "home", "\(flow.text)")
  }

  // MARK: Home Screen Interaction

  @Test("Home: several accounts of one owner; the chosen one is opened, others stay as they are")
  func severalAccounts() throws {
    try scene.authorized(["read.firstname"], .alice)
    try scene.authorized(["read.firstname"], .bob)
    let home = try scene.authorize(["read.lastname"])
    #expect(home.labels == ["+4 ••• 23", "+4 ••• 56", "Another account"], "\(home.text)")
    let proving = try scene.choose(home.options[1], at: home)
    #expect(proving.stepType == "localAuth" && proving.state == "home", "\(proving.text)")
    #expect(proving["step"]?["reason"]?.stringValue?.contains("+4 ••• 56") == true)
    let end = try scene.walk(proving)
    #expect(end.profile == ["lastname": "Brown"], "\(end.text)")
    let accounts = try scene.accounts()
    #expect(accounts.map { $0["label"] } == ["+4 ••• 23", "+4 ••• 56"])
    #expect(accounts[0]["profile"] == ["firstname": "Alice"])
    #expect(accounts[1]["profile"] == ["firstname": "Bob", "lastname": "Brown"])
  }

  @Test("Home: another account signs in beside those that are there")
  func other() throws {
    try scene.authorized(["read.firstname"], .alice)
    var flow = try scene.authorize(["read.firstname"])
    flow = try scene.choose("other", at: flow)
    #expect(flow.state == "authentication", "\(flow.text)")
    flow = try scene.walk(flow, .aigerim.by(.phoneOTP)) { $0.state == "home" }
    #expect(flow.labels == ["+4 ••• 23", "+7 ••• 67", "Another account"], "\(flow.text)")
    let end = try scene.walk(flow, .aigerim)
    #expect(end.profile == ["firstname": "Aigerim"], "\(end.text)")
  }

  @Test("Home: local authentication comes first; cancelled or left, it leads back to the choice")
  func localAuthentication() throws {
    var flow = try scene.standing(at: "localAuth")
    #expect(flow["step"]?["methods"] == ["passcode"], "\(flow.text)")
    flow = try scene.submit(["type": "localAuth", "cancel": true], to: flow)
    #expect(flow.state == "home" && flow.stepType == "choose", "\(flow.text)")
    #expect(flow.problem == "local_auth_cancelled")
    flow = try scene.back(scene.choose(flow.options[0], at: flow))
    #expect(flow.stepType == "choose" && flow.problem == nil, "\(flow.text)")
    flow = try scene.prove("not the passcode", at: scene.choose(flow.options[0], at: flow))
    #expect(flow.stepType == "localAuth" && flow.problem == "wrong_passcode", "\(flow.text)")
    flow = try scene.prove(at: flow)
    #expect(flow.state == "permissions", "\(flow.text)")
    #expect(try scene.requests("consent") == 0)
  }

  @Test("Home: an account that was named is chosen already; somebody else may not sign in for it")
  func named() throws {
    let account = try scene.authorized(["read.firstname"])["result"]?["account"] ?? .null
    let flow = try scene.authorize(["read.lastname"], ["account": account])
    #expect(flow.stepType == "localAuth", "\(flow.text)")
    #expect(try scene.walk(flow).profile == ["lastname": "Adams"])
    try scene.sandbox.control("POST", "freedomid/revokeAll")
    let again = try scene.authorize(["read.email"], ["account": account])
    #expect(again.state == "authentication", "\(again.text)")
    let end = try scene.walk(again, .bob)
    #expect(Array(end.failure.prefix(2)) == ["provider_rejected", "authError"], "\(end.text)")
    // Bob is not left tied to this device.
    try eventually("bob is untied") { try scene.list("accounts").isEmpty }
    #expect(try scene.accounts().count == 1)
  }

  // MARK: Request for Permissions, User Decision, Completion

  @Test("Request for Permissions: who asks, and each grant with its label, new or remembered")
  func request() throws {
    try scene.authorized(["read.firstname"])
    let flow = try scene.standing(at: "consent", ["read.phone", "read.firstname"])
    #expect(flow.state == "permissions")
    #expect(flow["step"]?["client"] == .string(NSUserName()), "\(flow.text)")
    #expect(flow.asked == ["read.firstname": true, "read.phone": false])
    let labels = flow["step"]?["grants"]?.arrayValue?.compactMap { $0["label"]?.stringValue }
    #expect(labels?.count == 2 && labels?.allSatisfy { !$0.isEmpty } == true)
  }

  @Test("User Decision: granted all")
  func grantedAll() throws {
    let end = try scene.authorized(["read.firstname", "read.phone"])
    #expect(end["result"]?["granted"] == ["read.firstname", "read.phone"], "\(end.text)")
    #expect(end.profile == ["firstname": "Alice", "phone": "+447700900123"])
    #expect(
      try scene.list("consents").map { $0["granted"] } == [["read.firstname", "read.phone"]])
  }

  @Test("User Decision: granted some: the others are neither told nor kept, and are asked again")
  func grantedSome() throws {
    let end = try scene.authorized(
      ["read.firstname", "read.phone", "read.email"], granting: ["read.phone"])
    #expect(end["result"]?["granted"] == ["read.phone"], "\(end.text)")
    #expect(end.profile == ["phone": "+447700900123"])
    #expect(try scene.accounts().map { $0["profile"] } == [["phone": "+447700900123"]])
    #expect(try scene.list("consents").map { $0["granted"] } == [["read.phone"]])
    let next = try scene.standing(at: "consent", ["read.firstname", "read.phone"])
    #expect(next.asked == ["read.firstname": false, "read.phone": true])
  }

  @Test("User Decision: denied once: the Home Screen, and told why; then it may be granted")
  func deniedOnce() throws {
    let home = try scene.deny(scene.standing(at: "consent"))
    #expect(home.state == "home" && home.problem == "denied", "\(home.text)")
    #expect(try scene.requests("consent") == 0)
    let end = try scene.walk(home)
    #expect(end["status"] == "succeeded", "\(end.text)")
  }

  @Test("User Decision: denied twice: accessDenied, and nothing was told")
  func deniedTwice() throws {
    let again = try scene.walk(scene.deny(scene.standing(at: "consent"))) {
      $0.stepType == "consent"
    }
    let end = try scene.deny(again)
    #expect(end.failure == ["denied", "accessDenied", nil], "\(end.text)")
    #expect(try scene.requests("consent") == 0)
    #expect(try scene.consents().isEmpty)
    // The log-in was none of the denial's business: the account is at home.
    #expect(try scene.authorize(["read.firstname"]).state == "home")
  }

  @Test("Completion: while the profile is read it is told, and then the result once")
  func completion() throws {
    let asked = try scene.standing(at: "consent", ["read.email"])
    try scene.spoil("consent", ["delayMs": 700], times: 1)
    let sent = try scene.submit(
      ["type": "consent", "granted": ["read.email"]], to: asked, waitMs: 0)
    #expect(sent.state == "completion" && sent.stepType == "wait", "\(sent.text)")
    let end = try scene.app.finished(sent)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(end["result"]?["account"] == (try scene.accounts().first)?["id"])
    #expect(end.profile == ["email": "alice@example.com"])
    // The same is told to who asks again.
    #expect(try scene.flow(end) == end)
  }
}
