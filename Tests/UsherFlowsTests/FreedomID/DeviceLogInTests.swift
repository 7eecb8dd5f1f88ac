import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Driven = DeviceDriven

@Suite("Sign-in of the Freedom ID device flow")
struct DeviceLogInTests {
  private static let sentStep = Step.EnterCode(
    purpose: .otp, channel: "sms", maskedTarget: "+7 ••• 67", digits: 6,
    expiresAt: now + .seconds(300), resendAt: now + .seconds(60), attemptsLeft: 3, alsoAsk: [])

  @Test("the Freedom ID sign-in offers three methods, each with a form of one field")
  func ways() throws {
    let driven = try Driven.choosing()
    #expect(driven.state == "authentication")
    #expect(
      driven.step
        == .choose(
          .init(
            what: .loginMethod,
            options: [
              StepOption(id: "phoneOTP", label: "Phone number and a code by SMS"),
              StepOption(id: "emailPassword", label: "E-mail address and password"),
              StepOption(id: "phonePassword", label: "Phone number and password"),
            ])))
    let phone = Field(name: "phone", type: .phone, required: true, maxLength: 32)
    let email = Field(name: "email", type: .email, required: true, maxLength: 254)
    for (way, field) in [
      (Driven.Way.phoneOTP, phone), (.emailPassword, email), (.phonePassword, phone),
    ] {
      #expect(try Driven.form(way).step == .fillForm(.init(fields: [field])))
    }
  }

  @Test(
    "the Freedom ID sign-in refuses an unknown method and does not change",
    arguments: ["", "other", "phone", "acc_1", "PHONEOTP"])
  func noWay(id: String) throws {
    var driven = try Driven.choosing()
    let view = driven.flow.view
    driven.say(.choice(id))
    #expect(driven.refusedField == "input.id")
    #expect(driven.flow.view == view)
  }

  @Test("the Freedom ID sign-in by phone requests a code and checks it")
  func phoneOTP() throws {
    var driven = try Driven.form(.phoneOTP)
    driven.say(Driven.Way.phoneOTP.form)
    #expect(
      driven.last == .proceed([.call(.otp(phone: Driven.phone, device: installation))]))
    #expect(driven.step == .wait(.init(for: "the code to be sent")))
    #expect(driven.answered(Driven.challenge()) == .proceed([]))
    #expect(driven.step == .enterCode(Self.sentStep))
    driven.say(.code(Driven.code, fields: [:]))
    #expect(
      driven.last
        == .proceed([
          .call(.otpCheck(challenge: "ch-1", code: Driven.code, device: installation))
        ]))
    #expect(driven.step == .wait(.init(for: "the code check")))
    driven.answered(Driven.login())
    #expect(driven.kept?.subject == Driven.subject)
  }

  @Test("the Freedom ID sign-in by email or phone asks for the password before any call")
  func password() throws {
    for (way, name) in [
      (Driven.Way.emailPassword, Driven.emailName), (.phonePassword, Driven.phoneName),
    ] {
      var driven = try Driven.named(way)
      #expect(driven.last == .proceed([]), "the flow makes no call before the password is entered")
      #expect(driven.step == .enterPassword(.init(purpose: "login")))
      driven.say(.password(Driven.password))
      let call = FreedomDeviceCall.password(
        name, password: Driven.password, device: installation)
      #expect(driven.last == .proceed([.call(call)]))
      #expect(driven.step == .wait(.init(for: "the password check")))
      driven.answered(Driven.login())
      #expect(driven.kept?.subject == Driven.subject)
    }
  }

  @Test("the Freedom ID sign-in asks for a second factor if the provider demands it")
  func twoFactor() throws {
    for start in [
      try Driven.knocking(.emailPassword), try Driven.knocking(.phonePassword),
      try Driven.checking(),
    ] {
      var driven = start
      #expect(driven.answered(Driven.twoFactor) == .proceed([]))
      guard case .enterCode(let step) = driven.step else {
        return #expect(Bool(false), "\(driven.step)")
      }
      #expect(step.purpose == .twoFactor)
      #expect(step.channel == "totp")
      #expect(step.maskedTarget == "")
      driven.say(.code(Secret("000000"), fields: [:]))
      let call = FreedomDeviceCall.twoFactor(
        challenge: "ch-2", code: Secret("000000"), device: installation)
      #expect(driven.last == .proceed([.call(call)]))
      driven.answered(Driven.login())
      #expect(driven.kept?.subject == Driven.subject)
    }
  }

  @Test("going back in the Freedom ID sign-in leads to the step before")
  func back() throws {
    var driven = try Driven.coded()
    driven.say(.back(.enterCode))
    #expect(driven.flow.view == (try Driven.form(.phoneOTP)).flow.view)
    driven.say(.back(.fillForm))
    #expect(driven.flow.view == (try Driven.choosing()).flow.view)
    for way in [Driven.Way.emailPassword, .phonePassword] {
      var driven = try Driven.named(way)
      driven.say(.back(.enterPassword))
      #expect(driven.flow.view == (try Driven.form(way)).flow.view)
    }
    for start in [try Driven.second(), try Driven.checkedTwice()] {
      var driven = start
      driven.say(.back(.enterCode))
      #expect(driven.flow.view == (try Driven.choosing()).flow.view)
    }
  }

  @Test("going back from the choice of a Freedom ID sign-in method leads to the offered accounts")
  func backHome() throws {
    var driven = try Driven.home()
    let home = driven.flow.view
    #expect(driven.say(.choice("other")) == .proceed([]))
    #expect(driven.state == "authentication")
    driven.say(.back(.choose))
    #expect(driven.flow.view == home)
  }

  @Test("going back from the Freedom ID password step clears the problem of a wrong password")
  func problemGone() throws {
    var driven = try Driven.knocking()
    driven.refused(401, 100_201)
    #expect(driven.problem?.reason == "wrong_credentials")
    driven.say(.back(.enterPassword))
    #expect(driven.problem == nil)
  }

  @Test("the Freedom ID sign-in accepts a phone number of 10 to 15 digits with usual separators")
  func phoneShapes() throws {
    for text in [
      "+77011234567", " +7 (701) 123-45-67 ", "+7.701.123.45.67", "+7\u{A0}701\u{A0}1234567",
    ] {
      for way in [Driven.Way.phoneOTP, .phonePassword] {
        var driven = try Driven.form(way)
        driven.say(.form(["phone": Secret(text)]))
        if way == .phonePassword { driven.say(.password(Driven.password)) }
        switch driven.calls.first {
        case .otp(let phone, device: _): #expect(phone == Driven.phone)
        case .password(let name, password: _, device: _): #expect(name == Driven.phoneName)
        default: #expect(Bool(false), "\(driven.last)")
        }
      }
    }
    for digits in [10, 15] {
      var driven = try Driven.form(.phoneOTP)
      driven.say(.form(["phone": Secret("+" + String(repeating: "7", count: digits))]))
      #expect(driven.calls.count == 1)
    }
  }

  @Test(
    "the Freedom ID sign-in refuses a malformed phone number and does not repeat it",
    arguments: [
      "", "+", "77011234567", "+770112345", "+7701123456789012", "+7701123456a", "+7701123４567",
      "++77011234567", "+7/701/1234567", "+77011234567" + String(repeating: " ", count: 60),
      "aigerim@example.kz",
    ])
  func noPhone(text: String) throws {
    for way in [Driven.Way.phoneOTP, .phonePassword] {
      var driven = try Driven.form(way)
      let before = driven.flow
      driven.say(.form(["phone": Secret(text)]))
      #expect(
        driven.last
          == .refuse(
            field: "input.fields.phone",
            message: "input.fields.phone must be + and 10 to 15 digits"))
      #expect(driven.flow == before)
    }
  }

  @Test(
    "the Freedom ID sign-in sends an email address as it was typed",
    arguments: ["a@b", "Aigerim+x@пример.kz", longest])
  func emailShapes(text: String) throws {
    var driven = try Driven.form(.emailPassword)
    driven.say(.form(["email": Secret(text)]))
    driven.say(.password(Driven.password))
    let call = FreedomDeviceCall.password(
      FreedomName(method: .emailPassword, text: Sealed(Secret(text))), password: Driven.password,
      device: installation)
    #expect(driven.calls == [call])
  }

  private static let longest = String(repeating: "a", count: 252) + "@b"

  @Test(
    "the Freedom ID sign-in refuses a malformed email address",
    arguments: [
      "", "@", "a@", "@b", "a", "a@b@c", "a b@c", "a@b\n", "a\u{A0}@b", "a\u{7F}@b", "\u{1}a@b",
      "a\(longest)", "+77011234567",
    ])
  func noEmail(text: String) throws {
    var driven = try Driven.form(.emailPassword)
    let before = driven.flow
    driven.say(.form(["email": Secret(text)]))
    #expect(
      driven.last
        == .refuse(
          field: "input.fields.email",
          message: "input.fields.email must be an address with one @ and at most 254 bytes"))
    #expect(driven.flow == before)
  }

  @Test("a Freedom ID sign-in form accepts its own field and refuses any other")
  func fields() throws {
    for way in Driven.Way.allCases {
      let name = way == .emailPassword ? "email" : "phone"
      var driven = try Driven.form(way)
      let before = driven.flow
      driven.say(.form([:]))
      #expect(driven.refusedField == "input.fields.\(name)")
      driven.say(.form([name: Driven.phone, "zip": Secret("1"), "age": Secret("2")]))
      #expect(driven.refusedField == "input.fields.age")
      driven.say(.form(["phone": Driven.phone, "email": Driven.email]))
      #expect(driven.refusedField == "input.fields.\(name == "email" ? "phone" : "email")")
      #expect(driven.flow == before)
    }
  }

  @Test("the Freedom ID sign-in accepts passwords of 1 to 256 characters")
  func passwordLength() throws {
    for (count, isTaken) in [(0, false), (1, true), (256, true), (257, false)] {
      var driven = try Driven.named(.emailPassword)
      let before = driven.flow
      driven.say(.password(Secret(String(repeating: "ß", count: count))))
      #expect((driven.calls.count == 1) == isTaken)
      if !isTaken {
        #expect(driven.refusedField == "input.password")
        #expect(driven.flow == before)
      }
    }
  }

  @Test(
    "the Freedom ID sign-in refuses a code without exactly the step's number of ASCII digits",
    arguments: ["", "73914", "7391466", "73914a", "７３９１４６", "73 914", "-73914"])
  func codeShape(text: String) throws {
    for start in [try Driven.coded(), try Driven.second()] {
      var driven = start
      let before = driven.flow
      driven.say(.code(Secret(text), fields: [:]))
      #expect(
        driven.last
          == .refuse(field: "input.code", message: "input.code must be 6 digits 0 to 9"))
      #expect(driven.flow == before)
    }
  }

  @Test("the Freedom ID sign-in accepts codes of 4 to 10 digits and refuses fields beside them")
  func codeFields() throws {
    for digits in [4, 10] {
      var driven = try Driven.coded(["digits": .integer(Int64(digits))])
      driven.say(.code(Driven.code, fields: [:]))
      #expect(driven.refusedField == "input.code")
      driven.say(.code(Secret(String(repeating: "1", count: digits)), fields: [:]))
      #expect(driven.calls.count == 1)
    }
    var driven = try Driven.coded()
    driven.say(.code(Driven.code, fields: ["b": Secret("1"), "a": Secret("2")]))
    #expect(driven.refusedField == "input.fields.a")
  }
}

extension DeviceDriven {
  /// A flow that waits for the second factor after the code of an SMS.
  static func checkedTwice() throws -> DeviceDriven {
    var driven = try checking()
    driven.answered(twoFactor)
    return driven
  }
}
