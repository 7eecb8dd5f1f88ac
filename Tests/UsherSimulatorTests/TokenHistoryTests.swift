import Testing
import UsherCore
import UsherSandbox

@testable import UsherFlows
@testable import UsherSimulator

@Suite("The history of tokens in a simulation", .timeLimit(.minutes(1)))
struct TokenHistoryTests {
  private let simulator = Simulator(seed: 1, kernel: SimulatedKernel(), print: nil)
  private let history: TokenHistory

  init() { history = TokenHistory(simulator) }

  private func refresh(_ number: Int, _ token: String) -> ProviderExchange {
    var request = HTTPRequest(method: .post, url: "http://127.0.0.1:1/oidc/token")
    request.body = Secret("grant_type=refresh_token&refresh_token=\(token)")
    return history.begin(number, request)
  }

  /// Signs in: the provider issues the tokens `at-N` and `rt-N` of user1001-1.
  private func signIn(as number: Int = 1) {
    let exchange = history.begin(
      0, HTTPRequest(method: .post, url: "http://127.0.0.1:1/oidc/token"))
    // The claims of the ID token are {"sub":"usr_user1001-1"}.
    let idToken = "e30.eyJzdWIiOiJ1c3JfdXNlcjEwMDEtMSJ9.x"
    answer(
      exchange,
      #"{"access_token":"at-\#(number)","expires_in":60,"refresh_token":"rt-\#(number)","#
        + #""id_token":"\#(idToken)"}"#)
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

  @Test("a refresh that may not have arrived may be repeated, and excuses nothing")
  func unanswered() {
    signIn()
    for number in 1...2 {
      let exchange = refresh(number, "rt-1")
      _ = history.end(exchange, .unreachable(message: "no connection", sent: false))
    }
    let exchange = refresh(3, "rt-1")
    history.processed(exchange, Reply(status: 503))
    _ = history.end(exchange, .reply(HTTPReply(status: 503)))
    #expect(simulator.finding == nil)
    #expect(!history.isExcused("user1001-1"))
  }

  @Test(
    "a lost reply with new tokens excuses the loss of its account until a later refresh succeeds")
  func lost() {
    signIn()
    let exchange = refresh(1, "rt-1")
    _ = history.end(exchange, .unreachable(message: "no reply", sent: true))
    #expect(!history.isExcused("user1001-1"))
    let body = #"{"access_token":"at-2","expires_in":60,"refresh_token":"rt-2"}"#
    history.processed(exchange, Reply(status: 200, body: Array(body.utf8)))
    #expect(history.isExcused("user1001-1"))
    #expect(!history.isExcused("user1001-2"))
    answer(refresh(2, "rt-1"), #"{"access_token":"at-3","expires_in":60,"refresh_token":"rt-3"}"#)
    #expect(!history.isExcused("user1001-1"))
    #expect(simulator.finding == nil)
  }

  @Test("a refused refresh violates a property unless a reply was lost or the grant was revoked")
  func refused() {
    signIn()
    history.grants[0].revoke()
    history.processed(refresh(1, "rt-1"), Reply(status: 400))
    #expect(simulator.finding == nil)
    #expect(history.isExcused("user1001-1"))
    signIn(as: 2)
    history.processed(refresh(2, "rt-2"), Reply(status: 400))
    #expect(simulator.finding?.contains("refuses a refresh of user1001-1") == true)
  }

  @Test("a kill excuses the loss of tokens that were not handed out, and no others")
  func killed() {
    signIn()
    history.grants[0].handOut(0, for: nil, at: 1)
    history.daemonWasKilled()
    #expect(!history.isExcused("user1001-1"))
    answer(refresh(1, "rt-1"), #"{"access_token":"at-2","expires_in":60,"refresh_token":"rt-2"}"#)
    history.daemonWasKilled()
    #expect(history.isExcused("user1001-1"))
    _ = refresh(2, "rt-1")
    #expect(simulator.finding == nil)
  }

  private func revoke(_ token: String) {
    var request = HTTPRequest(method: .post, url: "http://127.0.0.1:1/oidc/revoke")
    request.body = Secret("token=\(token)")
    _ = history.begin(9, request)
  }

  @Test("the daemon's revocation of a sign-in in use violates a property unless it is asked for")
  func revoked() {
    signIn()
    // The sign-in may have failed: no token of it was handed out.
    revoke("rt-1")
    #expect(simulator.finding == nil)
    signIn(as: 2)
    history.grants[1].handOut(0, for: nil, at: 1)
    history.wasEndAskedFor = { account, _ in account == "user1001-1" }
    revoke("rt-2")
    #expect(simulator.finding == nil)
    history.wasEndAskedFor = { _, _ in false }
    signIn(as: 3)
    history.grants[2].handOut(0, for: nil, at: 1)
    signIn(as: 4)
    // A later sign-in has replaced this one.
    revoke("rt-3")
    #expect(simulator.finding == nil)
    history.grants[3].handOut(0, for: nil, at: 1)
    revoke("rt-4")
    #expect(simulator.finding?.contains("of user1001-1, for which nobody asked") == true)
  }

  @Test("a refresh whose result cannot be stored violates a property")
  func diskRefuses() {
    signIn()
    simulator.after(.seconds(100)) {}
    simulator.run(until: 100_000_000_000)
    history.diskRefusesSince = { 41_000_000_000 }
    // The disk may have accepted a write just before it began to refuse them.
    _ = history.end(refresh(1, "rt-1"), .unreachable(message: "refused", sent: false))
    #expect(simulator.finding == nil)
    history.diskRefusesSince = { 40_000_000_000 }
    _ = refresh(2, "rt-1")
    #expect(simulator.finding?.contains("the disk has accepted nothing for 60 s") == true)
  }
}
