import FoundationEssentials
import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// Tests of the calls of the SDK's documented example. EndToEndTests runs the whole example. The
/// tests share `Wallet.instance`, so they run one at a time.
@Suite("Paysafe's documented example", .uses(.paysafe), .serialized, .timeLimit(.minutes(10)))
struct PaysafeSeedTests {
  private final class Screen: Presenter {
    let pages = Mutex<[URL]>([])
    func present(_ url: URL) { pages.withLock { $0.append(url) } }
  }

  private let screen = Screen()

  /// The start of the sign-in, with the S256 challenge (RFC 7636) of the example's code verifier.
  private let authorize = PaysafeFlow.start(
    "authorize",
    [
      "brandIdentity": "brand-identity", "clientIdentifier": "client-identifier",
      "codeChallenge": "5m0q4KupYnsVhD5e7aNRzaeuOZN-dsOoO64K8ucTty8",
      "resetCredentialsURL": "https://www.paysafe.com/reset-credentials",
      "state": "random-string", "redirectURI": "http://www.partner.com/wallet/dashboard",
      "locale": "en-US", "loginHint": "someone@partner.com", "loginStrategy": "pin",
    ])

  @Test("the Paysafe example sends all log-in parameters to the daemon and presents its page")
  func signsIn() async throws {
    let authorizing = PaysafeFlow.snapshot("authorize", 2, "authorizing", step: PaysafeFlow.page)
    try await playing([.ask("flow.start", authorize, authorizing)]) { path in
      Wallet.configure(socketPath: path)
      let example = PaysafeSeedExample(presenter: screen)
      var news = example.news.makeAsyncIterator()
      example.signIn()
      let page = try #require(URL(string: "https://wallet.example/authorize?state=random-string"))
      #expect(await news.next() == .presented(page))
      #expect(screen.pages.withLock { $0 } == [page])
    }
  }

  @Test("the Paysafe example gets errors through its completions if the daemon is not running")
  func noDaemon() async throws {
    Wallet.configure(socketPath: "/tmp/usher-no-such-socket")
    let example = PaysafeSeedExample(presenter: screen)
    var news = example.news.makeAsyncIterator()
    example.signIn()
    example.sendChallenge()
    for _ in 0..<2 {
      guard case .failed(.unavailable(let detail))? = await news.next() else {
        Issue.record("the call did not fail")
        return
      }
      #expect(detail.message.contains("to start usherd, run:"))
    }
    #expect(screen.pages.withLock { $0 } == [])
  }

  @Test("the sign-in of the documentation gives the access token to the sign-in of the redirect")
  func olderSignIn() async throws {
    let redirect = "https://partner.example/wallet/callback?code=1"
    let other = PaysafeFlow.snapshot(
      "authorize", 3, "exchanging", id: "flw_2", step: PaysafeFlow.exchange("req-flw_2"))
    let exchanging = PaysafeFlow.snapshot(
      "authorize", 3, "exchanging", step: PaysafeFlow.exchange())
    let list = Turn.ask(
      "flow.list", PaysafeFlow.authorizeFlows, PaysafeFlow.list("authorize", "flw_2", "flw_1"))
    let tokens: JSONValue = [
      "type": "exchangeCredential", "success": ["accessToken": "token of code-1"],
    ]
    try await playing([
      list, .ask("flow.get", PaysafeFlow.flow("flw_2"), other),
      .ask(
        "flow.get", PaysafeFlow.flow(),
        PaysafeFlow.snapshot("authorize", 2, "authorizing", step: PaysafeFlow.page)),
      .ask(
        "flow.submit",
        PaysafeFlow.answer(["type": "openURL", "redirectURL": .string(redirect)], at: 2),
        exchanging),
      list, .ask("flow.get", PaysafeFlow.flow("flw_2"), other),
      .ask("flow.get", PaysafeFlow.flow(), exchanging),
      .ask(
        "flow.submit", PaysafeFlow.answer(tokens, at: 3),
        PaysafeFlow.succeeded("authorize", 4, result: #"{"account":"acc_1"}"#)),
    ]) { path in
      Wallet.configure(socketPath: path)
      try await WalletSignIn(presenter: screen).comeBack(try #require(URL(string: redirect))) {
        "token of \($0)"
      }
    }
  }

  @Test("Wallet.configure with a config token checks that the provider is a wallet")
  func configureWithToken() async throws {
    let known = #"{"name":"paysafe","type":"paysafe","flows":[]}"#
    let look: JSONValue = ["provider": "paysafe"]
    try await playing([
      .ask("provider.get", look, known),
      .ask("provider.get", look, known),
      .refuse("provider.get", look, PaysafeFlow.error("permission_denied")),
      .refuse("provider.get", look, PaysafeFlow.error("not_found", field: "provider")),
      .ask("provider.get", look, #"{"name":"paysafe","type":"oidc","flows":[]}"#),
    ]) { path in
      Wallet.configure(socketPath: path)
      let told: Result<Void, WalletError> = await withCheckedContinuation { continuation in
        Wallet.configure(configToken: "config-token") { continuation.resume(returning: $0) }
      }
      try told.get()
      try await Wallet.configure(configToken: "config-token")
      try await Wallet.configure(configToken: "config-token")
      for _ in ["no such provider", "a provider of another type"] {
        let error = await #expect(throws: WalletError.self) {
          try await Wallet.configure(configToken: "config-token")
        }
        #expect(error?.caseName == "notConfigured")
      }
    }
  }
}
