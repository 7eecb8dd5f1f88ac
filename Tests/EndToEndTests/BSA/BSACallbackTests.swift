import JSONRPC
import Testing
import UsherKit
import UsherTestKit

extension BSAKitEndToEndTests {
  /// Each callback of the seed's calls that check and verify, by UsherKit at the real daemon.
  @Suite("BSA's callbacks: checks and numbers", .mayBlock)
  struct Numbers {
    private let scene: BSAScene

    init() throws {
      scene = try BSAScene(passcode: nil)
      BSA.configure(socketPath: scene.daemon.socketPath)
    }

    /// Another daemon, for what needs other settings.
    private func configured(_ settings: [String: String]) throws -> BSAScene {
      let other = try BSAScene(settings, passcode: nil)
      BSA.configure(socketPath: other.daemon.socketPath)
      return other
    }

    private func isUnreachable(_ news: [BSAListener.News]) -> Bool {
      if case .error(.unreachable)? = news.first { news.count == 2 } else { false }
    }

    // MARK: checkDuplicateUserData

    @Test("checkDuplicateUserData: onNotDulplicateUser", arguments: [true, false])
    func notDuplicate(isEmail: Bool) async throws {
      let (data, type) =
        isEmail
        ? ("alice@example.com", BSA.Enums.VerifyType.Email) : ("+447700900123", .PhoneNumber)
      #expect(
        await heard { $0.checkDuplicate(data, type) } == [
          .answer("onNotDulplicateUser"), .completed,
        ])
    }

    @Test("checkDuplicateUserData: onDulplicateUser", arguments: [true, false])
    func duplicate(isEmail: Bool) async throws {
      try scene.registerElsewhere(["email": "alice@example.com", "phoneNum": "+447700900123"])
      let (data, type) =
        isEmail
        ? ("alice@example.com", BSA.Enums.VerifyType.Email) : ("+447700900123", .PhoneNumber)
      #expect(
        await heard { $0.checkDuplicate(data, type) } == [.answer("onDulplicateUser"), .completed])
    }

    @Test("checkDuplicateUserData: onFailed with BSA's code, and 2002 for what is no address")
    func duplicateFailed() async throws {
      try scene.answers("duplicateCheck", ["rtCode": 2012])
      #expect(
        await heard { $0.checkDuplicate("alice@example.com") } == [.failed(2012), .completed])
      #expect(await heard { $0.checkDuplicate("alice") } == [.failed(2002), .completed])
    }

    @Test("checkDuplicateUserData: onError where nobody answers, or it is not allowed")
    func duplicateError() async throws {
      try scene.spoil("duplicateCheck", ["reset": true])
      #expect(isUnreachable(await heard { $0.checkDuplicate("alice@example.com") }))
      let closed = try configured(["registration_checks": "false"])
      let news = await heard { $0.checkDuplicate("alice@example.com") }
      guard case .error(.notPermitted)? = news.first, news.last == .completed else {
        Issue.record("\(news)")
        return
      }
      withExtendedLifetime(closed) {}
    }

    // MARK: checkUserKeyAvailable

    @Test("checkUserKeyAvailable: onUserKeyAvailable, onUserKeyNotAvailable")
    func userKey() async throws {
      #expect(
        await heard { $0.checkUserKey("alice.01") } == [.answer("onUserKeyAvailable"), .completed])
      try scene.registerElsewhere(["userKey": "alice.01"])
      #expect(
        await heard { $0.checkUserKey("alice.01") }
          == [.answer("onUserKeyNotAvailable"), .completed])
    }

    @Test("checkUserKeyAvailable: onFailed, onError")
    func userKeyFailed() async throws {
      try scene.answers("idCheck", ["rtCode": 4711])
      #expect(await heard { $0.checkUserKey("alice.01") } == [.failed(4711), .completed])
      #expect(await heard { $0.checkUserKey("a b") } == [.failed(2002), .completed])
      try scene.answers("idCheck", ["text": "Bad Gateway", "status": 502])
      #expect(isUnreachable(await heard { $0.checkUserKey("alice.01") }))
      try scene.answers("idCheck", ["text": "Hello"])
      let news = await heard { $0.checkUserKey("alice.01") }
      guard case .error(.notUnderstood)? = news.first, news.last == .completed else {
        Issue.record("\(news)")
        return
      }
    }

    // MARK: requestSendOTPNumber

    @Test("requestSendOTPNumber: onSuccess when it was sent", arguments: ["email", "sms"])
    func requested(channel: String) async throws {
      let type = try #require(BSA.APICaller.OTPSendType(rawValue: channel))
      #expect(
        await heard { $0.requestNumber(.alice, type) } == [.answer("onSuccess"), .completed])
      #expect(try scene.messages().map { $0["channel"] } == [.string(channel)])
    }

    @Test("requestSendOTPNumber: onFailed with 2000, 2002 or BSA's code")
    func requestFailed() async throws {
      #expect(
        await heard { $0.requestNumber(clientKey: "s3cret:another") } == [
          .failed(2000), .completed,
        ])
      var nobody = BSAPerson.alice
      nobody.email = "alice"
      #expect(await heard { $0.requestNumber(nobody) } == [.failed(2002), .completed])
      try scene.answers("mail", ["rtCode": 2006])
      #expect(await heard { $0.requestNumber() } == [.failed(2006), .completed])
      #expect(try scene.messages().isEmpty)
    }

    @Test("requestSendOTPNumber: onFailed with 10001 for a second one that is too early")
    func requestTooEarly() async throws {
      let other = try configured(["resend_seconds": "30"])
      #expect(await heard { $0.requestNumber() } == [.answer("onSuccess"), .completed])
      #expect(await heard { $0.requestNumber() } == [.failed(10001), .completed])
      #expect(try other.messages().count == 1)
    }

    @Test("requestSendOTPNumber: onError where nobody answers; it is not sent again")
    func requestError() async throws {
      try scene.answers("mail", ["text": "Bad Gateway", "status": 502], times: 0)
      #expect(isUnreachable(await heard { $0.requestNumber() }))
      #expect(try scene.requests("mail") == 1)
    }

    // MARK: verifyOTPNumber

    @Test("verifyOTPNumber: onInvalidOTPNumber, then onValidOTPNumber with the handle")
    func verified() async throws {
      _ = await heard { $0.requestNumber() }
      let (number, wrong) = (try scene.number(), try scene.wrongNumber())
      #expect(
        await heard { $0.verifyNumber(wrong) } == [.answer("onInvalidOTPNumber"), .completed])
      #expect(
        await heard { $0.verifyNumber("1") } == [.answer("onInvalidOTPNumber"), .completed])
      let listener = BSAListener()
      listener.verifyNumber(number)
      #expect(await listener.all() == [.answer("onValidOTPNumber"), .completed])
      #expect(listener.disposeToken?.hasPrefix("dsp_") == true)
      #expect(!listener.log.contains { $0.contains(number) || $0.contains("alice@") })
    }

    @Test("verifyOTPNumber: onFailed with 3006 where none was requested or its time is over")
    func verifyFailed() async throws {
      #expect(await heard { $0.verifyNumber("123456") } == [.failed(3006), .completed])
      _ = await heard { $0.requestNumber() }
      let number = try scene.number()
      try scene.sandbox.control("POST", "bsa/expire", ["what": "numbers"])
      #expect(await heard { $0.verifyNumber(number) } == [.failed(3006), .completed])
    }

    @Test("verifyOTPNumber: onFailed with 3005 at the fifth wrong one, and BSA's code")
    func verifyExhausted() async throws {
      _ = await heard { $0.requestNumber() }
      let wrong = try scene.wrongNumber()
      for _ in 1...4 {
        #expect(
          await heard { $0.verifyNumber(wrong) } == [.answer("onInvalidOTPNumber"), .completed])
      }
      #expect(await heard { $0.verifyNumber(wrong) } == [.failed(3005), .completed])
      _ = await heard { $0.requestNumber(.bob) }
      try scene.answers("mailVerify", ["rtCode": 4711])
      #expect(await heard { $0.verifyNumber(wrong, .bob) } == [.failed(4711), .completed])
    }

    @Test("verifyOTPNumber: onError where the answer is lost; the number is handed in once more")
    func verifyError() async throws {
      _ = await heard { $0.requestNumber() }
      let number = try scene.number()
      try scene.spoil("mailVerify", ["reset": true], times: 1)
      #expect(isUnreachable(await heard { $0.verifyNumber(number) }))
      #expect(
        await heard { $0.verifyNumber(number) } == [.answer("onValidOTPNumber"), .completed])
    }

    @Test("a call whose bag is disposed of tells nothing, and its number is not waited for")
    func disposed() async throws {
      try scene.spoil("mail", ["delayMs": 60_000])
      let listener = BSAListener()
      listener.requestNumber()
      // The call needs the threads that tests share.
      try await unblocking { [scene] in
        try eventually("the number is asked for") { try scene.requests("mail") >= 1 }
      }
      listener.bag.dispose()
      try await unblocking { [scene] in
        try eventually("the flow is over") {
          try scene.app.call("flow.list")["flows"]?.arrayValue?.first?["status"] == "cancelled"
        }
      }
      let log = listener.log
      #expect(await heard { $0.verifyNumber("123456") } == [.failed(3006), .completed])
      #expect(listener.log == log && !log.contains { $0.contains("was answered") })
    }
  }
}
