import Dispatch
import JSONRPC
import Testing

@testable import UsherKit

extension BSAKitTests {
  @Suite("BSA sign-up and saved registration")
  struct SignUp {
    @Test("requestSignUp calls onSuccess and onCompleted and saves the registration")
    func succeeds() async throws {
      let daemon = BSADaemon(.signingUp, .registered)
      try await daemon.run { _ in
        check(await recordedEvents { $0.signUp() }, is: [.answer("onSuccess"), .completed])
        #expect(BSA.loadUserKey() == "user1")
        #expect(BSA.loadDeviceID() == "dev-1")
        #expect(BSA.loadFCMToken() == "fcm-1")
        #expect(BSA.loadLocalAuthType() == .BIOMETRIC)
      }
      let start = try #require(daemon.params(of: "flow.start").first)
      #expect(start["provider"] == "bsa" && start["kind"] == "register")
      #expect(
        start["params"] == [
          "email": "user@email.com", "phoneNumber": "+821012345678", "userKey": "user1",
          "name": "Asha Rao", "authType": "biometric", "agreeGccs": true, "agreePerson": true,
          "agreeDevice": true, "disposeToken": "dsp_1", "pushToken": "fcm-1",
          "appVersion": "1.1.1", "clientKey": "a1hrg2xv", "appPackage": "com.your.app",
        ])
    }

    @Test("requestSignUp names the verified contact, even after a restart of the program")
    func verifiedContact() async throws {
      for isRestarted in [false, true] {
        let daemon = BSADaemon(
          starts: [.advances([.otpSent]), .advances([.registered])],
          inputs: [.advances([.verifying], then: [.verified])])
        try await daemon.run { path in
          _ = await recordedEvents { $0.requestNumber("+821012345678", .SMS) }
          _ = await recordedEvents { $0.verifyNumber("298336", "+821012345678", .SMS) }
          if isRestarted { BSA.configure(socketPath: path) }
          check(await recordedEvents { $0.signUp() }, is: [.answer("onSuccess"), .completed])
        }
        #expect(daemon.params(of: "flow.start").last?["params"]?["verifyBy"] == "sms")
      }
    }

    @Test("requestSignUp sends no push token if the given token is empty")
    func noPushToken() async throws {
      let daemon = BSADaemon(.registered)
      try await daemon.run { _ in
        var data = BSA.SignUpData.UserData.complete
        (data.token, data.authType) = ("", .NONE)
        check(await recordedEvents { $0.signUp(data) }, is: [.answer("onSuccess"), .completed])
        #expect(BSA.loadFCMToken() == nil && BSA.loadLocalAuthType() == .NONE)
      }
      let params = daemon.params(of: "flow.start").first?["params"]
      #expect(params?["pushToken"] == nil && params?["authType"] == "none")
    }

    @Test("requestSignUp sends each agreement as the program gives it")
    func agreements() async throws {
      let refusals: [(String, @Sendable (inout BSA.SignUpData.UserData) -> Void)] = [
        ("agreeGccs", { $0.agreeGccs = false }), ("agreePerson", { $0.agreePerson = false }),
        ("agreeDevice", { $0.agreeDevice = false }),
      ]
      for (refused, refuse) in refusals {
        let daemon = BSADaemon(.registered)
        try await daemon.run { _ in
          var data = BSA.SignUpData.UserData.complete
          refuse(&data)
          _ = await recordedEvents { $0.signUp(data) }
        }
        let params = daemon.params(of: "flow.start").first?["params"]
        for (name, _) in refusals { #expect(params?[name] == .bool(name != refused)) }
      }
    }

    @Test("requestSignUp without prior local authentication fails with 9009 and cancels its flow")
    func noLocalAuth() async throws {
      let daemon = BSADaemon(.looking, .scanning)
      let events = try await daemon.run { _ in await recordedEvents { $0.signUp() } }
      #expect(events == [.failed(9009, "local authentication is required first"), .completed])
      #expect(daemon.status() == "cancelled")
    }

    @Test("requestSignUp succeeds if a finger was recognised before the flow was cancelled")
    func registeredMeanwhile() async throws {
      let daemon = BSADaemon(starts: [.advances([.scanning])], cancelled: .registered)
      let events = try await daemon.run { _ in await recordedEvents { $0.signUp() } }
      #expect(events == [.answer("onSuccess"), .completed])
    }

    @Test("requestSignUp calls onError if it is unknown whether the flow was cancelled")
    func cancellationLost() async throws {
      let daemon = BSADaemon(starts: [.advances([.scanning])], cancelled: nil)
      let events = try await daemon.run { _ in await recordedEvents { $0.signUp() } }
      guard case .error(.unreachable)? = events.first, events.count == 2 else {
        Issue.record("\(events)")
        return
      }
    }

    @Test(
      "a failed requestSignUp calls onFailed with BSA's rtCode or the nearest and saves nothing",
      arguments: [
        (BSAFlowSnapshot.failed("invalid_request", "3002"), 3002),
        (.failed("provider_rejected", "2009"), 2009),
        (.failed("provider_rejected", "2019"), 2019),
        (.failed("invalid_request", "3006"), 3006),
        (.failed("provider_rejected", "what"), 10001),
        (.failed("local_auth_failed", "DOMAIN_STATE_CHANGED", error: "9006"), 9006),
        (.failed("local_auth_failed", "PASSCODE_NOT_ENROLLED_DEVICE"), 9009),
      ])
    func failed(end: BSAFlowSnapshot, rtCode: Int) async throws {
      try await BSADaemon(.signingUp, end).run { _ in
        check(
          await recordedEvents { $0.signUp() }, is: [.failed(rtCode, "why it failed"), .completed])
        #expect(BSA.service.lastRegistration == nil)
      }
    }

    @Test(
      "requestSignUp calls onError for an unreachable BSA, an unknown step or a missing account",
      arguments: [
        (
          BSAFlowSnapshot.failed("provider_unreachable", nil),
          BSAError.unreachable(message: "why it failed")
        ),
        (
          .otpSent,
          .notUnderstood(message: "usherd asks for a step that the SDK does not support")
        ),
        (
          .succeeded("{}"), .notUnderstood(message: "the sign-up ended without an account")
        ),
      ])
    func error(end: BSAFlowSnapshot, error: BSAError) async throws {
      let daemon = BSADaemon(.signingUp, end)
      let events = try await daemon.run { _ in await recordedEvents { $0.signUp() } }
      #expect(events == [.error(error), .completed])
      #expect(daemon.status() != "active")
    }

    @Test("requestSignUp calls onError if the daemon is lost, and its retry keeps the request id")
    func lost() async throws {
      let daemon = BSADaemon(starts: [.lost, .lost])
      let events = try await daemon.run { _ in await recordedEvents { $0.signUp() } }
      guard case .error(.unreachable)? = events.first, events.count == 2 else {
        Issue.record("\(events)")
        return
      }
      let ids = Set(daemon.params(of: "flow.start").map { $0["requestId"]?.stringValue })
      #expect(ids.count == 1 && !ids.contains(nil))
    }

    @Test("the log and the description of a BSA sign-up show no personal data and no secret")
    func log() async throws {
      try await BSADaemon(.registered).run { _ in
        let recorder = BSACallbackRecorder()
        recorder.signUp()
        _ = await recorder.all()
        #expect(
          recorder.log == """
            BSA.requestSignUp: begins
            BSA.requestSignUp: signs up with u•••@e•••, •••78
            BSA.requestSignUp: flw_1: revision 1 at 2030-01-01T00:00:00Z: done
            BSA.requestSignUp: flw_1: succeeded
            BSA.requestSignUp: was answered
            """)
      }
      var dumped = ""
      dump(BSA.SignUpData.UserData.complete, to: &dumped)
      #expect(!dumped.contains("a1hrg2xv") && !dumped.contains("dsp_1"))
      #expect("\(BSA.SignUpData.UserData.complete)" == "user data for a sign-up, BIOMETRIC")
    }

    @Test("BSA.refresh loads the newest registration, if any, and keeps it if a refresh fails")
    func refresh() async throws {
      let daemon = BSADaemon(replies: [
        "account.list": [
          BSADaemon.accounts(), BSADaemon.accounts(1, 2), .lost, .lost,
        ]
      ])
      try await daemon.run { _ in
        #expect(try await BSA.refresh() == nil)
        let registration = try #require(try await BSA.refresh())
        #expect(registration.account == "acc_2" && BSA.loadUserKey() == "user2")
        #expect(BSA.loadDeviceID() == "dev-2" && BSA.loadFCMToken() == "fcm-2")
        #expect(BSA.loadLocalAuthType() == .PASSCODE)
        #expect("\(registration)" == "registration of acc_2")
        let error = await #expect(throws: BSAError.self) { try await BSA.refresh() }
        #expect(error?.rtCode == nil && BSA.loadUserKey() == "user2")
      }
      #expect(daemon.params(of: "account.list").first == ["provider": "bsa"])
    }

    @Test("a new process reads what is saved with its first load call, and then remembers it")
    func newProcess() async throws {
      let daemon = BSADaemon(replies: ["account.list": [BSADaemon.accounts(1, 2)]])
      try await daemon.run { _ in
        // The fake daemon needs threads of the cooperative pool, which this may not block.
        let saved = await onOtherThread {
          [
            BSA.loadUserKey(), BSA.loadDeviceID(), BSA.loadFCMToken(),
            BSA.loadLocalAuthType()?.rawValue,
          ]
        }
        #expect(saved == ["user2", "dev-2", "fcm-2", "PASSCODE"])
      }
      #expect(daemon.methods == ["account.list"])
      #expect(daemon.params(of: "account.list").first == ["provider": "bsa"])
    }

    @Test("a load call is nil without a registration, and asks the daemon again the next time")
    func nothingSaved() async throws {
      let daemon = BSADaemon(replies: [
        "account.list": [
          BSADaemon.accounts(), .refused(BSADaemon.error("permission_denied")), .lost,
          BSADaemon.accounts(1),
        ]
      ])
      try await daemon.run { _ in
        let saved = await onOtherThread { (1...4).map { _ in BSA.loadUserKey() } }
        #expect(saved == [nil, nil, nil, "user1"])
      }
      #expect(daemon.methods.count == 4)
    }

    @Test("a load call is nil if the daemon is not running or does not answer within a second")
    func noAnswer() async throws {
      BSA.configure(socketPath: "/tmp/no-such-folder/s")
      #expect(BSA.loadUserKey() == nil)
      let daemon = BSADaemon(replies: ["account.list": [.unanswered]])
      try await daemon.run { _ in
        let saved = await onOtherThread { BSA.loadDeviceID() }
        #expect(saved == nil)
      }
    }

    @Test("BSA.refresh prefers the registration that this program made over a newer one")
    func own() async throws {
      let daemon = BSADaemon(
        starts: [.advances([.registered])],
        replies: ["account.list": [BSADaemon.accounts(1, 2)]])
      try await daemon.run { _ in
        try await BSA.APICaller.requestSignUp(userData: .complete)
        #expect(try await BSA.refresh()?.account == "acc_1")
      }
    }
  }
}

/// Runs blocking code on a thread that is not one of the cooperative pool.
private func onOtherThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value
{
  await withCheckedContinuation { continuation in
    DispatchQueue.global().async { continuation.resume(returning: body()) }
  }
}
