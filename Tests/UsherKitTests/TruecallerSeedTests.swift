import JSONRPC
import Testing
import UsherKit
import UsherTestKit

/// The seed's own example against a played daemon. It speaks to `TCTrueSDK.sharedManager()`, of
/// which there is one: these tests take turns.
@Suite("Truecaller's example of the seed", .uses(.truecaller), .serialized, .timeLimit(.minutes(1)))
struct TruecallerSeedTests {
  private let manager = TCTrueSDK.sharedManager()

  @Test("a number is verified: each state once, in order, and before the profile")
  func verifies() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .otpInitiated]],
      answers: [
        .goesOn([.otpReceived, .verificationComplete, .succeeded("verificationComplete")])
      ])
    try await daemon.run { path in
      manager.configure(socketPath: path)
      manager.setup(withAppKey: "key-1", appLink: "https://app.example/t")
      let example = TruecallerSeedExample()
      var news = example.news.makeAsyncIterator()
      example.showNumberEntry()
      example.requestVerification("9876543210", "IN")
      guard case .codeSent(.some)? = await news.next() else {
        Issue.record("no code was sent")
        return
      }
      example.verify("123456", "Asha", "Rao")
      #expect(await news.next() == .codeHandedIn)
      #expect(await news.next() == .verified(.verificationComplete, accessToken: "at-1"))
      guard case .received(let profile)? = await news.next() else {
        Issue.record("no profile came")
        return
      }
      #expect(profile.firstName == "Asha" && profile.isVerified)
    }
    #expect(daemon.methods == ["flow.start", "flow.submit", "token.get"])
    let start = try #require(daemon.params(of: "flow.start").first)
    #expect(
      start["params"] == [
        "phoneNumber": "9876543210", "countryCode": "IN", "appKey": "key-1",
        "appLink": "https://app.example/t",
      ])
    #expect(daemon.params(of: "token.get").map { $0["account"] } == ["acc_1"])
    let submit = try #require(daemon.params(of: "flow.submit").first)
    #expect(
      submit["input"] == [
        "type": "enterCode", "code": "123456",
        "fields": ["firstName": "Asha", "lastName": "Rao"],
      ])
  }

  @Test("a number that was verified before needs no code")
  func verifiedBefore() async throws {
    let daemon = PhoneDaemon(
      begins: [[.creating, .verifiedBefore, .succeeded("verifiedBefore")]])
    try await daemon.run { path in
      manager.configure(socketPath: path)
      let example = TruecallerSeedExample()
      var news = example.news.makeAsyncIterator()
      example.showNumberEntry()
      example.requestVerification("9876543210", "IN")
      #expect(await news.next() == .verified(.verifiedBefore, accessToken: "at-1"))
      guard case .received? = await news.next() else {
        Issue.record("no profile came")
        return
      }
    }
  }

  @Test("what goes wrong is told by its number")
  func fails() async throws {
    let daemon = PhoneDaemon(begins: [[.failed("creating", "invalid_request", code: 14)]])
    try await daemon.run { path in
      manager.configure(socketPath: path)
      let example = TruecallerSeedExample()
      var news = example.news.makeAsyncIterator()
      example.showNumberEntry()
      example.requestVerification("123", "IN")
      #expect(await news.next() == .failed(.badRequest, message: "why it failed"))
    }
  }
}
