import JSONRPC
import Testing
import UsherCore
import UsherTestKit

@testable import UsherKit

/// Tests of a program that is restarted during a verification, and of the access token.
@Suite("The Truecaller SDK after a restart of the program", .timeLimit(.minutes(10)))
struct TruecallerRestartTests {
  private let recorder = DelegateRecorder()

  /// Starts a verification with an SDK that is then released, and returns an SDK of the restarted
  /// program.
  private func restarted(
    _ path: String, at time: Double = DelegateRecorder.usualTime
  ) async -> TCTrueSDK {
    let before = DelegateRecorder()
    do {
      let sdk = before.sdk(path)
      var events = before.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next() == .state(.otpInitiated))
      withExtendedLifetime((sdk, before)) {}
    }
    return recorder.sdk(path, at: time)
  }

  @Test(
    "a restarted program's requestVerification for the same number sends no SMS; the TTL goes on",
    arguments: ["9876543210", "98765 43210", "+91 98765-43210", "0091 (98765) 43210"])
  func same(number: String) async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated]],
      answers: [
        .advances([.asking("rate_limited")]),
        .advances([
          .verifying, .otpReceived, .verificationComplete, .succeeded("verificationComplete"),
        ]),
      ])
    try await daemon.run { path in
      let sdk = await restarted(path, at: 1_893_456_029.5)
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: number, countryCode: "in")
      #expect(await events.next() == .state(.otpInitiated))
      #expect(sdk.tokenTtl() == 31)
      // A further request asks for another code, which is too early.
      sdk.requestVerification(forPhone: number, countryCode: "in")
      #expect(await events.next()?.code == 10)
      sdk.verifySecurityCode("123456", andUpdateFirstname: "Asha", lastName: "")
      #expect(await events.next() == .state(.otpReceived))
      #expect(await events.next() == .state(.verificationComplete))
      #expect(await events.next()?.profile?.firstName == "Asha")
      #expect(sdk.accessTokenForOTPVerification() == "at-1")
    }
    #expect(daemon.changes == ["flow.start", "flow.submit", "flow.submit"])
  }

  @Test("a restarted program's requestVerification after the TTL has another code sent")
  func expired() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated]], answers: [.advances([.creating, .otpInitiated])])
    try await daemon.run { path in
      let sdk = await restarted(path, at: 1_893_456_060)
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next() == .state(.otpInitiated))
      withExtendedLifetime(sdk) {}
    }
    #expect(daemon.changes == ["flow.start", "flow.submit"])
    #expect(daemon.inputs == [["type": "enterCode", "resend": true]])
  }

  @Test("a restarted program that enters a code and then requests the number cancels nothing")
  func enteredFirst() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated]],
      answers: [
        .advances([.verifying, .asking("wrong_code")]), .advances([.asking("rate_limited")]),
      ])
    try await daemon.run { path in
      let sdk = await restarted(path)
      var events = recorder.events.makeAsyncIterator()
      sdk.verifySecurityCode("000000", andUpdateFirstname: "Asha", lastName: "")
      #expect(await events.next()?.code == 10)
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next()?.code == 10)
      #expect(sdk.tokenTtl() == 60)
    }
    #expect(daemon.changes == ["flow.start", "flow.submit", "flow.submit"])
  }

  @Test(
    "a restarted program's requestVerification for another number starts another flow",
    arguments: [("9876543211", "IN"), ("9876543210", "BD")])
  func other(number: String, country: String) async throws {
    let daemon = PhoneDaemon(begins: [[.creating, .otpInitiated], [.creating, .otpInitiated]])
    try await daemon.run { path in
      let sdk = await restarted(path)
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: number, countryCode: country)
      #expect(await events.next() == .state(.otpInitiated))
      withExtendedLifetime(sdk) {}
    }
    #expect(daemon.changes == ["flow.start", "flow.start"])
  }

  @Test("Truecaller's access token is there with verificationComplete, before the profile")
  func token() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated]],
      answers: [.advances([.verifying, .otpReceived, .verificationComplete])])
    try await daemon.run { path in
      let sdk = recorder.sdk(path)
      var events = recorder.events.makeAsyncIterator()
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      #expect(await events.next() == .state(.otpInitiated))
      sdk.verifySecurityCode("123456", andUpdateFirstname: "Asha", lastName: "")
      #expect(await events.next() == .state(.otpReceived))
      #expect(await events.next() == .state(.verificationComplete))
      #expect(sdk.accessTokenForOTPVerification() == "at-1")
      try await daemon.happens(
        .failed("verificationComplete", "expired", code: 3, status: "expired"))
      #expect(await events.next()?.code == 3)
      #expect(sdk.accessTokenForOTPVerification() == "at-1")
    }
    #expect(daemon.params(of: "token.get") == [["account": "acc_1"]])
  }

  @Test("a Truecaller delegate of the main actor is called on the main actor")
  func mainActor() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .verifiedBefore, .succeeded("verifiedBefore")]])
    try await daemon.run { path in
      let (calls, feed) = AsyncStream.makeStream(of: String.self)
      let screen = await Screen(feed)
      let sdk = recorder.sdk(path)
      sdk.delegate = screen
      sdk.requestVerification(forPhone: "9876543210", countryCode: "IN")
      var told: [String] = []
      for await call in calls { told.append(call) }
      #expect(told == ["verifiedBefore", "Asha"])
      #expect(await screen.count == 2)
      withExtendedLifetime(sdk) {}
    }
  }
}

/// A delegate as an app of the main thread has it. Its methods change its state.
@MainActor
private final class Screen: TCTrueSDKDelegate {
  private(set) var count = 0
  private let feed: AsyncStream<String>.Continuation

  init(_ feed: AsyncStream<String>.Continuation) { self.feed = feed }

  func verificationStatusChanged(to state: TCVerificationState) {
    MainActor.assertIsolated()
    count += 1
    feed.yield("\(state)")
  }

  func didReceive(_ profile: TCTrueProfile) {
    MainActor.assertIsolated()
    count += 1
    feed.yield(profile.firstName ?? "")
    feed.finish()
  }

  func didFailToReceiveTrueProfileWithError(_ error: TCError) {
    feed.yield("\(error)")
    feed.finish()
  }
}
