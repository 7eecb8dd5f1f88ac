import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// A prompt that answers each question with the passcode.
private final class BSAPrompt: BSA.LocalAuth.Prompt {
  private let asked = Mutex<[BSA.LocalAuth.Question]>([])

  /// The questions, in order.
  var questions: [BSA.LocalAuth.Question] { asked.withLock { $0 } }

  func answer(_ question: BSA.LocalAuth.Question) async -> BSA.LocalAuth.Answer {
    asked.withLock { $0.append(question) }
    return .passcode(BSAFixture.passcode)
  }
}

/// The SDK's documented example with UsherKit, the real daemon and the sandbox's BSA.
///
/// The header of `BSASeedExample.swift` lists the corrections to the example. The tests are
/// serialized because the process has one UsherKit configuration for BSA.
@Suite(
  "BSA's SDK example, end to end", .uses(.bsa), .mayBlock, .serialized,
  .timeLimit(.minutes(10)))
struct BSASeedTests {
  private typealias News = BSASeedExample.News

  private let fixture: BSAFixture
  private let prompt = BSAPrompt()
  private let values: BSASeedExample.Values

  init() throws {
    fixture = try BSAFixture(["resend_seconds": "30", "max_wrong_codes": "5"])
    BSA.configure(socketPath: fixture.daemon.socketPath, prompt: prompt)
    var values = BSASeedExample.Values()
    values.clientKey = BSAFixture.clientKey
    values.bundleIdentifier = BSAFixture.appPackage
    values.localAuthType = .PASSCODE
    self.values = values
  }

  /// Returns an example with the usual values, changed by `change`.
  private func example(
    _ change: (inout BSASeedExample.Values) -> Void = { _ in }
  ) -> BSASeedExample {
    var values = values
    change(&values)
    return BSASeedExample(values)
  }

  /// Returns a call's callbacks, up to `onCompleted`.
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

  /// Expects a call to run `callback`, with the rtCode if one is given, and then `onCompleted`.
  private func expectNo(
    _ callback: String, code rtCode: Int? = nil, of example: BSASeedExample,
    at location: SourceLocation = #_sourceLocation, _ call: (BSASeedExample) -> Void
  ) async {
    let news = await told(example, call)
    #expect(news.map(\.call) == [callback, "onCompleted"], sourceLocation: location)
    guard let rtCode else { return }
    let detail = news.first?.detail ?? ""
    #expect(detail.hasPrefix("\(rtCode) "), "\(detail)", sourceLocation: location)
  }

  @Test("the SDK example's network calls and local authentication register a person at BSA")
  func inOrder() async throws {
    let example = example()
    let completed = News("onCompleted")
    #expect(
      await told(example) { $0.checkDuplicateUserData() }
        == [News("onNotDulplicateUser"), completed])
    #expect(
      await told(example) { $0.requestSendOTPNumber() } == [News("onSuccess"), completed])
    let wrong = try fixture.wrongNumber()
    #expect(
      await told(example) { $0.verifyOTPNumber(wrong) }
        == [News("onInvalidOTPNumber"), completed])
    let number = try fixture.number(to: "user@email.com")
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

    let known = try #require(try fixture.registration("user1"))
    #expect(known["name"] == "Asha Rao" && known["phoneNum"] == "+821012345678")
    let device = try #require(known["deviceId"]?.stringValue)
    #expect(example.saved == [device, "fcm-token", "user1", "PASSCODE"])
    let code = try await BSA.totpCode().code
    // The TOTP period may change between these three reads, but only once.
    let later = try fixture.registration("user1")
    #expect(code == known["totp"]?.stringValue || code == later?["totp"]?.stringValue)
    #expect(
      try fixture.requestsInOrder() == [
        "duplicateCheck", "mail", "mailVerify", "mailVerify", "idCheck", "users",
      ])
    for secret in [BSAFixture.clientKey, number, wrong, "dsp_", "fcm-token", "user@", "Rao"] {
      #expect(!example.log.contains { $0.contains(secret) }, "the SDK's log contains \(secret)")
    }
    #expect(example.log.contains { $0.contains("requestSendOTPNumber: flw_") })

    // The negative answers, and a sign-up with a spent disposeToken.
    await expectNo("onDulplicateUser", of: example) { $0.checkDuplicateUserData() }
    await expectNo("onUserKeyNotAvailable", of: example) { $0.checkUserKeyAvailable() }
    await expectNo("onFailed", code: 3006, of: example) { $0.requestSignUp() }

    // A newly configured SDK reads the saved values from the daemon.
    BSA.configure(socketPath: fixture.daemon.socketPath)
    #expect(example.saved == [device, "fcm-token", "user1", "PASSCODE"])
  }

  @Test("BSA's requestSignUp before local authentication runs onFailed with 9009 and sends nothing")
  func tooEarly() async throws {
    let example = example()
    _ = await told(example) { $0.requestSendOTPNumber() }
    let number = try fixture.number()
    _ = await told(example) { $0.verifyOTPNumber(number) }
    example.fillUserData()
    let news = await told(example) { $0.requestSignUp() }
    #expect(news.first == News("onFailed", "9009 local authentication is required first"))
    #expect(try fixture.requests("users") == 0)
    #expect(await authenticated(example) == News("onSuccess"))
    #expect(await told(example) { $0.requestSignUp() }.first == News("onSuccess"))
  }

  @Test("an SDK call that the daemon or BSA refuses runs onFailed with the rtCode")
  func refused() async throws {
    let nobody = example { $0.email = " " }
    await expectNo("onFailed", code: 2002, of: nobody) { $0.checkDuplicateUserData() }
    await expectNo("onFailed", code: 2002, of: nobody) { $0.requestSendOTPNumber() }
    await expectNo("onFailed", code: 2000, of: example { $0.clientKey = "s3cret:another" }) {
      $0.requestSendOTPNumber()
    }
    try fixture.answers("idCheck", ["rtCode": 2012])
    await expectNo("onFailed", code: 2012, of: example()) { $0.checkUserKeyAvailable() }
    await expectNo("onFailed", code: 3006, of: example()) { $0.verifyOTPNumber() }
    _ = await told(example()) { $0.requestSendOTPNumber() }
    await expectNo("onFailed", code: 10001, of: example()) { $0.requestSendOTPNumber() }
    let wrong = try fixture.wrongNumber()
    for _ in 1...4 {
      await expectNo("onInvalidOTPNumber", of: example()) { $0.verifyOTPNumber(wrong) }
    }
    await expectNo("onFailed", code: 3005, of: example()) { $0.verifyOTPNumber(wrong) }
    let other = example { $0.localAuthType = .BIOMETRIC }
    #expect(await authenticated(other) == News("onError", "not available"))
  }

  @Test("a call of BSA's SDK without an answer or a permission runs onError, then onCompleted")
  func unanswered() async throws {
    try fixture.spoil("mail", ["reset": true])
    await expectNo("onError", of: example()) { $0.requestSendOTPNumber() }
    #expect(try fixture.requests("mail") == 1)
    let closed = try BSAFixture(["registration_checks": "false"], passcode: nil)
    BSA.configure(socketPath: closed.daemon.socketPath)
    await expectNo("onError", of: example()) { $0.checkDuplicateUserData() }
    #expect(try closed.requestsInOrder() == [])
  }

  @Test(
    "BSA's SDK example registers a person at BSA who proves presence by the real fprintd",
    .enabled(if: FprintdUnderTest.isPossible, noFprintd))
  func byFinger() async throws {
    let fprintd = try await FprintdUnderTest.start()
    try await fprintd.enrol(
      user: NSUserName(), finger: "right-index-finger", print: "right-index")
    let fixture = try await unblocking { try BSAFixture(reader: fprintd) }
    // The fingerprint reader needs no prompt.
    BSA.configure(socketPath: fixture.daemon.socketPath, prompt: nil)
    let example = example { $0.localAuthType = .BIOMETRIC }
    _ = await told(example) { $0.requestSendOTPNumber() }
    let number = try fixture.number()
    _ = await told(example) { $0.verifyOTPNumber(number) }
    example.fillUserData()
    var news = example.news.makeAsyncIterator()
    example.startSimpleAuth()
    try await fprintd.script("SCAN right-index")
    #expect(await news.next() == News("onSuccess"))
    #expect(await told(example) { $0.requestSignUp() }.first == News("onSuccess"))
    #expect(example.saved.last == "BIOMETRIC")
    #expect(try fixture.registration("user1")?["authType"] == 3)
  }
}
