import FoundationEssentials
import JSONRPC
import Testing
import UsherCore
import UsherSandbox

@testable import UsherFlows
@testable import UsherSimulator

/// Each test sends the requests of a faulty daemon.
@Suite("The checks of bound tokens, exchanges and polls in a simulation", .timeLimit(.minutes(1)))
struct ProofHistoryTests {
  private let simulator = Simulator(seed: 1, kernel: SimulatedKernel(), print: nil)
  private let history: TokenHistory
  private let checks: AnswerChecks

  /// An ID token whose claims are {"sub":"usr_user1001-1"}.
  private static let idToken = "e30.eyJzdWIiOiJ1c3JfdXNlcjEwMDEtMSJ9.x"
  private static let bound = "client_id=usher-bound&grant_type="

  init() {
    history = TokenHistory(simulator)
    checks = AnswerChecks(simulator, history)
  }

  private func pass(seconds: Int) {
    simulator.after(.seconds(seconds)) {}
    simulator.run(until: simulator.now + UInt64(seconds) * 1_000_000_000)
  }

  private func found(_ text: String) -> Bool { simulator.finding?.contains(text) == true }

  /// Returns a proof by the key with this name.
  private static func proof(_ id: String, by key: String = "a") -> HTTPRequest.Header {
    let parts: [JSONValue] = [["jwk": ["x": .string(key), "y": "b"]], ["jti": .string(id)]]
    let texts = parts.map { part in
      Data(part.encoded()).base64EncodedString().filter { $0 != "=" }
        .replacing("+", with: "-").replacing("/", with: "_")
    }
    return HTTPRequest.Header("DPoP", Secret(texts.joined(separator: ".") + ".x"))
  }

  @discardableResult
  private func send(
    _ body: String, _ headers: [HTTPRequest.Header] = [], to path: String = "/oidc/token"
  ) -> ProviderExchange {
    var request = HTTPRequest(method: .post, url: SandboxHost.base + path, headers: headers)
    request.body = Secret(body)
    return history.begin(1, request)
  }

  private func answer(_ exchange: ProviderExchange, _ body: String, status: Int = 200) {
    let bytes = Array(body.utf8)
    history.processed(exchange, Reply(status: status, body: bytes))
    _ = history.end(exchange, .reply(HTTPReply(status: status, body: bytes)))
  }

  private static func tokens(_ number: Int, _ more: String = "") -> String {
    #"{"access_token":"at-\#(number)","expires_in":60,"refresh_token":"rt-\#(number)"\#(more)}"#
  }

  /// Signs in with tokens that are bound to the key `a`.
  private func signIn() {
    answer(
      send(Self.bound + "authorization_code&code=c", [Self.proof("sign-in")]),
      Self.tokens(1, #","id_token":"\#(Self.idToken)""#))
    #expect(simulator.finding == nil)
  }

  @Test("a proof or an assertion in two requests violates a property")
  func twice() {
    send("", [Self.proof("1")])
    send("", [Self.proof("2")])
    #expect(simulator.finding == nil)
    send("", [Self.proof("1", by: "other")])
    #expect(found("or a second time"))
  }

  @Test(
    "a refresh without a proof, or with one by another key, violates a property",
    arguments: [nil, "other", "a"] as [String?])
  func refresh(key: String?) {
    signIn()
    send(
      Self.bound + "refresh_token&refresh_token=rt-1",
      key.map { [Self.proof("2", by: $0)] } ?? [])
    #expect(key == "a" ? simulator.finding == nil : found("without a proof by the key"))
  }

  @Test("a token that is bound to a key violates a property as a Bearer token")
  func downgrade() {
    signIn()
    let token = HTTPRequest.Header("Authorization", Secret("DPoP at-1"))
    send("", [token, Self.proof("2")], to: "/oidc/userinfo")
    #expect(simulator.finding == nil)
    send(
      "", [.init("Authorization", Secret("Bearer at-1")), Self.proof("3")], to: "/oidc/userinfo")
    #expect(found("as a Bearer token"))
  }

  @Test("tokens that are bound to no key violate a property where they must be")
  func unbound() {
    answer(
      send(Self.bound + "authorization_code&code=c"),
      Self.tokens(1, #","id_token":"\#(Self.idToken)""#))
    #expect(found("that are bound to no key"))
  }

  @Test(
    "a bound token that is handed out as a Bearer token, or with a wrong proof, violates a property",
    arguments: ["Bearer", "DPoP"])
  func handedOut(type: String) {
    signIn()
    pass(seconds: 1)
    let call = SimulatedClient.Call(
      client: "client", uid: 1001, method: "token.proof", account: "acc_1", flow: nil,
      isForeign: false, sentAt: simulator.now)
    checks.begin(call)
    let proof = Self.proof("2", by: type == "DPoP" ? "other" : "a").value.revealed()
    checks.check(
      call,
      [
        "id": 1,
        "result": [
          "account": "acc_1", "accessToken": "at-1", "tokenType": .string(type),
          "proof": .string(proof),
        ],
      ])
    #expect(found(type == "DPoP" ? "no proof by the key" : "as one of type Bearer"))
  }

  @Test("a lost exchange excuses nothing, and an exchanged token does not hide a lost refresh")
  func exchanges() {
    signIn()
    let exchange = Self.bound + "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"
    let realm = OpenIDWire.realm(ofClient: "usher-bound")
    let lost = send(exchange + "&subject_token=at-1&audience=mail", [Self.proof("2")])
    let body = #"{"access_token":"at-mail","expires_in":60}"#
    history.processed(lost, Reply(status: 200, body: Array(body.utf8)))
    _ = history.end(lost, .unreachable(message: "no reply", sent: true))
    #expect(history.issue(of: "at-mail")?.audience == "mail")
    #expect(!history.isExcused("user1001-1", at: realm))
    let refresh = send(Self.bound + "refresh_token&refresh_token=rt-1", [Self.proof("3")])
    history.processed(refresh, Reply(status: 200, body: Array(Self.tokens(2).utf8)))
    _ = history.end(refresh, .unreachable(message: "no reply", sent: true))
    #expect(history.isExcused("user1001-1", at: realm))
    history.grants[0].handOut(9, for: "mail", at: 1, isExchanged: true)
    #expect(history.isExcused("user1001-1", at: realm))
    #expect(simulator.finding == nil)
  }

  @Test("a refused refresh is no finding if its proof lacks the present nonce")
  func nonce() {
    signIn()
    let refresh = send(Self.bound + "refresh_token&refresh_token=rt-1", [Self.proof("2")])
    answer(refresh, #"{"error":"use_dpop_nonce"}"#, status: 400)
    #expect(simulator.finding == nil)
    let next = send(Self.bound + "refresh_token&refresh_token=rt-1", [Self.proof("3")])
    answer(next, #"{"error":"invalid_grant"}"#, status: 400)
    #expect(found("refuses a refresh of user1001-1"))
  }

  @Test("a poll before its time violates a property, unless it repeats one without a nonce at once")
  func polls() {
    let poll = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=dc"
    answer(
      send("", to: "/oidc/device_authorization"), #"{"device_code":"dc","interval":5}"#)
    pass(seconds: 5)
    let first = send(poll)
    let demand = HTTPReply(
      status: 400, headers: ["dpop-nonce": "n"], body: Array(#"{"error":"use_dpop_nonce"}"#.utf8))
    _ = history.end(first, .reply(demand))
    answer(send(poll), #"{"error":"authorization_pending"}"#, status: 400)
    pass(seconds: 5)
    answer(send(poll), #"{"error":"authorization_pending"}"#, status: 400)
    #expect(simulator.finding == nil)
    pass(seconds: 4)
    send(poll)
    #expect(found("is a poll 4000 ms after the last one"))
  }

  @Test("a person is asked once, and once more if the answer was spent")
  func questions() {
    let ask = { send("login_hint=user1001-1&binding_message=q1", to: "/oidc/bc-authorize") }
    let poll = "grant_type=urn%3Aopenid%3Aparams%3Agrant-type%3Aciba&auth_req_id=dc"
    answer(ask(), #"{"auth_req_id":"dc","interval":5}"#)
    pass(seconds: 5)
    let spent = send(poll)
    let tokens = Self.tokens(1, #","id_token":"\#(Self.idToken)""#)
    history.processed(spent, Reply(status: 200, body: Array(tokens.utf8)))
    _ = history.end(spent, .unreachable(message: "no reply", sent: true))
    _ = history.end(ask(), .unreachable(message: "no reply", sent: true))
    #expect(simulator.finding == nil)
    _ = ask()
    #expect(found("question q1 to a person, round 2"))
  }
}
