import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// A person who is asked for a passcode.
private final class BSAPrompt: BSA.LocalAuth.Prompt {
  private let asked = Mutex<[BSA.LocalAuth.Question]>([])

  /// In their order.
  var questions: [BSA.LocalAuth.Question] { asked.withLock { $0 } }

  func answer(_ question: BSA.LocalAuth.Question) async -> BSA.LocalAuth.Answer {
    asked.withLock { $0.append(question) }
    return .passcode(BSAFixture.passcode)
  }
}

/// The seed's own example code: UsherKit, the real daemon and BSA's stand-in.
///
/// What it needed to be corrected for is listed in the header of `BSASeedExample.swift`. What UsherKit
/// is configured with is one for the whole process: these tests take turns.
@Suite(
  "BSA's example of the seed, end to end", .uses(.bsa), .mayBlock, .serialized,
  .timeLimit(.minutes(10)))
struct BSASeedTests {
  private typealias News = BSASeedExample.News

  private let fixture: BSAFixture
  private let prompt = BSAPrompt()
  private let values: BSASeedExample.Values

  init() throws {
    fixture = try BSAFixture(["resend_seconds": "30"])
    BSA.configure(socketPath: fixture.daemon.socketPath, prompt: prompt)
    var values = BSASeedExample.Values()
    values.clientKey = BSAFixture.clientKey
    values.bundleIdentifier = BSAFixture.appPackage
    values.localAuthType = .PASSCODE
    self.values = values
  }

  /// An example whose values are the usual ones but for some.
  private func example(
    _ change: (inout BSASeedExample.Values) -> Void = { _ in }
  ) -> BSASeedExample {
    var values = values
    change(&values)
    return BSASeedExample(values)
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

  /// A call comes to nothing: its first callback, and the rtCode where it has one.
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

  @Test("the six network calls and the local authentication, in the seed's order")
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
    // A new code may have begun between two of these three looks, but not twice.
    let later = try fixture.registration("user1")
    #expect(code == known["totp"]?.stringValue || code == later?["totp"]?.stringValue)
    #expect(
      try fixture.requestsInOrder() == [
        "duplicateCheck", "mail", "mailVerify", "mailVerify", "idCheck", "users",
      ])
    for secret in [BSAFixture.clientKey, number, wrong, "dsp_", "fcm-token", "user@", "Rao"] {
      #expect(!example.log.contains { $0.contains(secret) }, "\(secret) is in the log")
    }
    #expect(example.log.count == 18)

    // Now the negative answers, and a sign-up with what is used up.
    await expectNo("onDulplicateUser", of: example) { $0.checkDuplicateUserData() }
    await expectNo("onUserKeyNotAvailable", of: example) { $0.checkUserKeyAvailable() }
    await expectNo("onFailed", code: 3006, of: example) { $0.requestSignUp() }

    // Another program asks the daemon for what was saved.
    BSA.configure(socketPath: fixture.daemon.socketPath)
    #expect(BSA.loadUserKey() == nil)
    _ = try await BSA.refresh()
    #expect(example.saved == [device, "fcm-token", "user1", "PASSCODE"])
  }

  @Test("sign-up before local authentication is onFailed, and nothing is sent")
  func tooEarly() async throws {
    let example = example()
    _ = await told(example) { $0.requestSendOTPNumber() }
    let number = try fixture.number()
    _ = await told(example) { $0.verifyOTPNumber(number) }
    example.fillUserData()
    let news = await told(example) { $0.requestSignUp() }
    #expect(news.first == News("onFailed", "9009 local authentication must come first"))
    #expect(try fixture.requests("users") == 0)
    #expect(await authenticated(example) == News("onSuccess"))
    #expect(await told(example) { $0.requestSignUp() }.first == News("onSuccess"))
  }

  @Test("what is refused is onFailed with its code, by the daemon or by BSA")
  func refused() async throws {
    let nobody = example { $0.email = "user" }
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

  @Test("what nobody answers, and what is not permitted, is onError with onCompleted after it")
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
    "by a finger at the real fprintd, as the seed writes it",
    .enabled(if: FprintdUnderTest.isPossible, noFprintd))
  func byFinger() async throws {
    let fprintd = try await FprintdUnderTest.start()
    try await fprintd.enrol(
      user: NSUserName(), finger: "right-index-finger", print: "right-index")
    let fixture = try await unblocking { try BSAFixture(reader: fprintd) }
    // Nobody has to be asked where the reader waits.
    BSA.configure(socketPath: fixture.daemon.socketPath)
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
