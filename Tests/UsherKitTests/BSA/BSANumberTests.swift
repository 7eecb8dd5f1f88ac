import JSONRPC
import Testing

@testable import UsherKit

extension BSAKitTests {
  @Suite("Requests for a BSA one-time code")
  struct Numbers {
    @Test("requestSendOTPNumber calls onSuccess once the code is sent, then onCompleted")
    func sent() async throws {
      let daemon = BSADaemon(.sending)
      let events = try await daemon.run { _ in
        let recorder = BSACallbackRecorder()
        recorder.requestNumber()
        var methods = daemon.methodsHeard.makeAsyncIterator()
        while let method = await methods.next(), method != "flow.start" {}
        try await daemon.happens(.otpSent)
        return await recorder.all()
      }
      #expect(events == [.answer("onSuccess"), .completed])
      let start = try #require(daemon.params(of: "flow.start").first)
      #expect(start["provider"] == "bsa" && start["kind"] == "verifyContact")
      #expect(
        start["params"] == [
          "sendType": "email", "sendTarget": "user@email.com", "clientKey": "a1hrg2xv",
          "bundleIdentifier": "com.your.app",
        ])
    }

    @Test(
      "requestSendOTPNumber calls onFailed with BSA's rtCode or the nearest one",
      arguments: [
        (BSAFlowSnapshot.failed("provider_rejected", "2012"), 2012),
        (.failed("invalid_request", "2000"), 2000), (.failed("invalid_request", nil), 2002),
        (.failed("expired", nil), 3006), (.failed("denied", nil), 9009),
      ])
    func notSent(end: BSAFlowSnapshot, rtCode: Int) async throws {
      let events = try await BSADaemon(.sending, end).run { _ in
        await recordedEvents { $0.requestNumber() }
      }
      #expect(events == [.failed(rtCode, "why it failed"), .completed])
    }

    @Test(
      "requestSendOTPNumber calls onError if it gets no usable answer",
      arguments: [
        (
          BSAFlowSnapshot.failed("provider_unreachable", nil),
          BSAError.unreachable(message: "why it failed")
        ),
        (
          .failed("provider_protocol_error", nil), .notUnderstood(message: "why it failed")
        ),
        (.cancelled, .cancelled),
        (
          .otpSent.with(problem: "provider_unreachable"),
          .unreachable(message: "what went wrong")
        ),
        (
          .otpSent.with(problem: "may_have_been_sent"),
          .unreachable(message: "what went wrong")
        ),
        (
          .passcode, .notUnderstood(message: "usherd asks for a step other than entering a number")
        ),
      ])
    func noAnswer(end: BSAFlowSnapshot, error: BSAError) async throws {
      let events = try await BSADaemon(.sending, end).run { _ in
        await recordedEvents { $0.requestNumber() }
      }
      #expect(events == [.error(error), .completed])
    }

    @Test("a second BSA code request calls onError without an answer of BSA, else onFailed")
    func noAnswerAgain() async throws {
      for (code, event) in [
        (nil, .error(.unreachable(message: "what went wrong"))),
        (2012, .failed(2012, "what went wrong")),
      ] as [(Int?, BSACallbackRecorder.Event)] {
        let problem = BSAFlowSnapshot.otpSent.with(problem: "not_sent", code: code)
        let daemon = BSADaemon(.otpSent, inputs: [.advances([.sending], then: [problem])])
        try await daemon.run { _ in
          _ = await recordedEvents { $0.requestNumber() }
          check(await recordedEvents { $0.requestNumber() }, is: [event, .completed])
        }
      }
    }

    @Test("the deprecated requestOTPNumberSend makes the same call as requestSendOTPNumber")
    func oldName() async throws {
      let events = try await BSADaemon(.otpSent).run { _ in
        await recordedEvents { (OldName() as any Caller).call($0) }
      }
      #expect(events == [.answer("onSuccess"), .completed])
    }

    @Test("a second BSA code request for a contact resends the code in the same flow")
    func again() async throws {
      let daemon = BSADaemon(.otpSent, inputs: [.advances([.sending], then: [.otpSent])])
      try await daemon.run { _ in
        for _ in 0..<2 {
          check(
            await recordedEvents { $0.requestNumber() }, is: [.answer("onSuccess"), .completed])
        }
      }
      #expect(daemon.methods == ["flow.list", "flow.start", "flow.list", "flow.submit"])
      #expect(daemon.inputs == [["type": "enterCode", "resend": true]])
    }

    @Test(
      "a BSA code request that is too early calls onFailed with BSA's code or 10001",
      arguments: [(nil, 10001), (5017, 5017)])
    func tooEarly(code: Int?, rtCode: Int) async throws {
      let problem = BSAFlowSnapshot.otpSent.with(
        problem: "too_early", code: code, retryAfterMs: 12_000)
      let daemon = BSADaemon(.otpSent, inputs: [.advances([problem]), .advances([problem])])
      try await daemon.run { _ in
        _ = await recordedEvents { $0.requestNumber() }
        check(
          await recordedEvents { $0.requestNumber() },
          is: [.failed(rtCode, "what went wrong"), .completed])
        await #expect(
          throws: BSAError.failed(
            rtCode: rtCode, message: "what went wrong", retryAfter: .seconds(12))
        ) {
          try await BSA.APICaller.requestSendOTPNumber(
            sendType: .Email, sendTarget: "user@email.com", clientKey: "a1hrg2xv",
            bundleIdentifier: "com.your.app")
        }
      }
    }

    @Test("two concurrent BSA code requests for a contact use one flow, one after the other")
    func twoAtATime() async throws {
      let daemon = BSADaemon(.otpSent, inputs: [.advances([.sending], then: [.otpSent])])
      try await daemon.run { _ in
        let recorders = [BSACallbackRecorder(), BSACallbackRecorder()]
        for recorder in recorders { recorder.requestNumber() }
        for recorder in recorders {
          check(await recorder.all(), is: [.answer("onSuccess"), .completed])
        }
      }
      #expect(daemon.methods == ["flow.list", "flow.start", "flow.list", "flow.submit"])
    }

    @Test("a restarted program that requests a BSA code waits for the code that is being sent")
    func sentAlready() async throws {
      let daemon = BSADaemon(.sending)
      try await daemon.run { path in
        var methods = daemon.methodsHeard.makeAsyncIterator()
        let recorders = [BSACallbackRecorder(), BSACallbackRecorder()]
        recorders[0].requestNumber()
        while let method = await methods.next(), method != "flow.start" {}
        BSA.configure(socketPath: path)
        recorders[1].requestNumber()
        var looks = daemon.getsHeard.makeAsyncIterator()
        _ = await looks.next()
        try await daemon.happens(.otpSent)
        for recorder in recorders {
          check(await recorder.all(), is: [.answer("onSuccess"), .completed])
        }
      }
      #expect(daemon.methods == ["flow.list", "flow.start", "flow.list"])
    }

    @Test("each contact has its own BSA flow, and the spelling of a phone number does not matter")
    func contacts() async throws {
      let daemon = BSADaemon(
        starts: [.advances([.otpSent]), .advances([.otpSent])],
        inputs: [.advances([.sending], then: [.otpSent])])
      try await daemon.run { _ in
        _ = await recordedEvents { $0.requestNumber() }
        _ = await recordedEvents { $0.requestNumber("+821012345678", .SMS) }
        check(
          await recordedEvents { $0.requestNumber("+82 (10) 1234-5678", .SMS) },
          is: [.answer("onSuccess"), .completed])
      }
      let types = daemon.params(of: "flow.start").map { $0["params"]?["sendType"] }
      #expect(types == ["email", "sms"])
      let keys = daemon.params(of: "flow.list").map { $0["key"]?.stringValue }
      let number = BSAFlowSnapshot.key("sms:+821012345678")
      #expect(keys == [BSAFlowSnapshot.key("email:user@email.com"), number, number])
    }

    @Test("a BSA call with another clientKey than the request's fails with 2000")
    func anotherClientKey() async throws {
      let refusal = BSADaemon.Answer.refused(
        BSADaemon.error("invalid_input", field: "input.fields.clientKey"))
      let daemon = BSADaemon(.otpSent, inputs: [refusal, refusal])
      let failed = BSACallbackRecorder.Event.failed(
        2000, "the number was requested with another clientKey or bundleIdentifier")
      try await daemon.run { path in
        _ = await recordedEvents { $0.requestNumber() }
        check(
          await recordedEvents { $0.requestNumber(clientKey: "other") }, is: [failed, .completed])
        #expect(daemon.inputs == [])
        check(
          await recordedEvents { $0.verifyNumber(clientKey: "other") }, is: [failed, .completed])
        // The daemon compares the key of a number that the program requested before its restart.
        BSA.configure(socketPath: path)
        check(
          await recordedEvents { $0.verifyNumber(clientKey: "other") }, is: [failed, .completed])
      }
      #expect(daemon.inputs.map { $0["fields"]?["clientKey"] } == ["other", "other"])
    }

    @Test("a BSA code request after the flow's last code begins another flow")
    func afterTheLastCode() async throws {
      let enough = BSAFlowSnapshot.otpSent.with(problem: "sent_enough")
      let daemon = BSADaemon(
        starts: [.advances([.otpSent]), .advances([.otpSent])], inputs: [.advances([enough])])
      try await daemon.run { _ in
        for _ in 0..<2 {
          check(
            await recordedEvents { $0.requestNumber() }, is: [.answer("onSuccess"), .completed])
        }
      }
      #expect(daemon.status(of: "flw_1") == "cancelled" && daemon.status(of: "flw_2") == "active")
    }

    @Test("the flow key of a BSA contact is the SHA-256 digest of its type and address")
    func key() {
      let contact = ContactTarget(type: .Email, target: "user@email.com")
      #expect(
        contact.key == "c9a66db9cf1fe25f1ce0cb099d43bc3270cac6245f68047ebcaac1ae4eb1c110")
      #expect(contact.key == BSAFlowSnapshot.key("email:user@email.com"))
    }

    @Test(
      "a BSA contact is masked in the log",
      arguments: [
        ("user@email.com", "u•••@e•••"), ("+821012345678", "•••78"), ("1234", "•••"), ("", "•••"),
        ("@b", "•••"), ("a@b@c", "•••@c"),
      ])
    func masked(text: String, masked: String) { #expect(ContactTarget.masked(text) == masked) }
  }
}

private protocol Caller {
  func call(_ recorder: BSACallbackRecorder)
}

/// Calls the deprecated method without a compiler warning.
private struct OldName: Caller {
  @available(*, deprecated)
  func call(_ recorder: BSACallbackRecorder) {
    BSA.APICaller.requestOTPNumberSend(
      sendType: .Email, sendTarget: "user@email.com", clientKey: "a1hrg2xv",
      bundleIdentifier: "com.your.app", onSuccess: recorder.answer("onSuccess"),
      onFailed: recorder.failed, onError: recorder.error, onCompleted: recorder.completed,
      disposeBag: recorder.bag)
  }
}
