import Foundation
import JSONRPC
import SeedExamples
import Testing
import UsherKit
import UsherKitUIKitShim
import UsherTestKit

/// The code of the vendor's page, unchanged, with UsherKit, the real daemon and the sandbox's
/// wallet. The header of `PaysafeExamples.swift` says what stands around the code.
@MainActor
@Suite(
  "The code of Paysafe's page, end to end", .uses(.paysafe), .mayBlock, .serialized,
  .timeLimit(.minutes(10)))
struct PaysafePageCodeTests {
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest
  private let app: PaysafeExamples
  private let outcomes: AsyncStream<String>

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(
      config: """
        [[provider]]
        name = "paysafe"
        type = "paysafe"
        base_url = "\(sandbox.base)/paysafe"
        brand_identity = "brand-identity"
        client_id = "client-identifier"
        poll_seconds = 1
        """)
    Wallet.configure(socketPath: daemon.socketPath)
    let (outcomes, told) = AsyncStream.makeStream(of: String.self)
    self.outcomes = outcomes
    app = PaysafeExamples { told.yield($0) }
  }

  @Test("the sign-in code of Paysafe's page shows a page that returns with a code and the state")
  func signIn() async throws {
    app.getAuthenticationDetails()
    var presentations = app.presentations.makeAsyncIterator()
    let shown = try #require(await presentations.next() as? SFSafariViewController)
    let back = try #require(try Customer.decide(at: shown.url.absoluteString).location)
    let returned = try #require(URLComponents(string: back))
    #expect(back.hasPrefix("http://www.partner.com/wallet/dashboard?"))
    let items = returned.queryItems ?? []
    #expect(items.first { $0.name == "state" }?.value == "random-string")
    #expect(items.first { $0.name == "code" }?.value?.isEmpty == false)
  }

  @Test("the SCA code of Paysafe's page sends a challenge and is verified by its code")
  func challenge() async throws {
    let grant = try sandbox.control(
      "POST", "paysafe/tokens",
      ["username": "alice", "clientID": "client-identifier", "brandIdentity": "brand-identity"])
    _ = try await Wallet.authenticate(
      accessToken: try #require(grant["access_token"]?.stringValue))
    try sandbox.control(
      "POST", "paysafe/events",
      ["username": "alice", "eventId": "...", "walletOperationId": "..."])
    try sandbox.control("POST", "outbox/codes", ["codes": ["123456"]])
    var news = outcomes.makeAsyncIterator()
    app.sendSCAChallenge()
    #expect(await news.next() == "sent")
    app.submitSCAAttempt(eventID: "...", walletOperationID: "...")
    #expect(await news.next() == "verified")
    let event = try sandbox.control("GET", "paysafe/events/...")
    #expect(event["status"] == "VERIFIED")
  }
}
