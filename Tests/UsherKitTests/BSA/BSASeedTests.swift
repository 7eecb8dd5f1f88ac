import JSONRPC
import Testing
import UsherKit

extension BSAKitTests {
  /// The seed's own calls against the sequences of the daemon's page BSA.
  @Suite("BSA's example of the seed")
  struct Seed {
    private typealias News = BSASeedExample.News

    @Test("the six network calls and the local authentication, in order")
    func inOrder() async throws {
      let daemon = BSADaemon(
        starts: [
          .goesOn([.sending, .otpSent]), .goesOn([.looking, .authenticated]),
          .goesOn([.signingUp, .registered]),
        ],
        inputs: [
          .goesOn([.verifying, .otpSent.with(problem: "wrong_code", code: 3005)]),
          .goesOn([.verifying, .verified]),
        ],
        replies: [
          "registration.checkDuplicate": [.reply(#"{"duplicate":false}"#)],
          "registration.checkUserKey": [.reply(#"{"available":true}"#)],
        ])
      try await daemon.run { _ in
        let example = BSASeedExample()
        var news = example.news.makeAsyncIterator()
        let calls: [(@Sendable (BSASeedExample) -> Void, String)] = [
          ({ $0.checkDuplicateUserData() }, "onNotDulplicateUser"),
          ({ $0.requestSendOTPNumber() }, "onSuccess"),
          ({ $0.verifyOTPNumber("000000") }, "onInvalidOTPNumber"),
          ({ $0.verifyOTPNumber() }, "onValidOTPNumber"),
          ({ $0.checkUserKeyAvailable() }, "onUserKeyAvailable"),
        ]
        for (call, answer) in calls {
          call(example)
          #expect(await news.next() == News(answer))
          #expect(await news.next() == News("onCompleted"))
        }
        example.startSimpleAuth()
        #expect(await news.next() == News("onSuccess"))
        example.fillUserData()
        example.requestSignUp()
        #expect(await news.next() == News("onSuccess"))
        #expect(await news.next() == News("onCompleted"))
        #expect(example.saved == ["dev-1", "fcm-token", "user1", "BIOMETRIC"])
        #expect(example.log.count == 18)
        for secret in ["user@", "+82", "a1hrg2xv", "298336", "dsp_1", "fcm-token", "user1", "Rao"] {
          #expect(!example.log.contains { $0.contains(secret) })
        }
      }
      #expect(
        daemon.methods == [
          "registration.checkDuplicate", "flow.list", "flow.start", "flow.list", "flow.submit",
          "flow.list", "flow.submit", "registration.checkUserKey", "flow.start", "flow.start",
        ])
      #expect(daemon.params(of: "flow.start").last?["params"]?["disposeToken"] == "dsp_1")
    }

    @Test("the negative answers")
    func negative() async throws {
      let daemon = BSADaemon(replies: [
        "registration.checkDuplicate": [.reply(#"{"duplicate":true}"#)],
        "registration.checkUserKey": [.reply(#"{"available":false}"#)],
      ])
      try await daemon.run { _ in
        let example = BSASeedExample()
        var news = example.news.makeAsyncIterator()
        example.checkDuplicateUserData()
        #expect(await news.next() == News("onDulplicateUser"))
        #expect(await news.next() == News("onCompleted"))
        example.checkUserKeyAvailable()
        #expect(await news.next() == News("onUserKeyNotAvailable"))
      }
    }

    @Test("what is refused, and what gets no answer")
    func refused() async throws {
      let daemon = BSADaemon(
        starts: [
          .goesOn([.failed("invalid_request", "2000")]),
          .goesOn([.failed("provider_unreachable", nil)]),
        ])
      try await daemon.run { _ in
        let example = BSASeedExample()
        var news = example.news.makeAsyncIterator()
        example.requestSendOTPNumber()
        #expect(await news.next() == News("onFailed", "2000 why it failed"))
        #expect(await news.next() == News("onCompleted"))
        example.requestSendOTPNumber()
        #expect(await news.next() == News("onError", "why it failed"))
        #expect(await news.next() == News("onCompleted"))
      }
    }

    @Test(
      "what it says of each word of the local authentication",
      arguments: [
        ("DOMAIN_STATE_CHANGED", "changed"), ("BIOMETRIC_NOT_AVILABLE", "not available"),
        ("BIOMETRIC_NOT_SUPPORT_HARDWARE", "not available"),
        ("BIOMETRIC_LOCK_OUT", "not available"), ("BIOMETRIC_NOT_ENROLLED_DEVICE", "no finger"),
        ("PASSCODE_NOT_ENROLLED_DEVICE", "no passcode"), ("USER_CANCEL", "user"),
        ("USER_FALLBACK", "user"), ("AUTH_FAILED", "failed"), ("ANOTHER", "other"),
      ])
    func words(word: String, said: String) async throws {
      try await BSADaemon(.failed("local_auth_failed", word)).run { _ in
        let example = BSASeedExample()
        example.startSimpleAuth()
        var news = example.news.makeAsyncIterator()
        #expect(await news.next() == News("onError", said))
      }
    }

    @Test("the name of the seed's heading is the same call")
    func oldName() async throws {
      let daemon = BSADaemon(.otpSent)
      let news = try await daemon.run { _ in
        await told { (OldName() as any Caller).call($0) }
      }
      #expect(news == [.answer("onSuccess"), .completed])
    }
  }
}

private protocol Caller {
  func call(_ ear: BSAEar)
}

/// What is deprecated may be called here without a warning.
private struct OldName: Caller {
  @available(*, deprecated)
  func call(_ ear: BSAEar) {
    BSA.APICaller.requestOTPNumberSend(
      sendType: .Email, sendTarget: "user@email.com", clientKey: "a1hrg2xv",
      bundleIdentifier: "com.your.app", onSuccess: ear.answer("onSuccess"),
      onFailed: ear.failed, onError: ear.error, onCompleted: ear.completed,
      disposeBag: ear.bag)
  }
}
