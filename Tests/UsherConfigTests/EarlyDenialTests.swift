import Testing
import UsherConfig
import UsherTestKit

extension SeededGenerator {
  fileprivate mutating func pick<Element>(_ list: [Element]) -> Element {
    list[Int.random(in: 0..<list.count, using: &self)]
  }
}

@Suite("Denials before a call's parameters are decoded")
struct EarlyDenialTests {
  private static let patterns = [
    "*", "token.get", "token.get work", "token.* home", "flow.start", "flow.start work/login",
    "flow.start */operation GET:/a", "flow.start work/operation *:/b*", "flow.* home", "account.*",
    "system.*", "confirm.*", "flow.submit work", "provider.get work",
  ]
  private static let methods = [
    "token.get", "flow.start", "flow.submit", "flow.wait", "account.list", "account.get",
    "system.lock", "system.status", "confirm.answer", "provider.get", "no.such",
  ]

  private func policy(_ chance: inout SeededGenerator) throws -> Policy {
    let rules = try (0..<Int.random(in: 0...3, using: &chance)).map { number in
      var rule = ClientRule(
        name: "r\(number)", match: ClientMatch(user: .id(1000)),
        allow: try (0..<Int.random(in: 0...3, using: &chance)).map { _ in
          try AccessPattern(setting: chance.pick(Self.patterns))
        })
      if chance.pick([true, false, false]) { rule.accounts = [] }
      if chance.pick([true, false, false]) { rule.scopes = ["openid"] }
      if chance.pick([true, false, false]) { rule.audiences = ["", "a"] }
      if chance.pick([true, false, false]) { rule.confirms = ["other"] }
      return rule
    }
    return try Policy(
      rules: rules, access: .blank, daemonUser: 990,
      names: PrincipalResolver(user: { _ in nil }, group: { _ in 50 }))
  }

  private func request(_ chance: inout SeededGenerator) -> PolicyRequest {
    var request = PolicyRequest(
      method: chance.pick(Self.methods), provider: chance.pick([nil, "work", "home"]),
      kind: chance.pick([nil, "login", "operation"]),
      operation: chance.pick([nil, "GET:/a", "POST:/bc"]))
    request.isUnknown = chance.pick([true, false, false])
    if chance.pick([true, false]) {
      request.account = .init(id: "acc_1", subject: "anna")
    }
    request.scopes = chance.pick([nil, ["openid"], ["email"]])
    request.audiences = chance.pick([nil, [""], ["a"], ["a", "b"]])
    return request
  }

  /// Returns the request without some of its fields, as it is known before decoding.
  private func part(of request: PolicyRequest, _ chance: inout SeededGenerator) -> PolicyRequest {
    var part = PolicyRequest(method: request.method)
    // A request for an unknown object is decided by its method alone.
    guard !request.isUnknown else { return part }
    if chance.pick([true, false]) { part.provider = request.provider }
    if chance.pick([true, false]) { part.kind = request.kind }
    if chance.pick([true, false]) { part.operation = request.operation }
    return part
  }

  @Test("a partial call is denied early only if the same rule denies it in full", arguments: 0..<20)
  func never(seed: UInt64) throws {
    var chance = SeededGenerator(seed: seed)
    var denials = 0
    for _ in 0..<1000 {
      let groups: [UInt32] = chance.pick([[], [50]])
      let caller = try policy(&chance).caller(
        CallerIdentity(uid: chance.pick([1000, 1001]), gid: 1000, groups: groups))
      let request = request(&chance)
      let part = part(of: request, &chance)
      guard let denial = caller.denial(partial: part) else { continue }
      denials += 1
      #expect(caller.decide(request) == .denied(denial), "\(request) by \(part)")
    }
    #expect(denials > 50)
  }

  @Test("a call is denied by its method alone only if no rule or group right can allow that method")
  func method() throws {
    for (rules, groups, method, rule) in [
      ([], [], "token.get", "(no rule)"), (["account.*"], [50], "token.get", "r"),
      ([], [50], "system.lock", "(members of usher)"), ([], [50], "token.get", nil),
      (["token.get home"], [], "token.get", nil), ([], [], "rpc.cancel", nil),
      (["flow.start work"], [], "flow.submit", nil),
    ] as [([String], [UInt32], String, String?)] {
      let rules = try rules.map {
        ClientRule(
          name: "r", match: ClientMatch(user: .id(1000)), allow: [try AccessPattern(setting: $0)])
      }
      let policy = try Policy(
        rules: rules, access: .blank, daemonUser: 990,
        names: PrincipalResolver(user: { _ in nil }, group: { _ in 50 }))
      let caller = policy.caller(CallerIdentity(uid: 1000, gid: 1000, groups: groups))
      #expect(caller.denial(partial: PolicyRequest(method: method))?.rule == rule, "\(method)")
    }
  }
}
