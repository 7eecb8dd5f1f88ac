import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// The SDK's documented example with UsherKit, the real daemon and the sandbox's wallet.
///
/// The header of `PaysafeSeedExample.swift` lists the corrections to the example. The tests are
/// serialized because they share `Wallet.instance`.
@Suite(
  "Paysafe's SDK example, end to end", .uses(.paysafe), .mayBlock, .serialized,
  .timeLimit(.minutes(10)))
struct PaysafeSeedEndToEndTests {
  private static let redirectURI = "https://partner.example/wallet/callback"
  private static let verifier = String(repeating: "aB3", count: 21) + "x"

  private final class Screen: Presenter {
    let pages = Mutex<[URL]>([])
    func present(_ url: URL) { pages.withLock { $0.append(url) } }
  }

  private let fixture: PaysafeFixture
  private let screen = Screen()

  init() throws {
    fixture = try PaysafeFixture()
    Wallet.configure(socketPath: fixture.daemon.socketPath)
  }

  private func example(
    event: (id: String, operation: String) = ("", "")
  ) -> PaysafeSeedExample {
    let sandbox = fixture.sandbox
    return PaysafeSeedExample(
      .init(
        brandIdentity: "acme", clientIdentifier: "acme-wallet", codeVerifier: Self.verifier,
        redirectURI: Self.redirectURI, eventID: event.id, walletOperationID: event.operation,
        redeem: { code in
          let granted = try Partner.exchange(
            sandbox, code: code.code, redirectURI: Self.redirectURI, verifier: Self.verifier)
          return granted["access_token"]?.stringValue ?? ""
        }),
      presenter: screen)
  }

  /// Steps 1 to 7 of the log-in in the SDK's documentation.
  private func signIn() async throws {
    let example = example()
    var news = example.news.makeAsyncIterator()
    example.signIn()
    guard case .presented(let page) = await news.next() else {
      throw TestError("the example presented no page")
    }
    #expect(screen.pages.withLock { $0 }.last == page)
    let back = try #require(try Customer.decide(at: page.absoluteString).location)
    example.comeBack(try #require(URL(string: back)))
    guard case .authenticated(let account) = await news.next() else {
      throw TestError("the example did not authenticate the customer")
    }
    #expect(Wallet.instance.account == account)
  }

  @Test("Paysafe's SDK example signs a customer in, and token.get returns the account's token")
  func signsIn() async throws {
    try await signIn()
    let token = try fixture.app.call("token.get", ["provider": "paysafe"])
    #expect(token["account"]?.stringValue == Wallet.instance.account?.id)
  }

  @Test("the documentation's program signs a Paysafe customer in")
  func documentedProgram() async throws {
    let program = WalletSignIn(presenter: screen)
    // Verifier and challenge of RFC 7636, appendix B.
    try await program.begin(
      state: "state-of-the-app", codeChallenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    let page = try #require(screen.pages.withLock { $0.last })
    let back = try #require(try Customer.decide(at: page.absoluteString).location)
    try await program.comeBack(try #require(URL(string: back))) { code in
      let granted = try Partner.exchange(
        fixture.sandbox, code: code, redirectURI: Self.redirectURI,
        verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
      return granted["access_token"]?.stringValue ?? ""
    }
    let token = try fixture.app.call("token.get", ["provider": "paysafe"])
    #expect(token["account"]?.stringValue == Wallet.instance.account?.id)
  }

  @Test("Paysafe's SDK example reports a wrong SMS code, resends the challenge and is verified")
  func challenge() async throws {
    try await signIn()
    let event = try fixture.event()
    let example = example(event: event)
    var news = example.news.makeAsyncIterator()
    example.sendChallenge()
    guard case .challenged(let sent) = await news.next() else {
      throw TestError("sendSCAChallenge did not succeed")
    }
    #expect(sent.maskedTarget == "+44 ••• 123" && sent.digits == 6 && sent.attemptsLeft == 3)
    #expect(sent.eventID == event.id && sent.walletOperationID == event.operation)
    example.submitAttempt(value: try fixture.wrongCode())
    guard case .attempted(let first) = await news.next() else {
      throw TestError("submitSCAAttempt did not succeed")
    }
    #expect(first.status == .failed && first.attemptsLeft == 2 && first.statusReason != nil)
    example.sendChallenge()
    guard case .challenged = await news.next() else {
      throw TestError("sendSCAChallenge did not send another code")
    }
    #expect(try fixture.messages("sms") == 2)
    example.submitAttempt(value: try fixture.code())
    guard case .attempted(let second) = await news.next() else {
      throw TestError("submitSCAAttempt did not succeed")
    }
    #expect(second.status == .verified)
    #expect(second.eventID == event.id)
    #expect(try fixture.event(event.id)["status"] == "VERIFIED")
  }

  @Test(
    "a wrong code at Paysafe's attempts limit fails submitSCAAttempt with WalletError.dataError")
  func limit() async throws {
    try await signIn()
    let event = try fixture.event(["allowableAttempts": 1])
    let example = example(event: event)
    var news = example.news.makeAsyncIterator()
    example.sendChallenge()
    guard case .challenged = await news.next() else {
      throw TestError("sendSCAChallenge did not succeed")
    }
    example.submitAttempt(value: try fixture.wrongCode())
    guard case .failed(.dataError) = await news.next() else {
      throw TestError("submitSCAAttempt did not fail with dataError")
    }
  }

  @Test("Paysafe's awaitSCAApproval returns verified when the push is approved elsewhere")
  func push() async throws {
    try await signIn()
    let event = try fixture.event()
    let service = Wallet.instance.authenticationService
    let request = Wallet.SCAAuthenticationEventChallengeEmbeddedHybridRequest(
      walletOperationID: event.operation, verification: .init(method: .pushNotification))
    _ = try await service.sendSCAChallenge(eventID: event.id, request: request)
    try fixture.decide(event.id, approve: true)
    let verdict = try await service.awaitSCAApproval(eventID: event.id, request: request)
    #expect(verdict.status == .verified)
  }
}
