import Foundation
import JSONRPC
import Testing
import UsherKit
import UsherTestKit

extension BSAKitEndToEndTests {
  /// The seed's own example code: UsherKit, the real daemon and BSA's stand-in.
  ///
  /// What it needed to be corrected for is listed in the header of `BSASeedExample.swift`.
  @Suite("BSA's example of the seed, end to end", .mayBlock)
  struct BSASeedTests {
    private typealias News = BSASeedExample.News

    private let scene: BSAScene
    private let prompt = BSAPrompt()
    private let values: BSASeedExample.Values

    init() throws {
      scene = try BSAScene()
      BSA.configure(socketPath: scene.daemon.socketPath, prompt: prompt)
      var values = BSASeedExample.Values()
      values.clientKey = BSAScene.clientKey
      values.bundleIdentifier = BSAScene.appPackage
      values.localAuthType = .PASSCODE
      self.values = values
    }

    /// What a call tells, up to its `onCompleted`.
    private func told(
      _ example: BSASeedExample, _ call: (BSASeedExample) -> Void
    ) async -> [News] {
      var news = example.news.makeAsyncIterator()
      call(example)
      var all: [News] = []
      while all.last?.call != "onCompleted", let next = await news.next() { all.append(next) }
      return all
    }

    private func authenticated(_ example: BSASeedExample) async -> News? {
      var news = example.news.makeAsyncIterator()
      example.startSimpleAuth()
      return await news.next()
    }

    @Test("the six network calls and the local authentication, in the seed's order")
    func inOrder() async throws {
      let example = BSASeedExample(values)
      let completed = News("onCompleted")
      #expect(
        await told(example) { $0.checkDuplicateUserData() }
          == [News("onNotDulplicateUser"), completed])
      #expect(
        await told(example) { $0.requestSendOTPNumber() } == [News("onSuccess"), completed])
      let wrong = try scene.wrongNumber()
      #expect(
        await told(example) { $0.verifyOTPNumber(wrong) }
          == [News("onInvalidOTPNumber"), completed])
      let number = try scene.number(to: "user@email.com")
      #expect(
        await told(example) { $0.verifyOTPNumber(number) }
          == [News("onValidOTPNumber"), completed])
      #expect(
        await told(example) { $0.checkUserKeyAvailable() }
          == [News("onUserKeyAvailable"), completed])
      #expect(await authenticated(example) == News("onSuccess"))
      #expect(
        prompt.questions.map(\.reason) == ["Authentication is required to verify your identity"])
      example.fillUserData()
      #expect(await told(example) { $0.requestSignUp() } == [News("onSuccess"), completed])

      let known = try #require(try scene.registration("user1"))
      #expect(known["name"] == "Asha Rao" && known["phoneNum"] == "+821012345678")
      let device = try #require(known["deviceId"]?.stringValue)
      #expect(example.saved == [device, "fcm-token", "user1", "PASSCODE"])
      #expect(try await BSA.totpCode().code == known["totp"]?.stringValue)
      #expect(
        try scene.requestsInOrder() == [
          "duplicateCheck", "mail", "mailVerify", "mailVerify", "idCheck", "users",
        ])
      for secret in [BSAScene.clientKey, number, wrong, "dsp_", "fcm-token", "user@", "Rao"] {
        #expect(!example.log.contains { $0.contains(secret) }, "\(secret) is in the log")
      }
      #expect(example.log.count >= 12)

      // Now the negative answers, and a sign-up with what is used up.
      #expect(
        await told(example) { $0.checkDuplicateUserData() }
          == [News("onDulplicateUser"), completed])
      #expect(
        await told(example) { $0.checkUserKeyAvailable() }
          == [News("onUserKeyNotAvailable"), completed])
      let again = await told(example) { $0.requestSignUp() }
      #expect(
        again.first?.call == "onFailed" && again.first?.detail?.hasPrefix("3006 ") == true,
        "\(again)")
    }

    @Test("sign-up before local authentication is onFailed, and nothing is sent")
    func tooEarly() async throws {
      let example = BSASeedExample(values)
      _ = await told(example) { $0.requestSendOTPNumber() }
      let number = try scene.number()
      _ = await told(example) { $0.verifyOTPNumber(number) }
      example.fillUserData()
      let news = await told(example) { $0.requestSignUp() }
      #expect(news.first == News("onFailed", "9009 local authentication must come first"))
      #expect(try scene.requests("users") == 0)
      #expect(await authenticated(example) == News("onSuccess"))
      #expect(await told(example) { $0.requestSignUp() }.first == News("onSuccess"))
    }

    @Test(
      "by a finger at the real fprintd, as the seed writes it",
      .enabled(if: FprintdUnderTest.isPossible, noFprintd))
    func byFinger() async throws {
      let fprintd = try await FprintdUnderTest.start()
      try await fprintd.enrol(
        user: NSUserName(), finger: "right-index-finger", print: "right-index")
      let scene = try await unblocking { try BSAScene(reader: fprintd) }
      // Nobody has to be asked where the reader waits.
      BSA.configure(socketPath: scene.daemon.socketPath)
      var values = values
      values.localAuthType = .BIOMETRIC
      let example = BSASeedExample(values)
      _ = await told(example) { $0.requestSendOTPNumber() }
      let number = try scene.number()
      _ = await told(example) { $0.verifyOTPNumber(number) }
      example.fillUserData()
      var news = example.news.makeAsyncIterator()
      example.startSimpleAuth()
      try await fprintd.script("SCAN right-index")
      #expect(await news.next() == News("onSuccess"))
      #expect(await told(example) { $0.requestSignUp() }.first == News("onSuccess"))
      #expect(example.saved.last == "BIOMETRIC")
      #expect(try scene.registration("user1")?["authType"] == 3)
    }

    @Test("no reader: the seed's branch for what is not available")
    func noReader() async throws {
      var values = values
      values.localAuthType = .BIOMETRIC
      #expect(
        await authenticated(BSASeedExample(values)) == News("onError", "not available"))
    }

    @Test("a provider that does not answer is onError, with onCompleted after it")
    func unreachable() async throws {
      scene.sandbox.killAtOnce()
      let news = await told(BSASeedExample(values)) { $0.checkDuplicateUserData() }
      #expect(news.map(\.call) == ["onError", "onCompleted"])
    }
  }
}
