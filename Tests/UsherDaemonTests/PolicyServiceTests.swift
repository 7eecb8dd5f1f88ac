import Dispatch
import JSONRPC
import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

@Suite("policy.check and policy.list", .timeLimit(.minutes(10)))
struct PolicyServiceTests {
  private let clock = FakeClock()
  private let scheduler: FakeScheduler

  init() { scheduler = FakeScheduler(clock) }

  /// - Parameter hours: The hours of the only rule, which is for uid 1000.
  private func service(hours: String? = nil, names: PrincipalResolver? = nil) throws
    -> PolicyService
  {
    var rule = ClientRule(
      name: "till", match: ClientMatch(user: .id(1000)),
      allow: [try AccessPattern(setting: "token.get work")])
    rule.hours = try hours.map { (text) throws(UsherConfig.SettingError) in
      [try OpeningHours(setting: text)]
    }
    return try service(of: rule, names: names)
  }

  private func service(
    of rule: ClientRule, names: PrincipalResolver? = nil
  ) throws -> PolicyService {
    var config = Config()
    config.providers = [try .sample()]
    config.clients = [rule]
    let names = names ?? PrincipalResolver(user: { _ in nil }, group: { _ in nil })
    return PolicyService(
      dependencies: Dependencies(
        configStore: ConfigStore(config, try Policy(config, daemonUser: 990, names: names)),
        clock: clock, entropy: FixedEntropy(), scheduler: scheduler,
        users: UserDatabase(user: { _ in .nameless }, principals: names), processors: 2,
        log: .silent))
  }

  @Test("policy.check without a time uses the machine's present local time")
  func now() async throws {
    let moment = WeekMinute(clock.now(), by: clock)
    let next = WeekMinute(weekday: 0, minute: moment.minute + 1)
    let hours = "\(moment.settingText)-\(next.settingText.suffix(5))"
    let service = try service(hours: hours)
    let check = PolicyCheck(user: "1000", method: "token.get", provider: .work)
    #expect(try await service.check(check).allowed)
    clock.advance(by: .seconds(60))
    let late = try await service.check(check)
    #expect(!late.allowed)
    #expect(late.retryAfterMs == (7 * 1440 - 1) * 60_000)
    var then = check
    then.at = moment.settingText
    #expect(try await service.check(then).allowed)
  }

  @Test(
    "policy.check decides about a start as flow.start does, also about what the call leaves out",
    arguments: [
      ("clientCredentials", nil, nil, false), ("clientCredentials", "a", nil, true),
      ("clientCredentials", "a b", nil, false), ("jwtBearer", nil, "robot", false),
      ("jwtBearer", "a", "robot", true), ("jwtBearer", "a", "ada", false),
      ("jwtBearer", "a", nil, false), ("authorize", nil, nil, true), ("authorize", "b", nil, true),
    ] as [(String, String?, String?, Bool)])
  func start(kind: String, scope: String?, subject: String?, isAllowed: Bool) async throws {
    var rule = ClientRule(
      name: "till", match: ClientMatch(user: .id(1000)),
      allow: [try AccessPattern(setting: "flow.start work")])
    rule.scopes = ["a"]
    if kind == "jwtBearer" { rule.accounts = [try AccountSelector(setting: "subject:robot")] }
    let service = try service(of: rule)
    let check = PolicyCheck(
      user: "1000", method: "flow.start", provider: .work, kind: kind, subject: subject,
      scope: scope)
    #expect(try await service.check(check).allowed == isAllowed)
  }

  @Test("policy.check decides about the audience of a sign-in, if the question names one")
  func audience() async throws {
    var rule = ClientRule(
      name: "till", match: ClientMatch(user: .id(1000)),
      allow: [try AccessPattern(setting: "flow.start work")])
    rule.audiences = ["https://a.example"]
    let service = try service(of: rule)
    for (audience, isAllowed) in [
      ("https://a.example", true), ("https://b.example", false), (nil, true),
    ] as [(String?, Bool)] {
      let check = PolicyCheck(
        user: "1000", method: "flow.start", provider: .work, kind: "authorize", audience: audience)
      #expect(try await service.check(check).allowed == isAllowed, "\(audience ?? "none")")
    }
  }

  @Test("policy.check resolves user names and, for a user alone, the user's groups")
  func names() async throws {
    let names = PrincipalResolver(
      user: { $0 == "anna" ? 1000 : nil }, group: { $0 == "usher" ? 50 : nil },
      groups: { $0 == 1001 ? [100, 50] : [] })
    let service = try service(names: names)
    let anna = try await service.check(
      PolicyCheck(user: "anna", method: "token.get", provider: .work))
    #expect(anna.rule == "till" && anna.allowed)
    let member = try await service.check(PolicyCheck(user: "1001", method: "account.list"))
    #expect(member.rule == "(members of usher)" && member.allowed)
    do throws(UsherError) {
      _ = try await service.check(PolicyCheck(user: "bert", method: "token.get"))
      Issue.record("the unknown user bert was resolved")
    } catch {
      #expect(error.reason == .invalidParams)
      #expect(error.detail.field == "user")
    }
  }

  @Test("policy.check fails as overloaded after 5 s while the user database hangs")
  func hanging() async throws {
    let hold = DispatchSemaphore(value: 0)
    defer { hold.signal() }
    let names = PrincipalResolver(
      user: { name in
        if name == "anna" { hold.wait() }
        return nil
      }, group: { _ in nil })
    let service = try service(names: names)
    let refused = Task {
      await thrown { try await service.check(PolicyCheck(user: "anna", method: "token.get")) }
    }
    try await scheduler.isSet(.seconds(5))
    scheduler.advance(by: .seconds(5))
    let error = await refused.value
    #expect(error?.reason == .overloaded && error?.message == UserLookups.noAnswer.message)
    #expect(error?.isRetryable == true && error?.detail.retryAfterMs == 2000)
    let other = PolicyCheck(user: "1000", method: "token.get", provider: .work)
    #expect(try await service.check(other).allowed)
  }

  @Test("policy.check is refused at once while eight look-ups hang in the user database")
  func manyHanging() async throws {
    let hold = DispatchSemaphore(value: 0)
    let started = Mutex(0)
    let names = PrincipalResolver(
      user: { _ in
        started.withLock { $0 += 1 }
        hold.wait()
        return nil
      }, group: { _ in nil })
    let service = try service(names: names)
    let check = PolicyCheck(user: "anna", method: "token.get")
    let hanging = (1...8).map { _ in Task { await thrown { try await service.check(check) } } }
    try await reached("eight lookups have begun") {
      started.withLock { $0 } == 8 && scheduler.pending.count == 8
    }
    scheduler.advance(by: .seconds(5))
    for task in hanging { #expect(await task.value?.reason == .overloaded) }
    let ninth = Mutex<UsherError?>(nil)
    let task = Task {
      let error = await thrown { try await service.check(check) }
      ninth.withLock { $0 = error }
    }
    try await reached("the call is answered, or a ninth lookup has begun") {
      started.withLock { $0 } == 9 || ninth.withLock { $0 } != nil
    }
    #expect(started.withLock { $0 } == 8)
    #expect(ninth.withLock { $0 }?.message == UserLookups.noAnswer.message)
    for _ in 1...9 { hold.signal() }
    await task.value
    // The eight threads are free again.
    let other = PolicyCheck(user: "1000", method: "token.get", provider: .work)
    try await reached("a thread is free") { (try? await service.check(other).allowed) == true }
  }

  @Test("policy.list shows the rules that policy.check uses")
  func list() throws {
    let list = try service(hours: "Mon 08:00-09:00").list()
    #expect(list.rules.map(\.name) == ["till"])
    #expect(
      list.rules.first?.settings == [
        "match": ["user": "1000"], "allow": ["token.get work"], "hours": ["Mon 08:00-09:00"],
      ])
  }

  @Test("the system resolver knows root's uid, gid and groups")
  func system() {
    #expect(PrincipalResolver.system.user("root") == 0)
    #expect(PrincipalResolver.system.group("root") == 0)
    #expect(PrincipalResolver.system.groups(0).contains(0))
  }
}
