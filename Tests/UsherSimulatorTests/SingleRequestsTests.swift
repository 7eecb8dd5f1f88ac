import Testing
import UsherCore
import UsherSandbox

@testable import UsherFlows
@testable import UsherSimulator

@Suite("The check of requests that must not be repeated", .timeLimit(.minutes(1)))
struct SingleRequestsTests {
  private let simulator = Simulator(seed: 1, kernel: SimulatedKernel(), print: nil)
  private let history: TokenHistory

  init() { history = TokenHistory(simulator) }

  private static let lost = CallOutcome.unreachable(message: "no reply", sent: true)
  private static let refused = CallOutcome.unreachable(message: "refused", sent: false)

  private static func answered(_ status: Int, _ headers: [String: String] = [:]) -> CallOutcome {
    .reply(HTTPReply(status: status, headers: headers))
  }

  /// Sends a request, which has an outcome.
  @discardableResult
  private func send(
    _ number: Int, _ path: String, _ body: String, _ outcome: CallOutcome,
    headers: [HTTPRequest.Header] = []
  ) -> ProviderExchange {
    var request = HTTPRequest(method: .post, url: "\(SandboxHost.base)\(path)", headers: headers)
    request.body = Secret(body)
    let exchange = history.begin(number, request)
    _ = history.end(exchange, outcome)
    return exchange
  }

  private func found(_ text: String) -> Bool { simulator.finding?.contains(text) == true }

  @Test("an authorization code in two requests that may have arrived violates a property")
  func codes() {
    let code = "grant_type=authorization_code&code="
    send(1, "/oidc/token", code + "one", Self.refused)
    send(2, "/oidc/token", code + "one", Self.lost)
    send(3, "/oidc/token", code + "two", Self.lost)
    #expect(simulator.finding == nil)
    send(4, "/oidc/token", code + "one", Self.lost)
    #expect(found("redemption of the code one; before it: 2"))
  }

  @Test("a payment may be repeated after it was refused, and not after its reply was lost")
  func payments() {
    let path = "/paysafe/wallets/wlt_user1001-1/payments"
    send(1, path, #"{"reference":"1"}"#, Self.answered(401))
    send(2, path, #"{"reference":"1","scaDetails":{}}"#, Self.answered(429))
    send(3, path, #"{"reference":"1"}"#, Self.lost)
    send(4, path, #"{"reference":"2"}"#, Self.lost)
    #expect(simulator.finding == nil)
    send(5, path, #"{"reference":"1","scaDetails":{}}"#, Self.lost)
    #expect(found("request 5"))
  }

  @Test("a code of Paysafe may be redeemed again only if the reply says when")
  func postponed() {
    let (path, code) = ("/paysafe/auth/brands/acme/token", "code=one")
    send(1, path, code, Self.answered(503, ["retry-after": "2"]))
    send(2, path, code, Self.answered(503))
    #expect(simulator.finding == nil)
    send(3, path, code, Self.lost)
    #expect(found("request 3"))
  }

  @Test(
    "a message with a code is sent once for each time that a person asks",
    arguments: [
      ("/bsa/mail", #"{"email":"a@example.com"}"#, BSAWire.message("a@example.com")),
      (
        "/truecaller/v1/otp/installation/create", #"{"phoneNumber":"9810011001"}"#,
        TruecallerWire.message("+919810011001")
      ),
      (
        "/freedomid/api/v1/device/login/otp", #"{"phone":"+919810011001"}"#,
        FreedomWire.message("+919810011001")
      ),
    ])
  func messages(path: String, body: String, name: String) {
    history.singles.ask(for: [name, name, name])
    history.singles.withdraw([name])
    send(1, path, body, Self.lost)
    send(2, path, body, Self.lost)
    #expect(simulator.finding == nil)
    send(3, path, body, Self.lost)
    #expect(found(name))
  }

  @Test("a challenge may be repeated if Paysafe has not sent the first one")
  func challenges() {
    let path = "/paysafe/auth/sca/events/evt_1/challenges"
    let body = #"{"verification":{"method":"OTP","channel":"SMS"}}"#
    history.singles.ask(for: [PaysafeWire.challenge("evt_1")])
    send(1, path, body, Self.lost)
    let second = send(2, path, body, Self.lost)
    #expect(simulator.finding == nil)
    history.processed(second, .init(status: 201))
    send(3, path, body, Self.lost)
    #expect(found("Paysafe's challenge for evt_1"))
  }

  @Test("a binding at GoPay may be repeated with the same external id, and with no other")
  func binding() {
    let path = "/gopay/snap/v1.0/registration-account-binding"
    for number in 1...2 {
      send(
        number, path, #"{"authCode":"one"}"#, Self.lost,
        headers: [.init("X-EXTERNAL-ID", public: "1")])
    }
    #expect(simulator.finding == nil)
    send(3, path, #"{"authCode":"one"}"#, Self.lost, headers: [.init("X-EXTERNAL-ID", public: "2")])
    #expect(found("binding with the code one"))
  }

  @Test("a sign-up at BSA, and a new user of Freedom's, are requested once")
  func registrations() {
    send(1, "/bsa/users", #"{"userKey":"user1001.1"}"#, Self.lost)
    send(2, "/freedomid/api/v1/oauth/user", #"{"phone":"+919810011001"}"#, Self.lost)
    #expect(simulator.finding == nil)
    send(3, "/bsa/users", #"{"userKey":"user1001.1"}"#, Self.lost)
    #expect(found("BSA's sign-up of user1001.1"))
  }
}
