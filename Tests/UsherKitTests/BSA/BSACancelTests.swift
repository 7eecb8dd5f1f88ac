import JSONRPC
import Testing

@testable import UsherKit

extension BSAKitTests {
  @Suite("Cancellation of BSA calls")
  struct Cancelling {
    /// Makes a call, disposes of its bag once the daemon has received `method`, and returns the
    /// callbacks.
    private func recordedEvents(
      _ daemon: BSADaemon, at method: String, before: (@Sendable () async -> Void)? = nil,
      then: (@Sendable () async throws -> Void)? = nil,
      _ call: @escaping @Sendable (BSACallbackRecorder) -> Void
    ) async throws -> [BSACallbackRecorder.Event] {
      try await daemon.run { _ in
        await before?()
        let recorder = BSACallbackRecorder()
        call(recorder)
        let calls = recorder.bag.calls
        var methods = daemon.methodsHeard.makeAsyncIterator()
        while let heard = await methods.next(), heard != method {}
        recorder.bag.dispose()
        try await then?()
        for call in calls { await call.value }
        recorder.stopRecording()
        #expect(!recorder.log.contains("was answered"))
        return await recorder.all()
      }
    }

    @Test("a cancelled BSA code request calls no callback and cancels its flow")
    func whileSending() async throws {
      let daemon = BSADaemon(.sending)
      check(try await recordedEvents(daemon, at: "flow.start") { $0.requestNumber() }, is: [])
      #expect(daemon.methods == ["flow.list", "flow.start", "flow.cancel"])
      #expect(daemon.status() == "cancelled")
    }

    @Test("a BSA call that is cancelled before flow.start replies still cancels its flow")
    func whileBeginning() async throws {
      let daemon = BSADaemon(starts: [.advancesAndRepliesLater([.otpSent])])
      let then = { @Sendable in try await daemon.sendDelayedReplies() }
      let events = try await recordedEvents(daemon, at: "flow.start", then: then) {
        $0.requestNumber()
      }
      #expect(events == [])
      #expect(daemon.status() == "cancelled")
    }

    @Test("a cancelled BSA code verification calls no callback, and the code can be verified again")
    func whileVerifying() async throws {
      let daemon = BSADaemon(.otpSent, inputs: [.advances([.verifying])])
      let before = { @Sendable in _ = await UsherKitTests.recordedEvents { $0.requestNumber() } }
      check(
        try await recordedEvents(daemon, at: "flow.submit", before: before) { $0.verifyNumber() },
        is: [])
      #expect(daemon.status() == "active")
    }

    @Test("a disposeToken that came after the verification was cancelled goes to its code only")
    func verifiedLater() async throws {
      let daemon = BSADaemon(.otpSent, inputs: [.advances([.verifying])])
      let before = { @Sendable in _ = await UsherKitTests.recordedEvents { $0.requestNumber() } }
      let then = { @Sendable in
        try await daemon.happens(.verified)
        check(
          await UsherKitTests.recordedEvents { $0.verifyNumber("000000") },
          is: [.failed(3006, "no number was requested: request one first"), .completed])
        check(
          await UsherKitTests.recordedEvents { $0.verifyNumber() },
          is: [.answer("onValidOTPNumber dsp_1"), .completed])
      }
      let events = try await recordedEvents(
        daemon, at: "flow.submit", before: before, then: then
      ) { $0.verifyNumber() }
      check(events, is: [])
      #expect(daemon.inputs.count == 1)
    }

    @Test("a BSA code without an answer does not get the disposeToken of an earlier verification")
    func earlierToken() async throws {
      let daemon = BSADaemon(
        starts: [.advances([.otpSent]), .advances([.otpSent])],
        inputs: [.advances([.verified]), .advances([.verifying])])
      let before = { @Sendable in
        _ = await UsherKitTests.recordedEvents { $0.requestNumber() }
        _ = await UsherKitTests.recordedEvents { $0.verifyNumber("111111") }
        // The bag is disposed of at the next submission.
        var methods = daemon.methodsHeard.makeAsyncIterator()
        while let heard = await methods.next(), heard != "flow.submit" {}
        _ = await UsherKitTests.recordedEvents { $0.requestNumber() }
      }
      let then = { @Sendable in
        try await daemon.happens(.failed("expired", nil, status: "expired"), to: "flw_2")
        check(
          await UsherKitTests.recordedEvents { $0.verifyNumber() },
          is: [.failed(3006, "no number was requested: request one first"), .completed])
      }
      let events = try await recordedEvents(
        daemon, at: "flow.submit", before: before, then: then
      ) { $0.verifyNumber() }
      check(events, is: [])
    }

    @Test("a cancelled second BSA code request calls no callback, and the flow goes on")
    func whileSendingAgain() async throws {
      let daemon = BSADaemon(.otpSent, inputs: [.advances([.sending])])
      let before = { @Sendable in _ = await UsherKitTests.recordedEvents { $0.requestNumber() } }
      check(
        try await recordedEvents(daemon, at: "flow.submit", before: before) { $0.requestNumber() },
        is: [])
      #expect(daemon.status() == "active")
    }

    @Test("a cancelled BSA sign-up calls no callback and cancels its flow")
    func whileSigningUp() async throws {
      let daemon = BSADaemon(.signingUp)
      check(try await recordedEvents(daemon, at: "flow.start") { $0.signUp() }, is: [])
      #expect(daemon.methods.suffix(2) == ["flow.start", "flow.cancel"])
      #expect(daemon.status() == "cancelled")
    }

    @Test("a cancelled BSA user-key check calls no callback")
    func whileChecking() async throws {
      let method = "registration.checkUserKey"
      let daemon = BSADaemon(replies: [method: [.unanswered]])
      check(try await recordedEvents(daemon, at: method) { $0.checkUserKey("user1") }, is: [])
    }

    @Test("a cancelled BSA local authentication calls no callback and cancels its flow")
    func whileAuthenticating() async throws {
      let daemon = BSADaemon(.scanning)
      let events = try await recordedEvents(daemon, at: "flow.start") { recorder in
        BSA.LocalAuth.startSimpleAuth(
          localAuthType: .BIOMETRIC, reason: "r", checkDomainStateChanged: false,
          usePasscodeWhenFailed: false, onSuccess: recorder.answer("onSuccess"),
          onError: { _ in recorder.answer("onError")() }, disposeBag: recorder.bag)
      }
      #expect(events == [])
      #expect(daemon.status() == "cancelled")
    }

    @Test("a BSA call that is cancelled in one of its callbacks calls no further callback")
    func inACallback() async throws {
      let daemon = BSADaemon(replies: [
        "registration.checkUserKey": [.reply(#"{"available":true}"#)]
      ])
      try await daemon.run { _ in
        let recorder = BSACallbackRecorder()
        let bag = BSA.DisposeBag()
        BSA.APICaller.checkUserKeyAvailable(
          userKey: "user1",
          onUserKeyAvailable: {
            recorder.answer("available")()
            bag.dispose()
          },
          onUserKeyNotAvailable: recorder.answer("not available"), onFailed: recorder.failed,
          onError: recorder.error, onCompleted: recorder.completed, disposeBag: bag)
        for call in bag.calls { await call.value }
        recorder.stopRecording()
        check(await recorder.all(), is: [.answer("available")])
      }
    }

    @Test("releasing the DisposeBag cancels its BSA call and the call's flow")
    func bagLetGo() async throws {
      let daemon = BSADaemon(.sending)
      try await daemon.run { _ in
        let recorder = BSACallbackRecorder()
        var bag: BSA.DisposeBag? = BSA.DisposeBag()
        let calls = bag.map { bag in
          BSA.APICaller.requestSendOTPNumber(
            sendType: .SMS, sendTarget: "+821012345678", clientKey: "k", bundleIdentifier: "b",
            onSuccess: recorder.answer("onSuccess"), onFailed: recorder.failed,
            onError: recorder.error,
            onCompleted: recorder.completed, disposeBag: bag)
          return bag.calls
        }
        var methods = daemon.methodsHeard.makeAsyncIterator()
        while let heard = await methods.next(), heard != "flow.start" {}
        bag = nil
        for call in calls ?? [] { await call.value }
        recorder.stopRecording()
        #expect(await recorder.all() == [] && bag == nil)
      }
      #expect(daemon.status() == "cancelled")
    }

    @Test("a bag of another library that is a BSA.Disposer cancels its BSA call")
    func otherBag() async throws {
      let daemon = BSADaemon(.sending)
      try await daemon.run { _ in
        let recorder = BSACallbackRecorder()
        let bag = OtherBag()
        BSA.APICaller.requestSendOTPNumber(
          sendType: .Email, sendTarget: "user@email.com", clientKey: "k", bundleIdentifier: "b",
          onSuccess: recorder.answer("onSuccess"), onFailed: recorder.failed,
          onError: recorder.error, onCompleted: recorder.completed, disposeBag: bag)
        var methods = daemon.methodsHeard.makeAsyncIterator()
        while let heard = await methods.next(), heard != "flow.start" {}
        bag.dispose()
        while let heard = await methods.next(), heard != "flow.cancel" {}
        recorder.stopRecording()
        check(await recorder.all(), is: [])
      }
      #expect(daemon.status() == "cancelled")
    }

    @Test("a BSA call with a disposed bag of another library is not made")
    func otherDisposedBag() async throws {
      let daemon = BSADaemon(starts: [])
      try await daemon.run { _ in
        let recorder = BSACallbackRecorder()
        let bag = OtherBag()
        bag.dispose()
        BSA.APICaller.checkUserKeyAvailable(
          userKey: "user1", onUserKeyAvailable: recorder.answer("available"),
          onUserKeyNotAvailable: recorder.answer("not available"), onFailed: recorder.failed,
          onError: recorder.error, disposeBag: bag)
      }
      #expect(daemon.methods == [])
    }

    @Test("a BSA call with a disposed DisposeBag is not made")
    func disposedBag() async throws {
      let daemon = BSADaemon(starts: [])
      try await daemon.run { _ in
        let recorder = BSACallbackRecorder()
        recorder.bag.dispose()
        recorder.bag.dispose()
        recorder.requestNumber()
        #expect(recorder.bag.calls.isEmpty)
      }
      #expect(daemon.methods == [])
    }

    @Test(
      "a finished BSA call leaves its DisposeBag, and disposing of the bag keeps the flow active")
    func ended() async throws {
      let daemon = BSADaemon(.otpSent)
      try await daemon.run { _ in
        let recorder = BSACallbackRecorder()
        recorder.requestNumber()
        let calls = recorder.bag.calls
        check(await recorder.all(), is: [.answer("onSuccess"), .completed])
        for call in calls { await call.value }
        #expect(recorder.bag.calls.isEmpty)
        recorder.bag.dispose()
      }
      #expect(daemon.status() == "active")
    }

    @Test("a cancelled async BSA call throws BSAError.cancelled and cancels its flow")
    func asyncForm() async throws {
      let daemon = BSADaemon(.sending)
      try await daemon.run { _ in
        let call = Task<Void, any Error> {
          try await BSA.APICaller.requestSendOTPNumber(
            sendType: .Email, sendTarget: "user@email.com", clientKey: "k",
            bundleIdentifier: "b")
        }
        var methods = daemon.methodsHeard.makeAsyncIterator()
        while let heard = await methods.next(), heard != "flow.start" {}
        call.cancel()
        await #expect(throws: BSAError.cancelled) { try await call.value }
      }
      #expect(daemon.status() == "cancelled")
    }
  }
}

/// A bag as another library has it: not `Sendable`, and without knowledge of calls.
private final class OtherBag: BSA.Disposer {
  private var closures: [@Sendable () -> Void] = []
  private var isDisposed = false

  func insert(_ dispose: @escaping @Sendable () -> Void) {
    if isDisposed { dispose() } else { closures.append(dispose) }
  }

  func dispose() {
    isDisposed = true
    for closure in closures { closure() }
  }
}
