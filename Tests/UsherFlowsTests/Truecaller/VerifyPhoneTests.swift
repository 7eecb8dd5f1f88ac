import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

@Suite("The flow verifyPhone of Truecaller")
struct VerifyPhoneTests {
  @Test("Truecaller verifyPhone passes through the SDK's states in order and ends with an account")
  func way() throws {
    let number = try phone()
    var driven = try DrivenVerification()
    #expect(driven.state == "creating")
    #expect(driven.last == .proceed([.call(.create(number, installation: installation))]))
    driven.answered(DrivenVerification.sent)
    #expect(driven.last == .proceed([]))
    #expect(driven.state == "otpInitiated")
    driven.receive(DrivenVerification.code())
    #expect(driven.state == "verifying")
    #expect(
      driven.last == .proceed([.call(.verify(number, code: otp, token: verificationToken))]))
    driven.keeps = false
    driven.answered(["accessToken": "otp-access-secret"])
    #expect(driven.state == "otpReceived")
    let token = TokenSet(
      accessToken: Sealed(otpToken), tokenType: "Bearer", expiresAt: nil, scope: "")
    #expect(driven.kept?.subject == "+919876543210" && driven.kept?.tokens == token)
    driven.receive(.answered(.stored(AccountID("acc_1"))))
    #expect(driven.state == "verificationComplete")
    guard case .update(let name, number, accessToken: otpToken) = driven.calls.first else {
      return #expect(Bool(false), "\(driven.last)")
    }
    #expect(name.first.unsealed() == Secret("Asha"))
    #expect(name.last.unsealed() == Secret("Rao"))
    driven.answered([:])
    #expect(driven.state == "verificationComplete")
    #expect(driven.last == .proceed([.call(.profile(number, accessToken: otpToken))]))
    driven.answered(DrivenVerification.profile)
    #expect(driven.state == "verificationComplete")
    let grant = try #require(driven.completion?.grant)
    #expect(grant.subject == "+919876543210")
    #expect(grant.label == "Asha Rao")
    #expect(
      grant.attributes == ["countryCode": "IN", "verifiedBefore": false, "profilePending": .null])
    #expect(grant.tokens == nil, "the account has its token already")
    #expect(driven.completion?.result["nameProblem"] == nil)
  }

  @Test("Truecaller's code step asks for the code and the name and shows the code's expiry")
  func step() throws {
    var driven = try DrivenVerification()
    driven.toCode()
    let end = now + .seconds(90)
    #expect(
      driven.step
        == .init(
          purpose: .otp, channel: "sms", maskedTarget: "+91 ••• 210", digits: 6, expiresAt: end,
          resendAt: end,
          alsoAsk: [
            Field(name: "firstName", type: .text, required: true, maxLength: 127),
            Field(name: "lastName", type: .text, required: false, maxLength: 127),
          ]))
  }

  @Test("a number that was verified with Truecaller before needs no code")
  func verifiedBefore() throws {
    let number = try phone()
    var driven = try DrivenVerification()
    driven.answered(["accessToken": "otp-access-secret", "status": 1])
    #expect(driven.state == "verifiedBefore")
    #expect(driven.last == .proceed([.call(.profile(number, accessToken: otpToken))]))
    driven.answered(DrivenVerification.profile)
    #expect(driven.state == "verifiedBefore")
    #expect(driven.completion?.grant?.attributes["verifiedBefore"] == true)
  }

  @Test(
    "an invalid TTL of a Truecaller code counts as a minute, and a long one as a day",
    arguments: [
      (.integer(1), 1), (.integer(300), 300), (.number(30.9), 30), (.string("45"), 45),
      (.integer(0), 60), (.integer(-5), 60), (.null, 60), (.string("soon"), 60), (.string(""), 60),
      (.bool(true), 60),
      (.integer(1_000_000), 86_400), (.number(1e300), 86_400),
    ] as [(JSONValue, Int)])
  func ttl(value: JSONValue, seconds: Int) throws {
    var driven = try DrivenVerification()
    driven.answered(["method": "sms", "verificationToken": "v", "tokenTtl": value])
    #expect(driven.step?.expiresAt == now + .seconds(seconds))
  }

  @Test("Truecaller verifyPhone refuses a resend before the TTL ends and shows when it is possible")
  func tooEarly() throws {
    var driven = try DrivenVerification()
    driven.toCode()
    driven.receive(.input(.resend), at: now + .seconds(89))
    #expect(driven.last == .proceed([]))
    #expect(driven.state == "otpInitiated")
    #expect(driven.problem?.reason == "rate_limited")
    #expect(driven.problem?.retryAfterMs == 1000)
    #expect(driven.problem?.provider?.code == "10")
  }

  @Test("Truecaller verifyPhone repeats the request on a resend; the reply has a TTL of its own")
  func resend() throws {
    var driven = try DrivenVerification()
    let request = driven.last
    driven.toCode()
    driven.receive(DrivenVerification.code(first: ""))
    let later = now + .seconds(90)
    driven.receive(.input(.resend), at: later)
    #expect(driven.last == request)
    #expect(driven.state == "creating")
    #expect(driven.problem == nil)
    driven.answered(
      ["method": "sms", "verificationToken": "v-2", "tokenTtl": 30], at: later)
    #expect(driven.state == "otpInitiated")
    #expect(driven.step?.resendAt == later + .seconds(30))
    driven.receive(DrivenVerification.code(), at: later + .seconds(29))
    #expect(
      driven.calls == [.verify(try phone(), code: otp, token: Secret("v-2"))])
  }

  @Test("a code that was requested again near the end of the flow can be entered until it expires")
  func endOfFlow() throws {
    var driven = try DrivenVerification(origin: { $0.endsAt = now + .seconds(600) })
    driven.toCode()
    #expect(driven.flow.endsAt == now + .seconds(600))
    let late = now + .seconds(590)
    driven.receive(.input(.resend), at: late)
    driven.answered(["method": "sms", "verificationToken": "v-2", "tokenTtl": 300], at: late)
    #expect(driven.flow.endsAt == late + .seconds(300))
    driven.receive(.input(.resend), at: late + .seconds(300))
    driven.answered(
      ["method": "sms", "verificationToken": "v-3", "tokenTtl": 86_400], at: late + .seconds(300))
    // A longer life than that of a first code is cut.
    #expect(driven.flow.endsAt == late + .seconds(900))
  }

  @Test("a Truecaller code after its TTL is refused without a call")
  func tooLate() throws {
    var driven = try DrivenVerification()
    driven.toCode()
    driven.receive(DrivenVerification.code(), at: now + .seconds(90))
    #expect(driven.last == .proceed([]))
    #expect(driven.state == "otpInitiated")
    #expect(driven.problem?.reason == "code_expired")
    #expect(driven.problem?.provider?.code == "10")
  }

  @Test(
    "a typed Truecaller code that is not six ASCII digits is refused and changes nothing",
    arguments: [
      "", "12345", "1234567", "12 456", " 123456", "123456 ", "123456\n", "12345a", "１２３４５６",
      "१२३४५६",
      "-12345",
    ])
  func unfitCode(code: String) throws {
    var driven = try DrivenVerification()
    driven.toCode()
    let flow = driven.flow
    driven.receive(DrivenVerification.code(code))
    #expect(
      driven.last
        == .refuse(field: "input.code", message: "input.code must be 6 digits 0 to 9"))
    #expect(driven.flow == flow)
  }

  @Test("otp_digits sets the length of a Truecaller code")
  func digits() throws {
    var driven = try DrivenVerification(provider: truecaller { $0.otpDigits = 4 })
    driven.toCode()
    #expect(driven.step?.digits == 4)
    driven.receive(DrivenVerification.code("123456"))
    #expect(
      driven.last
        == .refuse(field: "input.code", message: "input.code must be 4 digits 0 to 9"))
    driven.receive(DrivenVerification.code("1234"))
    #expect(driven.state == "verifying")
  }

  @Test("Truecaller verifyPhone refuses an unknown field and the request for the previous step")
  func otherInput() throws {
    var driven = try DrivenVerification()
    driven.toCode()
    driven.receive(.input(.code(otp, fields: ["email": Secret("a"), "firstName": Secret("A")])))
    #expect(
      driven.last
        == .refuse(field: "input.fields.email", message: "this is not a field of the step"))
    driven.receive(.input(.back(.enterCode)))
    #expect(driven.last == .refuse(field: "input.back", message: "there is no previous step"))
  }

  @Test("the next accepted input clears the problem of Truecaller's code step")
  func cleared() throws {
    var driven = try DrivenVerification()
    driven.toCode()
    driven.receive(DrivenVerification.code(first: "1"))
    #expect(driven.problem != nil)
    driven.receive(DrivenVerification.code())
    #expect(driven.problem == nil)
  }

  @Test("a cancelled or expired Truecaller verifyPhone has TCError 3")
  func words() {
    #expect(VerifyPhone.providerErrorCode(for: .cancelled, provider: phones)?.code == "3")
    #expect(VerifyPhone.providerErrorCode(for: .expired, provider: phones)?.code == "3")
    #expect(VerifyPhone.providerErrorCode(for: .providerRejected, provider: phones) == nil)
  }

  @Test(
    "another appKey or appLink than the configured one fails Truecaller verifyPhone without a call")
  func otherApp() throws {
    let right = "https://acme.example.com/truecaller"
    let known: [(String?, String?, String?)] = [
      (nil, nil, nil), ("app-key-secret", nil, nil), ("app-key-secret", right, nil),
      (nil, right, nil), ("", nil, "1"), ("app-key-secreT", nil, "1"), ("app-key", right, "1"),
      (nil, "", "2"), ("app-key-secret", "https://evil.example", "2"), ("x", "y", "1"),
    ]
    for (key, link, code) in known {
      let driven = try DrivenVerification {
        $0.appKey = key.map { WireSecret(Secret($0)) }
        $0.appLink = link
      }
      #expect(driven.failure?.provider?.code == code, "\(link ?? "none")")
      #expect(driven.failure == nil || driven.failure?.reason == .invalidRequest)
      #expect(driven.calls.isEmpty == (code != nil))
    }
  }

  @Test("Truecaller verifyPhone accepts no app key if the credential is not set")
  func noCredential() {
    #expect(!CredentialCheck(nil).accepts(Secret("")))
    #expect(CredentialCheck(appKey).accepts(Secret("app-key-secret")))
  }

  @Test(
    "an impossible number or country fails Truecaller verifyPhone without a call",
    arguments: [
      ("987654321", "IN"), ("98765432101", "IN"), ("98765abcde", "IN"), ("9876543210", "ZZ"),
      ("", "IN"), ("9876543210", ""),
    ])
  func impossible(number: String, country: String) throws {
    let driven = try DrivenVerification(number, country)
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.failure?.provider?.code == "14")
    #expect(driven.calls.isEmpty)
    #expect(driven.state == "creating")
  }
}
