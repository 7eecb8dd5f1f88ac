import FoundationEssentials
import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// The seed's own example against the sequences of the daemon's page Paysafe. It speaks to
/// `Wallet.instance`, of which there is one: these tests take turns.
@Suite("The seed's example", .uses(.paysafe), .serialized, .timeLimit(.minutes(1)))
struct PaysafeSeedTests {
  private final class Screen: Presenter {
    let pages = Mutex<[URL]>([])
    func present(_ url: URL) { pages.withLock { $0.append(url) } }
  }

  private let screen = Screen()
  private let page = URL(string: "https://wallet.example/authorize?state=random-string")
  private let back = URL(
    string: "https://www.partner.com/wallet/dashboard?code=1&state=random-string")

  /// What RFC 7636 makes of the seed's code verifier.
  private let authorize = PaysafeFlow.start(
    "authorize",
    [
      "brandIdentity": "brand-identity", "clientIdentifier": "client-identifier",
      "codeChallenge": "5m0q4KupYnsVhD5e7aNRzaeuOZN-dsOoO64K8ucTty8",
      "resetCredentialsURL": "https://www.paysafe.com/reset-credentials",
      "state": "random-string", "redirectURI": "https://www.partner.com/wallet/dashboard",
      "locale": "en-US", "loginHint": "someone@partner.com", "loginStrategy": "pin",
    ])

  private func beginning(_ start: JSONValue) -> [Turn] {
    [
      .ask("flow.start", start, PaysafeFlow.stands("authorize", 1, "configuring")),
      .ask(
        "flow.wait", PaysafeFlow.change(after: 1),
        PaysafeFlow.waited(
          PaysafeFlow.stands("authorize", 3, "authorizing", step: PaysafeFlow.page))),
    ]
  }

  private func cameBack(_ accessToken: JSONValue) throws -> [Turn] {
    [
      .ask("flow.list", PaysafeFlow.authorizeFlows, PaysafeFlow.list("authorize", "flw_1")),
      .ask(
        "flow.get", PaysafeFlow.flow(),
        PaysafeFlow.stands("authorize", 3, "authorizing", step: PaysafeFlow.page)),
      .ask(
        "flow.submit",
        PaysafeFlow.answer(
          ["type": "openURL", "redirectURL": .string(try #require(back).absoluteString)], at: 3),
        PaysafeFlow.stands("authorize", 4, "exchanging", step: PaysafeFlow.exchange())),
      .ask("flow.list", PaysafeFlow.authorizeFlows, PaysafeFlow.list("authorize", "flw_1")),
      .ask(
        "flow.get", PaysafeFlow.flow(),
        PaysafeFlow.stands("authorize", 4, "exchanging", step: PaysafeFlow.exchange())),
      .ask(
        "flow.submit",
        PaysafeFlow.answer(
          ["type": "exchangeCredential", "success": ["accessToken": accessToken]], at: 4),
        PaysafeFlow.succeeded("authorize", 5, result: #"{"account":"acc_1"}"#)),
    ]
  }

  @Test("a customer signs in")
  func signsIn() async throws {
    try await playing(beginning(authorize) + cameBack("at-of-code-1")) { path in
      Wallet.configure(socketPath: path)
      var values = PaysafeSeedExample.Values()
      values.redeem = { "at-of-\($0.code)" }
      let example = PaysafeSeedExample(values, presenter: screen)
      var news = example.news.makeAsyncIterator()
      example.signIn()
      #expect(await news.next() == .presented(try #require(page)))
      #expect(screen.pages.withLock { $0 } == [try #require(page)])
      example.comeBack(try #require(back))
      #expect(await news.next() == .authenticated(try #require(Wallet.instance.account)))
      #expect(Wallet.instance.account?.id == "acc_1")
    }
  }

  @Test("so does the documentation's program")
  func documentedProgram() async throws {
    let start = PaysafeFlow.start(
      "authorize",
      [
        "brandIdentity": "acme", "clientIdentifier": "acme-wallet", "codeChallenge": "c",
        "state": "s", "redirectURI": "https://partner.example/wallet/callback",
      ])
    try await playing(beginning(start) + cameBack("at")) { path in
      Wallet.configure(socketPath: path)
      let program = WalletSignIn(presenter: screen)
      try await program.begin(state: "s", codeChallenge: "c")
      #expect(screen.pages.withLock { $0 } == [try #require(page)])
      try await program.comeBack(try #require(back)) { code in code == "code-1" ? "at" : "" }
      #expect(Wallet.instance.account?.id == "acc_1")
    }
  }

  @Test("what goes wrong comes by the completion, too")
  func noDaemon() async throws {
    Wallet.configure(socketPath: "/tmp/usher-no-such-socket")
    let example = PaysafeSeedExample(presenter: screen)
    var news = example.news.makeAsyncIterator()
    example.signIn()
    example.sendChallenge()
    for _ in 0..<2 {
      guard case .failed(.unavailable(let detail))? = await news.next() else {
        Issue.record("it did not fail")
        return
      }
      #expect(detail.message.contains("is usherd running?"))
    }
    #expect(screen.pages.withLock { $0 } == [])
  }

  @Test("the SDK's own configure asks whether the wallet is there")
  func configureWithToken() async throws {
    let known = #"{"name":"paysafe","type":"paysafe","flows":[]}"#
    let look: JSONValue = ["provider": "paysafe"]
    try await playing([
      .ask("provider.get", look, known),
      .ask("provider.get", look, known),
      .refuse("provider.get", look, PaysafeFlow.error("permission_denied")),
      .refuse("provider.get", look, PaysafeFlow.error("not_found", field: "provider")),
    ]) { path in
      Wallet.configure(socketPath: path)
      let told: Result<Void, WalletError> = await withCheckedContinuation { continuation in
        Wallet.configure(configToken: "config-token") { continuation.resume(returning: $0) }
      }
      try told.get()
      try await Wallet.configure(configToken: "config-token")
      try await Wallet.configure(configToken: "config-token")
      let error = await #expect(throws: WalletError.self) {
        try await Wallet.configure(configToken: "config-token")
      }
      #expect(error?.word == "notConfigured")
    }
  }
}
