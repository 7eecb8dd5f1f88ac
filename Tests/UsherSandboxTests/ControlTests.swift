import Foundation
import Testing

@testable import UsherSandbox

@Suite("Fault rules, request log and settings of the sandbox")
struct ControlTests {
  private func fault(_ change: (inout Fault) -> Void) -> Fault {
    var fault = Fault()
    change(&fault)
    return fault
  }

  @Test(
    "a fault rule skips its first requests, applies as often as configured, and is then removed")
  func timesAndAfter() {
    var table = FaultTable()
    let broken = fault { $0.status = 500 }
    let id = table.add(FaultRule(endpoint: "token", fault: broken, times: 2, after: 1))
    let struck = (0..<4).map { _ in table.nextFault("token", grantType: nil)?.id }
    #expect(struck == [nil, id, id, nil])
    #expect(table.entries.isEmpty)
  }

  @Test("a fault rule applies only to its endpoint and grant type, until it is deleted")
  func matching() {
    var table = FaultTable()
    let broken = fault { $0.reset = true }
    let id = table.add(FaultRule(endpoint: "token", grantType: "refresh_token", fault: broken))
    #expect(table.nextFault("jwks", grantType: nil) == nil)
    #expect(table.nextFault("token", grantType: "authorization_code") == nil)
    for _ in 0..<5 { #expect(table.nextFault("token", grantType: "refresh_token")?.id == id) }
    let removed = [table.remove(id ?? ""), table.remove(id ?? "")]
    #expect(removed == [true, false])
    #expect(table.nextFault("token", grantType: "refresh_token") == nil)
  }

  @Test("exchanges are recorded with their secrets, after the recording was started only")
  func exchanges() async {
    let traffic = Traffic(clock: SandboxClock())
    let endpoint = Endpoint("token", .post, "/token") { _ in
      .redirect(to: "http://a.example/?code=c")
    }
    var call = EndpointCall(.post, "/token", base: "http://127.0.0.1:1")
    call.headers = ["authorization": "Bearer at", "dpop": "proof"]
    call.body = Array("code=c".utf8)
    _ = await traffic.handle(call, to: endpoint)
    #expect(await traffic.recordedExchanges().isEmpty)
    await traffic.recordExchanges()
    _ = await traffic.handle(call, to: endpoint)
    let recorded = await traffic.recordedExchanges()
    #expect(recorded.map(\.authorization) == ["Bearer at"] && recorded[0].proof == "proof")
    #expect(recorded[0].body == "code=c" && recorded[0].location == "http://a.example/?code=c")
  }

  @Test("the fault table refuses a rule beyond its limit")
  func bounded() {
    var table = FaultTable()
    let rule = FaultRule(endpoint: "*", fault: fault { $0.status = 500 })
    for _ in 0..<FaultTable.limit { #expect(table.add(rule) != nil) }
    #expect(table.add(rule) == nil)
  }

  @Test(
    "a fault rule with no fault, an unknown member or an invalid value gets invalid_request",
    arguments: [
      #"{}"#, #"{"endpoint":"token"}"#, #"{"endpoint":"token","fault":{}}"#, #"[]"#, #"nope"#,
      #"{"endpoint":"token","fault":{"status":99}}"#,
      #"{"endpoint":"token","fault":{"delayMs":-1}}"#,
      #"{"endpoint":"token","fault":{"hugeBody":1000000000000}}"#,
      #"{"endpoint":"token","fault":{"reset":true},"times":0}"#,
      #"{"endpoint":"token","fault":{"reset":"yes"}}"#,
      #"{"endpoint":"token","fault":{"explode":true}}"#,
      #"{"endpoint":"token","fault":{"headers":{"X Y":"1"}}}"#,
      #"{"endpoint":"token","fault":{"headers":{"X":"1\r\nY: 2"}}}"#,
      #"{"endpoint":"token","fault":{"reset":true},"when":"now"}"#,
    ])
  func refusedRules(_ text: String) {
    #expect(refusal { _ = try FaultRule(checking: Array(text.utf8)) } == "invalid_request")
  }

  @Test("the request log filters by endpoint and grant type and contains no secret of a request")
  func log() throws {
    var log = RequestLog()
    var call = EndpointCall(.post, "/oidc/token", base: "")
    call.query = "code=canary-1"
    call.body = Array(
      "grant_type=refresh_token&client_id=usher&refresh_token=canary-2".utf8)
    call.headers["authorization"] = "canary-3"
    let form = try Form(parsing: call.body)
    let number = log.begin(call, endpoint: "token", form: form, fault: nil, at: start)
    log.finish(number, status: 400, error: "invalid_grant")
    #expect(log.matching(endpoint: "token", grantType: "refresh_token").count == 1)
    #expect(log.matching(endpoint: "jwks", grantType: nil).isEmpty)
    #expect(log.requests.first?.error == "invalid_grant")
    #expect(!"\(log)".contains("canary"))
  }

  @Test("the request log never exceeds its limit and keeps the newest request")
  func logLimit() {
    var log = RequestLog()
    let call = EndpointCall(.get, "/", base: "")
    for _ in 0...RequestLog.limit {
      _ = log.begin(call, endpoint: "index", form: nil, fault: nil, at: start)
    }
    #expect(log.requests.count <= RequestLog.limit)
    #expect(log.requests.last?.number == RequestLog.limit + 1)
  }

  @Test(
    "a setting with an unknown name or an invalid value is refused as invalid_request",
    arguments: [
      ["nope": 1], ["codeSeconds": "x"], ["codeSeconds": -1], ["idToken": ["nope": 1]],
      ["refreshRotation": "sometimes"], ["clockOffsetSeconds": 1_000_000_000_000],
    ] as [[String: JSON]])
  func refusedSettings(_ changes: [String: JSON]) {
    #expect(refusal { _ = try OIDCBackendSettings().changed(by: changes) } == "invalid_request")
  }
}
