import JSONRPC
import Testing
import UsherCore

@testable import UsherKit

/// Tests of the SDK's calls with a fake daemon.
@Suite("Calls of the Truecaller SDK", .timeLimit(.minutes(10)))
struct TruecallerTests {
  private let recorder = DelegateRecorder()

  private func sdk(_ path: String, at time: Double = DelegateRecorder.usualTime) -> TCTrueSDK {
    recorder.sdk(path, at: time)
  }

  private let completes = PhoneDaemon.Answer.advances([
    .verifying, .otpReceived, .verificationComplete, .succeeded("verificationComplete"),
  ])

  @Test("requestVerification without a viewDelegate fails with error 17 and calls no method")
  func noViewDelegate() async throws {
    let daemon = PhoneDaemon(begins: [])
    try await daemon.run { path in
      let sdk = sdk(path)
      sdk.viewDelegate = nil
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next()?.code == 17)
    }
    #expect(daemon.methods == [])
  }

  @Test("a wrong Truecaller code is reported as an error, and the next code can succeed")
  func wrongCode() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated]],
      answers: [.advances([.verifying, .asking("wrong_code")]), completes])
    try await daemon.run { path in
      let sdk = sdk(path)
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next() == .state(.otpInitiated))
      sdk.verifySecurityCode("000000", andUpdateFirstname: "Asha", lastName: "")
      let wrong = await events.next()
      #expect(wrong?.code == 10 && wrong?.error?.serverCode == "4220")
      #expect(sdk.tokenTtl() == 60 && sdk.accessTokenForOTPVerification() == nil)
      sdk.verifySecurityCode("123456", andUpdateFirstname: "Asha", lastName: "")
      #expect(await events.next() == .state(.otpReceived))
      #expect(await events.next() == .state(.verificationComplete))
      #expect(await events.next()?.profile?.city == "Pune")
      #expect(sdk.tokenTtl() == nil && sdk.accessTokenForOTPVerification() == "at-1")
    }
  }

  @Test("tokenTtl is not more than the time that is left for the verification")
  func endOfFlow() async throws {
    let late = PhoneFlowSnapshot.asking(expiresAt: "2030-01-01T00:15:00Z")
    try await PhoneDaemon(begins: [[.creating, late]]).run { path in
      let sdk = sdk(path)
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next() == .state(.otpInitiated))
      #expect(sdk.tokenTtl() == 600)
    }
  }

  @Test("the same invalid Truecaller name twice is reported twice")
  func sameProblem() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated]],
      answers: [.advances([.asking("invalid_name", code: 18)]), .advances([])])
    try await daemon.run { path in
      let sdk = sdk(path)
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next() == .state(.otpInitiated))
      for _ in 0..<2 {
        sdk.verifySecurityCode("123456", andUpdateFirstname: "7", lastName: "")
        #expect(await events.next()?.code == 18)
      }
    }
  }

  @Test("requestVerification for the same number asks for another code in the same flow")
  func sameNumber() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated]],
      answers: [
        .advances([.asking("rate_limited")]), .advances([.creating, .otpInitiated]),
      ])
    try await daemon.run { path in
      let sdk = sdk(path)
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next() == .state(.otpInitiated))
      sdk.requestVerification(forPhone: "9876543210", countryCode: "in")
      #expect(await events.next()?.code == 10)
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next() == .state(.otpInitiated))
    }
    #expect(daemon.changes == ["flow.start", "flow.submit", "flow.submit"])
    for params in daemon.params(of: "flow.submit") {
      #expect(params["input"] == ["type": "enterCode", "resend": true])
    }
  }

  @Test(
    "requestVerification for another number cancels the first flow",
    arguments: [("123", "IN"), ("9876543210", "BD")])
  func anotherNumber(phone: String, country: String) async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated], [.failed("creating", "invalid_request", code: 14)]])
    try await daemon.run { path in
      let sdk = sdk(path)
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next() == .state(.otpInitiated))
      sdk.requestVerification(forPhone: phone, countryCode: country)
      #expect(await events.next()?.code == 14)
      #expect(sdk.tokenTtl() == nil)
    }
    #expect(daemon.changes == ["flow.start", "flow.cancel", "flow.start"])
  }

  @Test("a malformed Truecaller code throws an error, and the verification continues")
  func malformedCode() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated]],
      answers: [.refused(PhoneDaemon.error("invalid_input", field: "input.code")), completes])
    try await daemon.run { path in
      let sdk = sdk(path)
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next() == .state(.otpInitiated))
      await #expect(throws: TCError(code: .internal, message: "why not")) {
        try await sdk.verify(code: "12", firstName: "Asha", lastName: "")
      }
      let profile = try await sdk.verify(code: "123456", firstName: "Asha", lastName: "")
      #expect(profile.lastName == "Rao" && sdk.accessTokenForOTPVerification() == "at-1")
    }
  }

  @Test("the Truecaller verification stream yields the delegate's events and ends with the profile")
  func stream() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .verifiedBefore, .succeeded("verifiedBefore")]],
      token: .refused(PhoneDaemon.error("permission_denied")))
    try await daemon.run { path in
      let sdk = sdk(path)
      sdk.viewDelegate = nil
      var told: [TCVerificationEvent] = []
      for await event in sdk.verification(forPhone: "9876543210", countryCode: "IN") {
        told.append(event)
      }
      #expect(told.first == .state(.verifiedBefore) && told.last?.profile?.isVerified == true)
      #expect(told.count == 2)
      var events = recorder.events.makeAsyncIterator()
      for event in told { #expect(await events.next() == event) }
      #expect(sdk.accessTokenForOTPVerification() == nil, "a rule refuses the token")
    }
  }

  @Test("Truecaller's verifySecurityCode fails with error 10 if no flow waits for a code")
  func nothingWaits() async throws {
    let daemon = PhoneDaemon(begins: [[.creating]])
    try await daemon.run { path in
      let sdk = sdk(path)
      var events = recorder.events.makeAsyncIterator()
      sdk.verifySecurityCode("123456", andUpdateFirstname: "Asha", lastName: "")
      #expect(await events.next()?.code == 10)
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      sdk.verifySecurityCode("123456", andUpdateFirstname: "Asha", lastName: "")
      #expect(await events.next()?.code == 10)
    }
    #expect(daemon.changes == ["flow.start"])
  }

  @Test("a Truecaller flow that expires while it waits for a code is reported as error 3")
  func expires() async throws {
    let daemon = PhoneDaemon(begins: [[.creating, .otpInitiated]])
    try await daemon.run { path in
      let sdk = sdk(path)
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next() == .state(.otpInitiated))
      try await daemon.happens(.failed("otpInitiated", "expired", code: 3, status: "expired"))
      #expect(await events.next()?.code == 3)
      #expect(sdk.tokenTtl() == nil)
    }
  }

  @Test("a Truecaller verification without a running daemon fails with error 9")
  func noDaemon() async {
    let sdk = sdk("/tmp/usher-no-such-socket")
    var told: [TCVerificationEvent] = []
    for await event in sdk.verification(forPhone: "9876543210", countryCode: "IN") {
      told.append(event)
    }
    #expect(told.map(\.code) == [9])
  }

  @Test(
    "Truecaller's tokenTtl is rounded up to whole seconds and is never negative",
    arguments: [(1_893_456_000.5, 60), (1_893_456_059.999, 1), (1_893_456_070, 0)])
  func timeToLive(now: Double, left: Int) async throws {
    let daemon = PhoneDaemon(begins: [[.creating, .otpInitiated]])
    try await daemon.run { path in
      let sdk = sdk(path, at: now)
      #expect(sdk.tokenTtl() == nil)
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      _ = await events.next()
      #expect(sdk.tokenTtl() == left)
    }
  }

  @Test("TCTrueSDK does not retain its delegates")
  func weakDelegates() {
    let sdk = TCTrueSDK(socketPath: "/tmp/usher-no-such-socket")
    do {
      let recorder = DelegateRecorder()
      sdk.delegate = recorder
      sdk.viewDelegate = recorder
      #expect(sdk.delegate === recorder && sdk.viewDelegate === recorder)
    }
    #expect(sdk.delegate == nil && sdk.viewDelegate == nil)
  }

  @Test("dump(_:to:) of a Truecaller PhoneRequest does not print the app key")
  func secrets() {
    let app = PhoneRequest.App(key: Secret("canary"), link: "l")
    var text = ""
    dump(PhoneRequest(phone: "1", countryCode: "IN", app: app), to: &text)
    #expect(text.contains("<secret>") && !text.contains("canary"))
  }
}
