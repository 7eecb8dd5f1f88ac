import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

/// Generates random events, and random replies of the members and values that GoPay's replies have.
private struct Nonsense {
  var json: NonsenseJSON

  init(seed: UInt64) {
    json = NonsenseJSON(
      dice: SeededGenerator(seed: seed),
      names: [
        "success", "data", "errors", "code", "cause", "entity", "authCode", "token", "url",
        "submissionId", "status", "result", "error", "message", "responseCode", "accessTokenInfo",
        "accessToken", "userCorrelationId", "reason", "expiresAt", "reasonCode",
      ],
      texts: [
        "sub-1", "sub-2", "CREATED", "SUBMITTED", "FAILED", "COMPLETED", "VALID", "CAMERA", "ODD",
        "corr-5678", "corr-1", "https://onekyc.example.com/x", "javascript:x", "2000700",
        "4090700", "5000701", "9999-12-31T23:59:59Z", "", "\u{0}\u{1B}[2J", "a b",
      ],
      integers: [.min, -1, 0, 1, 900, 1401, 1519, 1539, 1601, .max])
  }

  mutating func outcome() -> CallOutcome {
    switch Int.random(in: 0..<12, using: &json.dice) {
    case 0: return .unreachable(message: "gone", sent: .random(using: &json.dice))
    case 1: return .unreadable(message: "x")
    case 2: return .reply(reply(text: "{", status: status()))
    case 3, 4, 5, 6: return .reply(reply(plausible()))
    default:
      let headers = ["retry-after": "5"]
      return .reply(
        reply(json.value(), status: status(), headers: .random(using: &json.dice) ? headers : [:]))
    }
  }

  /// Returns a reply that the flow sometimes accepts as a success.
  private mutating func plausible() -> JSONValue {
    var data = json.value()
    data["authCode"] = "code-secret"
    data["token"] = "capture-secret"
    data["submissionId"] = "sub-1"
    if .random(using: &json.dice) { data["url"] = "https://onekyc.example.com/x" }
    if .random(using: &json.dice) { data["status"] = "CREATED" }
    return [
      "success": true, "data": data, "userCorrelationId": "corr-5678", "responseCode": "2000700",
      "accessTokenInfo": ["accessToken": "bound-secret"],
    ]
  }

  private mutating func status() -> Int {
    json.any(of: [200, 200, 200, 201, 204, 302, 400, 401, 403, 404, 409, 429, 500, 503])
  }

  mutating func event(_ pending: GoPayCall?) -> FlowEvent<GoPayCall> {
    switch Int.random(in: 0..<12, using: &json.dice) {
    case 0, 1: return .woken
    case 2: return .resumed
    case 3: return .input(.exchanged(["userCorrelationId": Secret(json.any(of: json.texts))]))
    case 4: return .input(.redirect(url: Secret(json.any(of: json.texts))))
    case 5: return .listening(redirectURI: DrivenIdentity.redirectURI)
    case 6: return .redirected(AuthorizationResponse(code: Secret("code-secret")))
    case 7:
      return .calledBack(
        ProviderCallback(
          requestID: "req-1", authorization: Secret("linking-secret"),
          isAuthenticated: .random(using: &json.dice), members: json.value().objectValue ?? [:]))
    default: return pending.map { .called($0, outcome()) } ?? .woken
    }
  }
}

@Suite("GoPay verify under random events and replies")
struct IdentityFuzzTests {
  /// Drives a flow with random events until it ends, and checks its invariants after every step.
  /// Returns the number of steps, at most 40.
  private func drive(_ driven: DrivenIdentity, seed: UInt64) throws -> Int {
    var driven = driven
    var nonsense = Nonsense(seed: seed)
    for step in 1...40 {
      let before = driven.flow
      driven.clock = driven.clock + .seconds(Int(nonsense.json.dice.next() % 10))
      switch driven.receive(nonsense.event(driven.pending)) {
      case .finish(let completion):
        #expect(completion.grant?.subject == "corr-5678")
        #expect(completion.result["submissionId"] == "sub-1")
        return step
      case .fail(let failure, cleanUp: _):
        #expect(!failure.title.isEmpty && !failure.message.isEmpty)
        #expect(failure.provider?.code.hasPrefix("GPE-22") == true)
        check(failure.message)
        return step
      case .refuse, .ignore: #expect(driven.flow == before)
      case .proceed:
        #expect(try storedAndRead(driven.flow) == driven.flow)
        check(driven.problem?.message ?? "")
      }
    }
    return 40
  }

  private func check(_ text: String) {
    #expect(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
    #expect(!text.contains("-secret"))
  }

  @Test("GoPay verify keeps its invariants under random events", arguments: 0..<12 as Range<UInt64>)
  func nonsense(seed: UInt64) throws {
    var steps = 0
    for round in 0..<6 as Range<UInt64> {
      let seed = seed << 8 | round
      steps += try drive(try DrivenIdentity(), seed: seed)
      steps += try drive(try DrivenIdentity(token: "linking-secret"), seed: seed)
      for exchange in GoPayExchange.allCases {
        let provider = try gopay(exchange)
        var exchanging = try DrivenIdentity(token: "linking-secret", provider: provider)
        exchanging.toExchange()
        steps += try drive(exchanging, seed: seed)
      }
      var capturing = try DrivenIdentity(.none, token: "linking-secret")
      steps += try drive(capturing, seed: seed)
      capturing.toPage()
      steps += try drive(capturing, seed: seed)
    }
    #expect(steps < 42 * 40)
  }
}
