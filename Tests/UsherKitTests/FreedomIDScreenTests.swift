import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherKit

@Suite("Freedom ID screens of UsherKit")
struct FreedomIDScreenTests {
  private static let options = [
    StepOption(id: "acc_1", label: "+7 ••• 67"),
    StepOption(id: "other", label: "another"),
  ]

  private static func code(_ purpose: Step.EnterCode.Purpose) -> Step {
    .enterCode(
      .init(
        purpose: purpose, channel: "sms", maskedTarget: "+7 ••• 67", digits: 6,
        expiresAt: Timestamp(seconds: 300), resendAt: Timestamp(seconds: 60), attemptsLeft: 2,
        alsoAsk: []))
  }

  private static func localAuth(_ methods: [Step.LocalAuth.Way], _ isScanning: Bool) -> Step {
    .localAuth(.init(methods: methods, reason: "why", scanning: isScanning))
  }

  private static func consent(_ ids: String...) -> Step {
    .consent(
      .init(
        client: "acme",
        grants: ids.map { .init(id: $0, label: "l", remembered: $0 == "read.phone") }))
  }

  @Test("each Freedom ID step becomes its screen with all members of the step")
  func contents() {
    let choice = FreedomIDScreen.Choice(id: "acc_1", label: "+7 ••• 67")
    let other = FreedomIDScreen.Choice(id: "other", label: "another")
    let shown: [(Step, FreedomIDScreen)] = [
      (.wait(.init(for: "them")), .waiting(.init(reason: "them"))),
      (
        .choose(.init(what: .loginMethod, options: Self.options)),
        .loginMethod(.init(methods: [choice, other]))
      ),
      (
        .choose(.init(what: .account, options: Self.options)),
        .home(.init(accounts: [choice], allowsAnother: true))
      ),
      (
        .choose(.init(what: .account, options: [Self.options[0]])),
        .home(.init(accounts: [choice], allowsAnother: false))
      ),
      (.enterPassword(.init(purpose: "login")), .password(.init())),
      (Self.localAuth([.passcode], false), .passcode(.init(reason: "why"))),
      (
        Self.localAuth([.biometric], true),
        .fingerprint(.init(reason: "why", isScanning: true, takesPasscode: false))
      ),
      (
        Self.localAuth([.biometric, .passcode], false),
        .fingerprint(.init(reason: "why", isScanning: false, takesPasscode: true))
      ),
      (
        Self.consent("read.phone", "read.email"),
        .permissions(
          .init(
            client: "acme",
            permissions: [
              .init(grant: .readPhone, label: "l", isRemembered: true),
              .init(grant: .readEmail, label: "l", isRemembered: false),
            ]))
      ),
    ]
    for (step, screen) in shown { #expect(FreedomIDScreen.screen(for: step) == screen) }
  }

  @Test(
    "a Freedom ID code screen has the purpose, target, times and attempts of its step",
    arguments: [Step.EnterCode.Purpose.otp, .twoFactor])
  func codes(purpose: Step.EnterCode.Purpose) throws {
    guard case .code(let screen)? = FreedomIDScreen.screen(for: Self.code(purpose)) else {
      Issue.record("the screen is not a code screen")
      return
    }
    #expect(screen.isSecondFactor == (purpose == .twoFactor))
    #expect(screen.channel == "sms" && screen.maskedTarget == "+7 ••• 67" && screen.digits == 6)
    #expect(screen.expiresAt == Date(timeIntervalSince1970: 300) && screen.attemptsLeft == 2)
    #expect(screen.resendAt == Date(timeIntervalSince1970: 60))
  }

  @Test(
    "a Freedom ID form screen has the fields of its step", arguments: UsherAPI.Field.Form.allCases)
  func fields(form: UsherAPI.Field.Form) {
    let field = UsherAPI.Field(name: "n", type: form, required: true, maxLength: 254)
    let step = Step.fillForm(.init(fields: [field]))
    guard case .form(let screen)? = FreedomIDScreen.screen(for: step) else {
      Issue.record("the screen is not a form screen")
      return
    }
    #expect(screen.fields.map(\.kind.rawValue) == [form.rawValue])
    #expect(screen.fields.map(\.name) == ["n"] && screen.fields.map(\.maxLength) == [254])
    #expect(screen.fields.map(\.isRequired) == [true])
  }

  @Test("each Freedom ID answer is encoded as the input that the daemon accepts")
  func answers() throws {
    let home = FreedomIDScreen.Home(accounts: [.init(id: "acc_1", label: "l")], allowsAnother: true)
    let methods = FreedomIDScreen.LoginMethod(methods: [.init(id: "phoneOTP", label: "l")])
    let form = FreedomIDScreen.Form(fields: [])
    let password = FreedomIDScreen.Password()
    let finger = FreedomIDScreen.Fingerprint(reason: "", isScanning: true, takesPasscode: true)
    let passcode = FreedomIDScreen.Passcode(reason: "")
    let mail = FreedomIDScreen.Permission(grant: .readEmail, label: "l", isRemembered: false)
    let phone = FreedomIDScreen.Permission(grant: .readPhone, label: "l", isRemembered: true)
    let permissions = FreedomIDScreen.Permissions(client: "acme", permissions: [mail, phone])
    guard case .code(let code)? = FreedomIDScreen.screen(for: Self.code(.otp)) else {
      Issue.record("the screen is not a code screen")
      return
    }
    let wire: [(FreedomIDAnswer, JSONValue)] = [
      (methods.choose(methods.methods[0]), ["type": "choose", "id": "phoneOTP"]),
      (methods.back(), ["type": "choose", "back": true]),
      (form.fill(["phone": "+7"]), ["type": "fillForm", "fields": ["phone": "+7"]]),
      (form.back(), ["type": "fillForm", "back": true]),
      (password.enter("p w"), ["type": "enterPassword", "password": "p w"]),
      (password.back(), ["type": "enterPassword", "back": true]),
      (code.enter("123456"), ["type": "enterCode", "code": "123456"]),
      (code.resend(), ["type": "enterCode", "resend": true]),
      (code.back(), ["type": "enterCode", "back": true]),
      (home.choose(home.accounts[0]), ["type": "choose", "id": "acc_1"]),
      (home.signInWithAnother(), ["type": "choose", "id": "other"]),
      (finger.scan(), ["type": "localAuth", "biometric": true]),
      (finger.enter(passcode: "2468"), ["type": "localAuth", "passcode": "2468"]),
      (finger.useAnotherWay(), ["type": "localAuth", "fallback": true]),
      (finger.back(), ["type": "localAuth", "cancel": true]),
      (passcode.enter("2468"), ["type": "localAuth", "passcode": "2468"]),
      (passcode.back(), ["type": "localAuth", "cancel": true]),
      (permissions.grant([mail]), ["type": "consent", "granted": ["read.email"]]),
      (permissions.grantAll(), ["type": "consent", "granted": ["read.email", "read.phone"]]),
      (permissions.deny(), ["type": "consent", "denied": true]),
    ]
    for (answer, json) in wire {
      guard case .submit(let input) = answer.act else {
        Issue.record("the screen's answer is not submitted: \(json)")
        continue
      }
      #expect(input.json == json)
    }
  }

  @Test("a Freedom ID answer is printed and dumped without the typed text")
  func printing() {
    let typed = [
      FreedomIDScreen.Password().enter("hunter22"),
      FreedomIDScreen.Passcode(reason: "").enter("hunter22"),
      FreedomIDScreen.Form(fields: []).fill(["phone": "hunter22"]),
    ]
    for answer in typed {
      var dumped = ""
      dump(answer, to: &dumped)
      #expect(!"\(answer)\(dumped)".contains("hunter22"))
    }
  }

  @Test("a step of another provider or mode has no Freedom ID screen")
  func none() {
    let steps: [Step] = [
      .openURL(.init(url: "https://a.example", redirectURI: "http://127.0.0.1/", completes: .poll)),
      .displayCode(
        .init(userCode: "A", verificationURI: "https://a.example", expiresAt: Timestamp(seconds: 1))
      ),
      .choose(.init(what: .verification, options: Self.options)),
      Self.consent("read.phone", "read.cards"),
    ]
    for step in steps { #expect(FreedomIDScreen.screen(for: step) == nil) }
  }
}
