import JSONRPC
import Testing
import UsherKit

extension BSAKitTests {
  @Suite("Verification of BSA one-time codes")
  struct IdentityVerification {
    /// Returns the callbacks of a verification in a flow that waits for a code.
    private func recordedEvents(
      _ inputs: BSADaemon.Answer..., before: BSAFlowSnapshot = .otpSent
    ) async throws -> [BSACallbackRecorder.Event] {
      let daemon = BSADaemon(before, inputs: inputs)
      return try await daemon.run { _ in
        _ = await UsherKitTests.recordedEvents { $0.requestNumber() }
        return await UsherKitTests.recordedEvents { $0.verifyNumber() }
      }
    }

    @Test(
      "verifyOTPNumber calls onInvalidOTPNumber for each wrong code, then onValidOTPNumber")
    func invalid() async throws {
      let wrong = BSAFlowSnapshot.otpSent.with(problem: "wrong_code", code: 3005)
      let daemon = BSADaemon(
        .otpSent,
        inputs: [
          .advances([.verifying], then: [wrong]), .advances([.verifying], then: [wrong]),
          .refused(BSADaemon.error("invalid_input", field: "input.code")),
          .advances([.verifying], then: [.verified]),
        ])
      try await daemon.run { _ in
        _ = await UsherKitTests.recordedEvents { $0.requestNumber() }
        for _ in 0..<3 {
          check(
            await UsherKitTests.recordedEvents { $0.verifyNumber("000000") },
            is: [.answer("onInvalidOTPNumber"), .completed])
        }
        check(
          await UsherKitTests.recordedEvents { $0.verifyNumber() },
          is: [.answer("onValidOTPNumber dsp_1"), .completed])
      }
      #expect(
        daemon.inputs.last
          == ["type": "enterCode", "code": "298336", "fields": ["clientKey": "a1hrg2xv"]])
    }

    @Test("verifyOTPNumber calls onInvalidOTPNumber if the reply to a second wrong code is lost")
    func invalidAndLost() async throws {
      let wrong = BSAFlowSnapshot.otpSent.with(problem: "wrong_code", code: 3005)
      let daemon = BSADaemon(
        .otpSent,
        inputs: [
          .advances([.verifying, wrong]), .advancesAndDisconnects([.verifying, wrong]),
        ])
      try await daemon.run { _ in
        _ = await UsherKitTests.recordedEvents { $0.requestNumber() }
        for _ in 0..<2 {
          check(
            await UsherKitTests.recordedEvents { $0.verifyNumber("000000") },
            is: [.answer("onInvalidOTPNumber"), .completed])
        }
      }
      #expect(daemon.inputs.count == 2)
    }

    @Test("verifyOTPNumber fails with 3006 for an expired code, with or without a code from BSA")
    func expired() async throws {
      for code in [3006, nil] {
        let over = BSAFlowSnapshot.otpSent.with(problem: "code_expired", code: code)
        check(
          try await recordedEvents(.advances([.verifying], then: [over])),
          is: [.failed(3006, "what went wrong"), .completed])
      }
      #expect(
        try await recordedEvents(
          .advances([.verifying], then: [.failed("expired", nil, status: "expired")]))
          == [.failed(3006, "why it failed"), .completed])
    }

    @Test("verifyOTPNumber fails with 3005 after too many wrong codes, and with 3006 after that")
    func exhausted() async throws {
      let end = BSAFlowSnapshot.failed("attempts_exhausted", "3005")
      let daemon = BSADaemon(.otpSent, inputs: [.advances([.verifying], then: [end])])
      try await daemon.run { _ in
        _ = await UsherKitTests.recordedEvents { $0.requestNumber() }
        check(
          await UsherKitTests.recordedEvents { $0.verifyNumber() },
          is: [.failed(3005, "why it failed"), .completed])
        check(
          await UsherKitTests.recordedEvents { $0.verifyNumber() },
          is: [.failed(3006, "no number was requested: request one first"), .completed])
      }
    }

    @Test("verifyOTPNumber fails with BSA's own rtCode if BSA refuses to check the code")
    func refused() async throws {
      check(
        try await recordedEvents(
          .advances([.verifying], then: [.failed("provider_rejected", "4711")])),
        is: [.failed(4711, "why it failed"), .completed])
    }

    @Test("verifyOTPNumber fails with 3006 if no code was requested for this contact and channel")
    func noneRequested() async throws {
      try await BSADaemon(.otpSent).run { _ in
        _ = await UsherKitTests.recordedEvents { $0.requestNumber() }
        for call in [
          { @Sendable (recorder: BSACallbackRecorder) in
            recorder.verifyNumber("1", "other@email.com")
          },
          { @Sendable (recorder: BSACallbackRecorder) in
            recorder.verifyNumber("1", "user@email.com", .SMS)
          },
        ] {
          check(
            await UsherKitTests.recordedEvents(call),
            is: [.failed(3006, "no number was requested: request one first"), .completed])
        }
      }
    }

    @Test(
      "verifyOTPNumber calls onError if BSA's answer was lost",
      arguments: ["interrupted", "provider_unreachable"])
    func unanswered(problem: String) async throws {
      #expect(
        try await recordedEvents(.advances([.verifying], then: [.otpSent.with(problem: problem)]))
          == [.error(.unreachable(message: "what went wrong")), .completed])
    }

    @Test("verifyOTPNumber calls onError if the daemon is lost before the code arrives")
    func lost() async throws {
      let daemon = BSADaemon(.otpSent, inputs: [.lost, .advances([.verifying], then: [.verified])])
      try await daemon.run { _ in
        _ = await UsherKitTests.recordedEvents { $0.requestNumber() }
        let events = await UsherKitTests.recordedEvents { $0.verifyNumber() }
        guard case .error(.unreachable)? = events.first, events.count == 2 else {
          Issue.record("\(events)")
          return
        }
        check(
          await UsherKitTests.recordedEvents { $0.verifyNumber() },
          is: [.answer("onValidOTPNumber dsp_1"), .completed])
      }
      #expect(daemon.inputs.count == 2)
    }

    @Test("a BSA code that arrived before the daemon was lost is not submitted again")
    func arrived() async throws {
      let daemon = BSADaemon(.otpSent, inputs: [.advancesAndDisconnects([.verifying, .verified])])
      try await daemon.run { _ in
        _ = await UsherKitTests.recordedEvents { $0.requestNumber() }
        daemon.disconnectReads(0)
        check(
          await UsherKitTests.recordedEvents { $0.verifyNumber() },
          is: [.answer("onValidOTPNumber dsp_1"), .completed])
      }
      #expect(daemon.inputs.count == 1)
    }

    @Test("requestSendOTPNumber waits for a daemon that is lost for a moment")
    func awayForAMoment() async throws {
      let daemon = BSADaemon(.sending)
      try await daemon.run { _ in
        let recorder = BSACallbackRecorder()
        daemon.disconnectReads(2)
        recorder.requestNumber()
        var methods = daemon.methodsHeard.makeAsyncIterator()
        while let method = await methods.next(), method != "flow.start" {}
        try await daemon.happens(.otpSent)
        check(await recorder.all(), is: [.answer("onSuccess"), .completed])
      }
    }

    @Test("a restarted program verifies the BSA code that it requested before the restart")
    func restarted() async throws {
      let daemon = BSADaemon(.otpSent, inputs: [.advances([.verifying], then: [.verified])])
      try await daemon.run { path in
        _ = await UsherKitTests.recordedEvents { $0.requestNumber("+821012345678", .SMS) }
        BSA.configure(socketPath: path)
        check(
          await UsherKitTests.recordedEvents {
            $0.verifyNumber("298336", "+82 10-1234-5678", .SMS)
          },
          is: [.answer("onValidOTPNumber dsp_1"), .completed])
      }
      #expect(daemon.methods == ["flow.list", "flow.start", "flow.list", "flow.submit"])
    }

    @Test(
      "verifyOTPNumber calls onError for a result without a disposeToken or an unknown step",
      arguments: [
        BSAFlowSnapshot.succeeded("{}"), .succeeded(#"{"disposeToken":1}"#), .passcode,
      ])
    func unknown(snapshot: BSAFlowSnapshot) async throws {
      let events = try await recordedEvents(.advances([.verifying], then: [snapshot]))
      guard case .error(.notUnderstood)? = events.first, events.count == 2 else {
        Issue.record("\(events)")
        return
      }
    }

    @Test("async verifyOTPNumber returns the token, or nil for a wrong code, and throws otherwise")
    func waiting() async throws {
      let daemon = BSADaemon(
        .otpSent,
        inputs: [
          .advances([.verifying], then: [.otpSent.with(problem: "wrong_code")]),
          .advances([.verifying], then: [.otpSent.with(problem: "code_expired")]),
          .advances([.verifying], then: [.verified]),
        ])
      try await daemon.run { _ in
        try await BSA.APICaller.requestSendOTPNumber(
          sendType: .Email, sendTarget: "user@email.com", clientKey: "a1hrg2xv",
          bundleIdentifier: "com.your.app")
        #expect(try await verify() == nil)
        await #expect(throws: BSAError.failed(rtCode: 3006, message: "what went wrong")) {
          try await verify()
        }
        #expect(try await verify() == "dsp_1")
      }
    }

    private func verify() async throws -> String? {
      try await BSA.APICaller.verifyOTPNumber(
        sendType: .Email, sendTarget: "user@email.com", otpNumber: "298336",
        clientKey: "a1hrg2xv")
    }

    @Test("the log of BSA code calls shows no contact, code, key or token")
    func log() async throws {
      let daemon = BSADaemon(.otpSent, inputs: [.advances([.verifying], then: [.verified])])
      try await daemon.run { _ in
        let (first, second) = (BSACallbackRecorder(), BSACallbackRecorder())
        first.requestNumber()
        _ = await first.all()
        second.verifyNumber()
        _ = await second.all()
        #expect(
          first.log + "\n" + second.log == """
            BSA.requestSendOTPNumber: begins
            BSA.requestSendOTPNumber: a number is requested for u•••@e•••
            BSA.requestSendOTPNumber: flw_1: revision 1 at 2030-01-01T00:00:00Z: otpSent
            BSA.requestSendOTPNumber: was answered
            BSA.verifyOTPNumber: begins
            BSA.verifyOTPNumber: a number of u•••@e••• is verified
            BSA.verifyOTPNumber: flw_1: revision 2 at 2030-01-01T00:00:00Z: verifying
            BSA.verifyOTPNumber: flw_1: revision 3 at 2030-01-01T00:00:00Z: done
            BSA.verifyOTPNumber: flw_1: succeeded
            BSA.verifyOTPNumber: was answered
            """)
        for line in first.timedLog + second.timedLog {
          let time = line.prefix { $0 != " " }
          #expect(time.hasPrefix("20") && time.hasSuffix("Z") && time.contains("T"), "\(line)")
        }
      }
    }

    @Test("the log of a refused BSA code names the flow's problem or failure with its rtCode")
    func logOfRefusal() async throws {
      let daemon = BSADaemon(
        .otpSent,
        inputs: [
          .advances([.otpSent.with(problem: "wrong_code", code: 3005)]),
          .advances([.failed("provider_rejected", "2012")]),
        ])
      try await daemon.run { _ in
        _ = await UsherKitTests.recordedEvents { $0.requestNumber() }
        for last in ["problem wrong_code, rtCode 3005", "failed: provider_rejected, rtCode 2012"] {
          let recorder = BSACallbackRecorder()
          recorder.verifyNumber()
          _ = await recorder.all()
          #expect(recorder.log.contains("BSA.verifyOTPNumber: flw_1: \(last)\n"), "\(recorder.log)")
        }
      }
    }
  }
}
