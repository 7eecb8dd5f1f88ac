import Foundation
import JSONRPC
import SeedExamples
import Testing
import UsherTestKit

@testable import UsherKit

/// The code of the vendor's page, unchanged, with UsherKit, the real daemon, the sandbox's BSA and
/// a virtual fingerprint reader. The header of `BSAExamples.swift` says what is added to the code.
@MainActor
@Suite(
  "The code of BSA's page, end to end", .uses(.bsa), .mayBlock, .serialized,
  .timeLimit(.minutes(10)))
struct BSAPageCodeTests {
  /// Waits until the calls in progress have called back.
  private func calls(of app: BSAExamples) async {
    for call in app.disposeBag.calls { await call.value }
  }

  @Test(
    "the code of BSA's page registers a person at BSA who touches the fingerprint reader",
    .enabled(if: FprintdUnderTest.isPossible, noFprintd))
  func register() async throws {
    let fprintd = try await FprintdUnderTest.start()
    try await fprintd.enrol(
      user: NSUserName(), finger: "right-index-finger", print: "right-index")
    let fixture = try await unblocking {
      try BSAFixture(
        ["app_package": "\"com.your.app\""], clientKey: "a1hrg2xv...", reader: fprintd)
    }
    BSA.configure(socketPath: fixture.daemon.socketPath, prompt: nil)
    let (outcomes, told) = AsyncStream.makeStream(of: String.self)
    let app = BSAExamples { told.yield($0) }

    app.checkDuplicateUserData()
    await calls(of: app)
    try fixture.sandbox.control("POST", "outbox/codes", ["codes": ["298336"]])
    app.requestSendOTPNumber()
    await calls(of: app)
    app.verifyOTPNumber()
    await calls(of: app)
    let disposeToken = try #require(app.data.disposeToken)
    app.checkUserKeyAvailable()
    await calls(of: app)
    app.startSimpleAuth()
    try await fprintd.script("SCAN right-index")
    var news = outcomes.makeAsyncIterator()
    #expect(await news.next() == "success")
    app.data.userData = BSA.SignUpData.UserData(
      appPackage: "com.your.app", clientKey: "a1hrg2xv...", appVersion: "1.1.1",
      token: "fcm-token", email: "user@email.com", phoneNumber: "+821012345678",
      userKey: "user1", name: "Asha Rao", authType: .BIOMETRIC, os: .iOS,
      disposeToken: disposeToken, agreeGccs: true, agreePerson: true, agreeDevice: true)
    app.requestSignUp()
    await calls(of: app)
    #expect(BSA.loadUserKey() == "user1")
    #expect(try fixture.registration("user1")?["name"] == "Asha Rao")
    #expect(
      try fixture.requestsInOrder()
        == ["duplicateCheck", "mail", "mailVerify", "idCheck", "users"])
  }
}
