import JSONRPC
import Testing
import UsherCore
import UsherSandbox

@testable import UsherFlows
@testable import UsherSimulator

/// Each test answers a call as a faulty daemon would.
@Suite("The checks of answers in a simulation", .timeLimit(.minutes(1)))
struct AnswerChecksTests {
  private let simulator = Simulator(seed: 1, kernel: SimulatedKernel(), print: nil)
  private let history: TokenHistory
  private let checks: AnswerChecks

  init() {
    history = TokenHistory(simulator)
    checks = AnswerChecks(simulator, history)
    // Answers of the time 0 were given before no call.
    pass(1)
  }

  private func pass(_ seconds: Int) {
    simulator.after(.seconds(seconds)) {}
    simulator.run(until: simulator.now + UInt64(seconds) * 1_000_000_000)
  }

  /// Returns a call that is sent now, and lets a second pass.
  private func call(
    _ method: String, _ uid: UInt32 = 1001, account: String? = nil, flow: String? = nil,
    audience: String? = nil
  ) -> SimulatedClient.Call {
    let isForeign = [account, flow].contains { id in
      id.map { checks.acknowledged.isForeign($0, to: uid) } ?? false
    }
    let call = SimulatedClient.Call(
      client: "client", uid: uid, method: method, account: account, flow: flow,
      audience: audience, isForeign: isForeign, sentAt: simulator.now)
    checks.begin(call)
    pass(1)
    return call
  }

  private func answer(_ call: SimulatedClient.Call, _ result: JSONValue) {
    checks.check(call, ["id": 1, "result": result])
    pass(1)
  }

  private func refuse(_ call: SimulatedClient.Call, _ reason: String) {
    checks.check(
      call, ["id": 1, "error": ["message": "no", "data": ["reason": .string(reason)]]])
    pass(1)
  }

  private func list(_ ids: [String], _ uid: UInt32 = 1001) -> JSONValue {
    let accounts = ids.map { id -> JSONValue in
      ["id": .string(id), "provider": "demo", "subject": .string("usr_user\(uid)-1")]
    }
    return ["accounts": .array(accounts)]
  }

  /// An ID token whose claims are {"sub":"usr_user1001-1","iat":0,"exp":60}.
  private static let idToken =
    "e30.eyJzdWIiOiJ1c3JfdXNlcjEwMDEtMSIsImlhdCI6MCwiZXhwIjo2MH0.x"

  /// Signs in: the provider issues an access token for a number of seconds, and an ID token for 60.
  ///
  /// - Parameter resource: The audience that the request names; nil if it names none.
  private func issue(_ token: String, seconds: Int = 60, resource: String? = nil) {
    var request = HTTPRequest(method: .post, url: "http://127.0.0.1:1/oidc/token")
    request.body = resource.map { Secret("resource=\($0)") }
    let exchange = history.begin(0, request)
    let body = """
      {"access_token":"\(token)","expires_in":\(seconds),"refresh_token":"rt-\(token)",\
      "id_token":"\(Self.idToken)"}
      """
    history.processed(exchange, Reply(status: 200, body: Array(body.utf8)))
    _ = history.end(exchange, .reply(HTTPReply(status: 200, body: Array(body.utf8))))
  }

  private func found(_ text: String) -> Bool { simulator.finding?.contains(text) == true }

  @Test("a correct run violates no property")
  func correct() {
    issue("at")
    answer(call("account.list"), list(["acc_1"]))
    answer(call("token.get", account: "acc_1"), ["account": "acc_1", "accessToken": "at"])
    answer(call("account.forget", account: "acc_1"), [:])
    answer(call("account.list"), list([]))
    refuse(call("token.get", account: "acc_1"), "not_found")
    #expect(simulator.finding == nil)
  }

  @Test("a token of another user violates a property")
  func foreignToken() {
    issue("at")
    answer(call("token.get", 1002), ["account": "acc_1", "accessToken": "at"])
    #expect(found("of 1002 received a token of user1001-1"))
  }

  @Test("a token that a provider without refreshes issued to another user violates a property")
  func foreignProvidedToken() {
    checks.provided.record("at", owner: 1001)
    answer(call("token.get"), ["account": "acc_1", "accessToken": "at"])
    #expect(simulator.finding == nil)
    answer(call("token.get", 1002), ["account": "acc_1", "accessToken": "at"])
    #expect(found("of 1002 received a token of another user"))
  }

  @Test("a token that ended before the call violates a property")
  func deadToken() {
    issue("at", seconds: 5)
    pass(10)
    answer(call("token.get"), ["account": "acc_1", "accessToken": "at"])
    #expect(found("ms before the call"))
  }

  @Test("a token that was revoked before the call violates a property")
  func revokedToken() {
    issue("at")
    pass(1)
    answer(call("account.list"), list(["acc_1"]))
    answer(call("token.get"), ["account": "acc_1", "accessToken": "at"])
    let revocation = call("token.revoke", account: "acc_1")
    let early = call("token.get")
    answer(revocation, [:])
    answer(early, ["account": "acc_1", "accessToken": "at"])
    #expect(simulator.finding == nil)
    answer(call("token.get"), ["account": "acc_1", "accessToken": "at"])
    #expect(found("which was revoked before the call"))
  }

  @Test("a token for another audience than the call names violates a property")
  func audience() {
    issue("at", resource: "https%3A%2F%2Ffiles.example.com")
    let files = "https://files.example.com"
    answer(call("token.get", audience: files), ["account": "acc_1", "accessToken": "at"])
    #expect(simulator.finding == nil)
    answer(call("token.get"), ["account": "acc_1", "accessToken": "at"])
    #expect(found("asked for a token for no audience and received one for https://files"))
  }

  @Test("an older token of one audience may be handed out after a newer one of another audience")
  func audiencesApart() {
    issue("old")
    issue("new", resource: "files")
    answer(call("token.get", audience: "files"), ["account": "acc_1", "accessToken": "new"])
    answer(call("token.get"), ["account": "acc_1", "accessToken": "old"])
    #expect(simulator.finding == nil)
  }

  @Test("an ID token of another user, an ended one and an unknown one each violate a property")
  func idTokens() {
    for (uid, wait, token, text) in [
      (1002, 0, Self.idToken, "of 1002 received a token of user1001-1"),
      (1001, 100, Self.idToken, "ms before the call"),
      (1001, 0, "e30.e30.x", "an ID token that no provider issued"),
    ] as [(UInt32, Int, String, String)] {
      let tests = AnswerChecksTests()
      tests.issue("at")
      tests.answer(tests.call("token.get"), ["account": "acc_1", "idToken": .string(Self.idToken)])
      #expect(tests.simulator.finding == nil)
      tests.pass(wait)
      tests.answer(tests.call("token.get", uid), ["account": "acc_1", "idToken": .string(token)])
      #expect(tests.found(text))
    }
  }

  @Test("a token of the client itself, and its account, may belong to any user")
  func clientToken() {
    checks.provided.record("at", owner: nil)
    checks.provided.record(ServiceWorkload.clientID, owner: nil)
    let account: JSONValue = [
      "id": "acc_1", "provider": "service", "subject": .string(ServiceWorkload.clientID),
    ]
    answer(call("account.list", 1002), ["accounts": [account]])
    answer(call("token.get", 1002), ["account": "acc_1", "accessToken": "at"])
    #expect(simulator.finding == nil)
  }

  @Test("success for an account or a flow of another user violates a property", arguments: [0, 1])
  func foreignObject(kind: Int) {
    answer(call("account.list"), list(["acc_1"]))
    answer(call("flow.start"), ["flow": ["id": "flw_1", "revision": 1, "status": "active"]])
    if kind == 0 {
      answer(call("account.get", 1002, account: "acc_1"), [:])
    } else {
      answer(call("flow.cancel", 1002, flow: "flw_1"), [:])
    }
    #expect(found("succeeded for an object of another user"))
  }

  @Test("a list without a stored account, or with a forgotten one, violates a property")
  func accounts() {
    answer(call("account.list"), list(["acc_1"]))
    answer(call("account.list"), list([]))
    #expect(found("the account was lost"))
  }

  @Test("a list with a forgotten account violates a property")
  func forgotten() {
    answer(call("account.list"), list(["acc_1"]))
    answer(call("account.forget", account: "acc_1"), [:])
    answer(call("account.list"), list(["acc_1"]))
    #expect(found("which was forgotten before"))
  }

  @Test("an account is still missed after a refused deletion, but not after one whose end is open")
  func refusedDeletion() {
    answer(call("account.list"), list(["acc_1"]))
    let first = call("account.forget", account: "acc_1")
    let second = call("account.forget", account: "acc_1")
    refuse(first, "rate_limited")
    answer(call("account.list"), list([]))
    #expect(simulator.finding == nil)
    refuse(second, "locked")
    answer(call("account.list"), list([]))
    #expect(found("the account was lost"))
  }

  @Test("the end of a sign-in is asked for by calls that are open or were answered since a time")
  func ends() {
    let acknowledged = checks.acknowledged
    let asked = { [simulator] in
      acknowledged.wasEndAskedFor("user1001-1", since: simulator.now - 5_000_000_000)
    }
    answer(call("account.list"), list(["acc_1"]))
    pass(10)
    #expect(!asked())
    let revocation = call("token.revoke", account: "acc_1")
    pass(10)
    #expect(asked())
    answer(revocation, [:])
    #expect(asked())
    pass(10)
    #expect(!asked())
    _ = call("token.revoke", 1002, account: "acc_1")
    #expect(!asked(), "another user's call ends nothing")
  }

  @Test("a flow that failed because its state was not stored violates a property")
  func notStored() {
    answer(
      call("flow.get", flow: "flw_1"),
      [
        "flow": [
          "id": "flw_1", "revision": 2, "status": "failed",
          "failure": ["reason": "denied", "title": "Not stored"],
        ]
      ])
    #expect(found("a state of it was not stored"))
  }

  @Test(
    "a flow that is lost, goes back or changes its end violates a property",
    arguments: [
      (["id": "flw_1", "revision": 2, "status": "active"], "went back"),
      (["id": "flw_1", "revision": 3, "status": "failed"], "was succeeded and is failed"),
      (nil, "it was lost"),
    ] as [(JSONValue?, String)])
  func flows(later: JSONValue?, finding: String) {
    let first: JSONValue = ["id": "flw_1", "revision": 3, "status": "succeeded"]
    answer(call("flow.get", flow: "flw_1"), ["flow": first])
    let second = call("flow.get", flow: "flw_1")
    if let later { answer(second, ["flow": later]) } else { refuse(second, "not_found") }
    #expect(found(finding))
  }

  @Test("success while the daemon is locked, or `locked` while it is not, violates a property")
  func locks() {
    checks.access.isLocked.become(true, at: simulator.now)
    refuse(call("account.list"), "locked")
    answer(call("system.status"), ["locked": true])
    let early = call("account.list")
    checks.access.isLocked.become(false, at: simulator.now)
    refuse(early, "locked")
    #expect(simulator.finding == nil)
    refuse(call("account.list"), "locked")
    #expect(found("refused although nothing is locked"))
  }

  @Test("the late answer to a lock proves nothing if the daemon was asked to unlock since")
  func lateLock() {
    let lock = checks.access.isLocked.change()
    _ = checks.access.isLocked.change()
    checks.access.isLocked.become(true, at: simulator.now, by: lock)
    answer(call("account.list"), list([]))
    #expect(simulator.finding == nil)
    checks.access.isLocked.become(true, at: simulator.now, by: checks.access.isLocked.change())
    answer(call("account.list"), list([]))
    #expect(found("although the daemon is locked"))
  }

  @Test("a token that the rules deny violates a property, also after a reload in between")
  func rules() {
    issue("at")
    let early = call("token.get")
    checks.access.denied.become([1001], at: simulator.now)
    answer(early, ["account": "acc_1", "accessToken": "at"])
    refuse(call("token.get"), "permission_denied")
    #expect(simulator.finding == nil)
    answer(call("token.get"), ["account": "acc_1", "accessToken": "at"])
    #expect(found("that the rules deny"))
  }

  @Test("an internal error violates a property")
  func internalError() {
    refuse(call("account.list"), "internal_error")
    #expect(found("failed with an internal error"))
  }
}
