import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@testable import UsherDaemon

@Suite("Aggregation of calls into audit rows")
struct AuditAggregatorTests {
  /// 2027-01-15T08:00:00Z: the start of a minute.
  private let start = FakeClock().now()
  private var aggregator = AuditAggregator()

  private mutating func record(
    _ event: AuditEvent, by caller: AuditedCaller = .till, after seconds: Int = 0
  ) {
    aggregator.record(event, by: caller, at: start + .seconds(seconds))
  }

  private var rows: [String] {
    aggregator.waiting.map {
      "\($0.event.method) \($0.event.failure?.rawValue ?? "ok") ×\($0.count)"
    }
  }

  @Test(
    "the first call of a minute is an audit row at once, and its repeats become one row afterwards")
  mutating func repeats() {
    for second in [1, 2, 30, 59] { record(.token(), after: second) }
    #expect(rows == ["token.get ok ×1"])
    #expect(aggregator.isCounting)
    aggregator.advance(to: start + .seconds(59))
    #expect(rows.count == 1)
    aggregator.advance(to: start + .seconds(60))
    #expect(rows == ["token.get ok ×1", "token.get ok ×3"])
    #expect(aggregator.waiting.map(\.at) == [start + .seconds(1), start + .seconds(59)])
    #expect(!aggregator.isCounting)
    record(.token(), after: 61)
    #expect(rows.count == 3)
    aggregator.advance(to: start + .seconds(200))
    #expect(rows.count == 3)
  }

  @Test(
    "a call in the next minute ends the running audit count, and so does a clock that is set back")
  mutating func turning() {
    record(.token())
    record(.token(), after: 1)
    record(.token(), after: 61)
    #expect(rows == ["token.get ok ×1", "token.get ok ×1", "token.get ok ×1"])
    record(.token(), after: 62)
    record(.token(), after: -600)
    #expect(rows.count == 5)
  }

  @Test("calls that differ in an audited member other than flow and correlation are counted apart")
  mutating func apart() {
    var other = AuditedCaller.till
    record(.token())
    record(.token(account: "acc_2"))
    record(.token(scope: "email"))
    record(.token(rule: "kiosk"))
    record(.token(method: "totp.code"))
    record(.token(fields: ["phone"]))
    record(.token(conditions: .localAuth))
    other = AuditedCaller(client: "till", uid: 1000, gid: 1000, pid: 8, unit: "till.service")
    record(.token(), by: other)
    other = AuditedCaller(client: "till", uid: 1000, gid: 1000, pid: 7)
    record(.token(), by: other)
    #expect(aggregator.waiting.count == 9)
    record(.token())
    record(.token(), by: other)
    #expect(aggregator.waiting.count == 9)
    aggregator.close()
    #expect(aggregator.waiting.count == 11)
  }

  @Test("calls that differ only in flow and correlation id are counted together")
  mutating func alike() {
    record(.token())
    var second = AuditEvent.token()
    second.correlationID = "cor_2"
    second.flow = FlowID("flw_2")
    record(second, by: AuditedCaller.till)
    aggregator.close()
    #expect(rows == ["token.get ok ×1", "token.get ok ×1"])
    #expect(aggregator.waiting.last?.event == second)
  }

  @Test(
    "the audit log counts a repeated call within its minute, whichever other calls come between")
  mutating func again() throws {
    var call = try #require(AuditRepeat(.token(), by: .till))
    var other = try #require(AuditRepeat(.token(account: "acc_2"), by: .till))
    record(.token())
    #expect(aggregator.recordRepeat(&call, at: start + .seconds(1)) == .counted)
    #expect(aggregator.recordRepeat(&other, at: start + .seconds(2)) == .written)
    #expect(aggregator.recordRepeat(&call, at: start + .seconds(3)) == .counted)
    record(.token(), after: 4)
    #expect(aggregator.recordRepeat(&other, at: start + .seconds(5)) == .counted)
    #expect(aggregator.recordRepeat(&call, at: start + .seconds(60)) == .written)
    #expect(
      aggregator.waiting.map(\.count) == [1, 1, 3, 1, 1]
        && aggregator.waiting.map(\.event.account?.rawValue)
          == ["acc_1", "acc_2", "acc_1", "acc_2", "acc_1"]
    )
    #expect(aggregator.waiting[2].at == start + .seconds(4))
    #expect(aggregator.recordRepeat(&other, at: start + .seconds(61)) == .written)
    #expect(aggregator.recordRepeat(&call, at: start + .seconds(1)) == .written)
    #expect(aggregator.waiting.count == 7)
  }

  @Test("failed calls, denied calls and token.revoke have no repeat counter")
  func notAgain() {
    #expect(AuditRepeat(.token(failure: .interactionRequired), by: .till) == nil)
    #expect(AuditRepeat(.token(method: "token.revoke"), by: .till) == nil)
    #expect(AuditRepeat(.denied("token.get"), by: .till) == nil)
  }

  @Test("denied calls, failed calls, token.revoke and flow.start are an audit row each time")
  mutating func singles() {
    for _ in 0..<2 {
      record(.token(failure: .interactionRequired))
      record(.denied("flow.list"))
      record(.token(method: "token.revoke"))
      record(.token(method: "flow.start"))
    }
    #expect(aggregator.waiting.count == 8)
    #expect(!aggregator.isCounting)
  }

  @Test("beyond 60 denials of one user in a minute, one row per method gives the count of the rest")
  mutating func flood() {
    for _ in 0..<60 { record(.denied("flow.list")) }
    for second in 0..<5 { record(.denied("flow.list"), after: second) }
    record(.denied("token.get"), after: 9)
    record(.denied("flow.list"), by: .bert)
    #expect(aggregator.waiting.count == 61)
    aggregator.advance(to: start + .seconds(60))
    #expect(aggregator.waiting.count == 63)
    #expect(rows.suffix(2) == ["flow.list permission_denied ×5", "token.get permission_denied ×1"])
    #expect(aggregator.waiting[61].at == start + .seconds(4))
    record(.denied("flow.list"), after: 61)
    #expect(rows.last == "flow.list permission_denied ×1")
    #expect(aggregator.waiting.count == 64)
  }

  @Test(
    "failed calls share the limit of 60 audited denials a minute; successful calls have one of 600")
  mutating func failures() {
    for _ in 0..<100 { record(.token(method: "flow.start", failure: .invalidParams)) }
    for _ in 0..<601 { record(.token(method: "flow.start")) }
    #expect(aggregator.waiting.count == 660)
    #expect(aggregator.unwritten == 662)
    aggregator.close()
    #expect(Set(rows.suffix(2)) == ["flow.start invalid_params ×40", "flow.start ok ×1"])
    #expect(aggregator.unwritten == 662)
  }

  @Test("a flood of denials does not suppress the audit row of the same user's token.get")
  mutating func floodAndReading() {
    for _ in 0..<700 { record(.denied("flow.list")) }
    record(.token())
    #expect(rows.last == "token.get ok ×1")
  }

  @Test("a full audit aggregator refuses repeats, and counts denials until there is room again")
  mutating func full() throws {
    for user in 0..<70 {
      let caller = AuditedCaller(client: "(user)", uid: UInt32(user), gid: 0, pid: 1)
      for _ in 0..<60 { record(.denied("flow.list"), by: caller) }
    }
    #expect(aggregator.isFull)
    #expect(aggregator.waiting.count == AuditAggregator.maxWaiting)
    var call = try #require(AuditRepeat(.token(), by: .till))
    #expect(aggregator.recordRepeat(&call, at: start) == .refused)
    aggregator.advance(to: start + .seconds(600))
    #expect(aggregator.waiting.count == AuditAggregator.maxWaiting)
    aggregator.drop(AuditAggregator.maxWaiting)
    #expect(!aggregator.isFull)
    aggregator.advance(to: start + .seconds(660))
    #expect(rows.count == 2)
    #expect(aggregator.waiting.map(\.count).reduce(0, +) == 4200 - AuditAggregator.maxWaiting)
  }

  @Test(
    "calls of 5000 processes end the minute of the audit count early, and every call is recorded")
  mutating func manyKeys() {
    var recorded = 0
    for pid in 0..<5000 {
      let caller = AuditedCaller(client: "(user)", uid: 5, gid: 5, pid: Int32(pid))
      for _ in 0..<2 { record(.token(), by: caller) }
      if aggregator.isFull { recorded += drop() }
    }
    #expect(recorded > 5000)
    aggregator.close()
    recorded += drop()
    #expect(recorded == 10_000)
    #expect(!aggregator.isCounting)
  }

  /// - Returns: The number of calls in the dropped rows.
  private mutating func drop() -> Int {
    let calls = aggregator.waiting.map(\.count).reduce(0, +)
    aggregator.drop(aggregator.waiting.count)
    return calls
  }

  @Test("texts in an audit row are cut to 512 bytes")
  mutating func long() {
    let text = String(repeating: "x", count: 1_000_000)
    var event = AuditEvent.denied("flow.start")
    event.provider = ProviderName(text)
    event.kind = text
    event.account = AccountID(text)
    event.scope = text
    self.record(event)
    let kept = aggregator.waiting[0].event
    #expect(kept.provider?.rawValue.utf8.count == 512)
    #expect(kept.kind?.utf8.count == 512)
    #expect(kept.account?.rawValue.utf8.count == 512)
    #expect(kept.scope?.utf8.count == 512)
    #expect(kept.method == "flow.start")
  }

  @Test(
    "a method's traits say whether its allowed calls are audited",
    arguments: [
      ("token.get", true), ("token.revoke", true), ("totp.code", true), ("account.get", true),
      ("account.list", true), ("account.forget", true), ("flow.start", true),
      ("registration.checkDuplicate", true), ("registration.checkUserKey", true),
      ("consent.revoke", true), ("client.clear", true), ("confirm.answer", true),
      ("localAuth.setPasscode", true), ("credential.set", true), ("credential.delete", true),
      ("system.lock", true), ("system.unlock", true), ("flow.list", false), ("token.list", false),
      ("system.status", false), ("consent.list", false), ("audit.list", false),
    ])
  func recorded(_ method: String, isRecorded: Bool) {
    #expect((Methods.traits(of: method).audit != .denials) == isRecorded)
  }
}

extension AuditedCaller {
  static let till = AuditedCaller(
    client: "till", uid: 1000, gid: 1000, pid: 7, unit: "till.service")
  static let bert = AuditedCaller(client: "(user)", uid: 1001, gid: 1001, pid: 9)
}

extension AuditEvent {
  static func token(
    method: String = "token.get", account: String = "acc_1", scope: String = "openid",
    fields: [String] = [], rule: String = "till", conditions: AuditConditions = [],
    failure: UsherError.Reason? = nil
  ) -> AuditEvent {
    AuditEvent(
      method: method, provider: .work, account: AccountID(account), scope: scope, fields: fields,
      decision: .allowed, rule: rule, conditions: conditions, failure: failure,
      correlationID: failure == nil ? "" : "cor_1")
  }

  static func denied(_ method: String) -> AuditEvent {
    AuditEvent(
      method: method, provider: .work, decision: .denied, rule: "(user)",
      failure: .permissionDenied, correlationID: "cor_1")
  }
}
