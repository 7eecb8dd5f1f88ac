import JSONRPC
import Testing
import UsherTestKit

@testable import UsherKit

/// Tests of which verification the SDK resumes, keeps and drops.
@Suite("Verifications of the Truecaller SDK", .timeLimit(.minutes(10)))
struct TruecallerEndpointTests {
  private let recorder = DelegateRecorder()
  private let before: [PhoneFlowSnapshot] = [
    .creating, .verifiedBefore, .succeeded("verifiedBefore"),
  ]

  private func request(_ sdk: TCTrueSDK, _ phone: String = "9876543210") {
    sdk.requestVerification(forPhone: phone, countryCode: "IN")
  }

  private func enter(_ sdk: TCTrueSDK) {
    sdk.verifySecurityCode("123456", andUpdateFirstname: "Asha", lastName: "")
  }

  @Test(
    "Truecaller's tokenTtl is known while the code is checked; the token outlives a lost profile")
  func timeWhileChecked() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated]], answers: [.advances([.verifying, .otpReceived])])
    try await daemon.run { path in
      let sdk = recorder.sdk(path)
      var events = recorder.events.makeAsyncIterator()
      request(sdk)
      #expect(await events.next() == .state(.otpInitiated))
      enter(sdk)
      #expect(await events.next() == .state(.otpReceived))
      #expect(sdk.tokenTtl() == 60)
      try await daemon.happens(.verificationComplete)
      #expect(await events.next() == .state(.verificationComplete))
      #expect(sdk.accessTokenForOTPVerification() == "at-1")
      try await daemon.happens(.failed("verificationComplete", "provider_rejected", code: 15))
      #expect(await events.next()?.code == 15)
      #expect(sdk.tokenTtl() == nil && sdk.accessTokenForOTPVerification() == "at-1")
    }
  }

  @Test("a Truecaller flow that the daemon has forgotten ends the stream with error 10")
  func forgotten() async throws {
    let daemon = PhoneDaemon(begins: [[.creating, .otpInitiated]])
    try await daemon.run { path in
      let sdk = recorder.sdk(path)
      var told = sdk.verification(forPhone: "9876543210", countryCode: "IN").makeAsyncIterator()
      #expect(await told.next() == .state(.otpInitiated))
      try await daemon.forgets()
      #expect(await told.next()?.code == 10)
      #expect(await told.next() == nil)
      #expect(sdk.tokenTtl() == nil)
    }
  }

  @Test("the Truecaller access token is dropped when another number is requested")
  func otherToken() async throws {
    let daemon = PhoneDaemon(begins: [before, []])
    try await daemon.run { path in
      let sdk = recorder.sdk(path)
      var events = recorder.events.makeAsyncIterator()
      request(sdk)
      #expect(await events.next() == .state(.verifiedBefore))
      #expect(await events.next()?.profile != nil)
      #expect(sdk.accessTokenForOTPVerification() == "at-1")
      request(sdk, "9876543211")
      #expect(await events.next()?.code == 9)
      #expect(sdk.accessTokenForOTPVerification() == nil)
    }
  }

  @Test("a Truecaller success that arrives after a request for another number is not reported")
  func lateSuccess() async throws {
    let daemon = PhoneDaemon(begins: [before, [.creating, .otpInitiated]], token: .unanswered)
    try await daemon.run { path in
      let sdk = recorder.sdk(path)
      var events = recorder.events.makeAsyncIterator()
      request(sdk)
      for await method in daemon.methodsHeard where method == "token.get" { break }
      request(sdk, "9876543211")
      #expect(await events.next() == .state(.otpInitiated))
      let expired = PhoneFlowSnapshot.failed("otpInitiated", "expired", code: 3, status: "expired")
      try await daemon.happens(expired, to: "flw_2")
      #expect(await events.next()?.code == 3)
    }
  }

  @Test("a restarted Truecaller SDK resumes the flow that waits for a code and reports new events")
  func takesUp() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated], [.creating]],
      answers: [
        .advances([
          .verifying, .otpReceived, .verificationComplete, .succeeded("verificationComplete"),
        ])
      ])
    try await daemon.run { path in
      let programs = [
        recorder.sdk(path, provider: "phones"), recorder.sdk(path, provider: "phones"),
      ]
      var told = programs[0].verification(forPhone: "9876543210", countryCode: "IN")
        .makeAsyncIterator()
      #expect(await told.next() == .state(.otpInitiated))
      request(programs[1], "9876543211")
      for await _ in daemon.methodsHeard where daemon.changes == ["flow.start", "flow.start"] {
        break
      }
      let another = DelegateRecorder()
      let restarted = another.sdk(path, provider: "phones")
      enter(restarted)
      var events = another.events.makeAsyncIterator()
      #expect(await events.next() == .state(.otpReceived))
      #expect(await events.next() == .state(.verificationComplete))
      #expect(await events.next()?.profile?.firstName == "Asha")
      withExtendedLifetime(programs) {}
    }
    #expect(daemon.params(of: "flow.submit").map { $0["flow"] } == ["flw_1"])
    for method in ["flow.start", "flow.list"] {
      #expect(daemon.params(of: method).allSatisfy { $0["provider"] == "phones" }, "\(method)")
    }
  }

  @Test("a Truecaller SDK at another daemon keeps neither the verification nor the access token")
  func moves() async throws {
    let first = PhoneDaemon(begins: [before, [.creating, .otpInitiated]])
    let second = PhoneDaemon(begins: [])
    try await first.run { path in
      try await second.run { other in
        let sdk = recorder.sdk(path)
        var events = recorder.events.makeAsyncIterator()
        request(sdk)
        #expect(await events.next() == .state(.verifiedBefore))
        #expect(await events.next()?.profile != nil)
        sdk.configure(socketPath: other)
        enter(sdk)
        #expect(await events.next()?.code == 10)
        #expect(sdk.accessTokenForOTPVerification() == nil)
        sdk.configure(socketPath: path)
        request(sdk)
        #expect(await events.next() == .state(.otpInitiated))
        sdk.configure(socketPath: other)
        enter(sdk)
        #expect(await events.next()?.code == 10)
        #expect(sdk.tokenTtl() == nil)
      }
    }
    #expect(first.changes == ["flow.start", "flow.start"])
    #expect(second.methods == ["flow.list", "flow.list"])
  }

  @Test("another Truecaller provider gets a new flow, and the same provider keeps its flow")
  func movesToProvider() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated], [.creating, .otpInitiated]],
      answers: [.advances([.asking("rate_limited")])])
    try await daemon.run { path in
      let sdk = recorder.sdk(path)
      var events = recorder.events.makeAsyncIterator()
      request(sdk)
      #expect(await events.next() == .state(.otpInitiated))
      sdk.configure(provider: "truecaller", socketPath: path)
      request(sdk)
      #expect(await events.next()?.code == 10)
      sdk.configure(provider: "phones", socketPath: path)
      request(sdk)
      #expect(await events.next() == .state(.otpInitiated))
    }
    #expect(daemon.params(of: "flow.start").map { $0["provider"] } == ["truecaller", "phones"])
    #expect(daemon.changes == ["flow.start", "flow.submit", "flow.start"])
  }

  @Test("a pending Truecaller verify throws userCancelled when another number is requested")
  func givenUp() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated], [.creating, .otpInitiated]],
      answers: [.advances([.verifying, .otpReceived])])
    try await daemon.run { path in
      let sdk = recorder.sdk(path)
      var events = recorder.events.makeAsyncIterator()
      request(sdk)
      #expect(await events.next() == .state(.otpInitiated))
      let profile = Task {
        try await sdk.verify(code: "123456", firstName: "Asha", lastName: "")
      }
      #expect(await events.next() == .state(.otpReceived))
      request(sdk, "9876543211")
      let error = await #expect(throws: TCError.self) { try await profile.value }
      #expect(error?.getErrorCode() == .userCancelled)
      #expect(await events.next() == .state(.otpInitiated))
    }
  }

  @Test("a request without a viewDelegate does not end a pending Truecaller verify")
  func noViewDelegate() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated]], answers: [.advances([.verifying, .otpReceived])])
    try await daemon.run { path in
      let sdk = recorder.sdk(path)
      var events = recorder.events.makeAsyncIterator()
      request(sdk)
      #expect(await events.next() == .state(.otpInitiated))
      let profile = Task {
        try await sdk.verify(code: "123456", firstName: "Asha", lastName: "")
      }
      #expect(await events.next() == .state(.otpReceived))
      sdk.viewDelegate = nil
      request(sdk)
      #expect(await events.next()?.code == 17)
      try await daemon.happens(.succeeded("verificationComplete"))
      #expect(try await profile.value.firstName == "Asha")
    }
  }

  @Test("a Truecaller request that waits when its SDK is released is not made, and its stream ends")
  func letGoWhileWaiting() async throws {
    let (started, start) = AsyncStream.makeStream(of: Void.self)
    let (released, release) = AsyncStream.makeStream(of: Void.self)
    try await FakeDaemon.run { peer in
      while true {
        let call = try await peer.next()
        if call.method == "flow.list" { try await peer.reply(call, #"{"flows":[]}"#) }
        guard call.method == "flow.start" else { continue }
        start.yield()
        for await _ in released { break }
        try await peer.reply(call, #"{"flow":\#(PhoneFlowSnapshot.creating.flow("flw_1", 1))}"#)
      }
    } _: { daemon in
      let told = await {
        let sdk = recorder.sdk(daemon.path)
        request(sdk)
        for await _ in started { break }
        return sdk.verification(forPhone: "9876543211", countryCode: "IN")
      }()
      release.yield()
      for await event in told { Issue.record("\(event)") }
    }
    start.finish()
    for await _ in started { Issue.record("the SDK started another flow") }
  }

  @Test("a released Truecaller SDK stops following its flow, even during the start")
  func letGo() async throws {
    let daemon = PhoneDaemon(begins: [[.creating]])
    try await daemon.run { path in
      weak var service: VerificationService?
      do {
        let sdk = recorder.sdk(path)
        request(sdk)
        service = sdk.service
        // A request that still waits when the SDK is released is not made.
        for await method in daemon.methodsHeard where method == "flow.start" { break }
        withExtendedLifetime(sdk) {}
      }
      while service != nil && !Task.isCancelled { await Task.yield() }
      #expect(service == nil)
    }
    #expect(daemon.changes == ["flow.start"])
  }
}
