import Testing
import UsherCore
import UsherSandbox

@testable import UsherFlows
@testable import UsherSimulator

@Suite("The history of tokens in a simulation", .timeLimit(.minutes(1)))
struct TokenHistoryTests {
  private let simulator = Simulator(
    seed: 1, kernel: SimulatedKernel(setTime: { _, _ in }, elapsed: { 0 }, escapes: { 0 }),
    print: nil)
  private let history: TokenHistory

  init() { history = TokenHistory(simulator) }

  private func refresh(_ number: Int, _ token: String) -> ProviderExchange {
    var request = HTTPRequest(method: .post, url: "http://127.0.0.1:1/oidc/token")
    request.body = Secret("grant_type=refresh_token&refresh_token=\(token)")
    return history.begin(number, request)
  }

  /// Signs in: the provider issues the tokens `at-1` and `rt-1` of user1001-1.
  private func signIn() {
    let exchange = history.begin(
      0, HTTPRequest(method: .post, url: "http://127.0.0.1:1/oidc/token"))
    // The claims of the ID token are {"sub":"usr_user1001-1"}.
    let idToken = "e30.eyJzdWIiOiJ1c3JfdXNlcjEwMDEtMSJ9.x"
    answer(
      exchange,
      #"{"access_token":"at-1","expires_in":60,"refresh_token":"rt-1","id_token":"\#(idToken)"}"#)
  }

  private func answer(_ exchange: ProviderExchange, _ body: String) {
    history.processed(exchange, Reply(status: 200, body: Array(body.utf8)))
    _ = history.end(exchange, .reply(HTTPReply(status: 200, body: Array(body.utf8))))
  }

  @Test("two requests with one refresh token at the same time violate a property")
  func twice() {
    signIn()
    _ = refresh(1, "rt-1")
    #expect(simulator.finding == nil)
    _ = refresh(2, "rt-1")
    #expect(simulator.finding?.contains("the requests 1 and 2 at the same time") == true)
  }

  @Test("a refresh token that a reply has replaced must not be presented again")
  func replaced() {
    signIn()
    answer(refresh(1, "rt-1"), #"{"access_token":"at-2","expires_in":60,"refresh_token":"rt-2"}"#)
    #expect(history.issue(of: "at-2")?.generation == 1)
    _ = refresh(2, "rt-1")
    #expect(simulator.finding?.contains("the reply to request 1 replaced") == true)
  }

  @Test("a refresh whose reply was lost may be repeated, and excuses the loss of the account")
  func lost() {
    signIn()
    let exchange = refresh(1, "rt-1")
    #expect(!history.isExcused("user1001-1"))
    _ = history.end(exchange, .unreachable(message: "no reply", sent: true))
    _ = refresh(2, "rt-1")
    #expect(simulator.finding == nil)
    #expect(history.isExcused("user1001-1"))
    #expect(!history.isExcused("user1001-2"))
  }
}
