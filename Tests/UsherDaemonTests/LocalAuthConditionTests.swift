import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

private let right = Secret("till-4711")

@Suite("Rules with require_local_auth_seconds", .timeLimit(.minutes(10)))
struct LocalAuthConditionTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  private func prove(to client: String?) async throws {
    _ = try await harness.localAuth.setPasscode(right, old: nil, isReset: true, of: .anna)
    #expect(await harness.localAuth.check(right, of: .anna, for: client) == .accepted)
  }

  private func refusal(_ client: String? = "till", of owner: Owner = .anna) throws -> UsherError? {
    let caller = try Caller.program(client, of: owner)
    do throws(UsherError) {
      try harness.localAuth.check(within: 300, of: caller)
      return nil
    } catch {
      return error
    }
  }

  @Test("a call without recent local authentication fails and names the flow that authenticates")
  func next() throws {
    let error = try #require(try refusal())
    #expect(error.reason == .interactionRequired && error.reason.code == 1101)
    #expect(
      error.message == "the person at this machine must have proved presence within the last 5 min")
    let next = try #require(error.detail.next)
    let start = try JSONParams(next)
    #expect(start.provider == "local" && start.kind == "authenticate")
    #expect(start.params.localAuthType == .biometric)
    #expect(start.params.reason == "till asks for access")
    #expect(start.params.usePasscodeWhenFailed == true)
  }

  @Test("a passcode or finger match satisfies the rule for 300 s, to the millisecond")
  func goodFor() async throws {
    try await prove(to: "till")
    #expect(try refusal() == nil)
    harness.clock.advance(by: .seconds(300))
    #expect(try refusal() == nil)
    harness.clock.advance(by: .milliseconds(1))
    #expect(try refusal()?.reason == .interactionRequired)
    async let outcome = harness.localAuth.scan(.anna, for: "till") { _ in }
    try await harness.reader.answer(.success(.match))
    #expect(await outcome == .matched)
    #expect(try refusal() == nil)
  }

  @Test("a local authentication counts only for the client and the user of its flow")
  func whose() async throws {
    try await prove(to: "till")
    for client in ["desk", nil] { #expect(try refusal(client) != nil) }
    #expect(try refusal(of: .bert) != nil)
    try await prove(to: nil)
    #expect(try refusal(nil) != nil)
  }

  @Test("a local authentication later than a clock that was set back does not count")
  func setBack() async throws {
    try await prove(to: "till")
    harness.clock.advance(by: .seconds(-1))
    #expect(try refusal()?.reason == .interactionRequired)
    harness.clock.advance(by: .seconds(1))
    #expect(try refusal() == nil)
  }

  @Test("a clock set back after a local authentication does not extend it")
  func setBackAfter() async throws {
    harness.clock.setBootTime(BootTime(boot: "a", milliseconds: 0))
    try await prove(to: "till")
    // 400 s pass, then the clock is set back by 300 s.
    harness.clock.setBootTime(BootTime(boot: "a", milliseconds: 400_000))
    harness.clock.advance(by: .seconds(100))
    #expect(try refusal()?.reason == .interactionRequired)
  }

  @Test("require_local_auth_seconds applies to token.get and totp.code, not to the admin socket")
  func caller() throws {
    let pattern = try AccessPattern(setting: "*")
    let rule = ClientRule(
      name: "till", match: ClientMatch(user: .id(1000)), allow: [pattern],
      requireLocalAuthSeconds: 60)
    let policy = try Policy.of([rule])
    func caller(_ uid: UInt32, isAdmin: Bool = false) -> Caller {
      Caller(
        owner: Owner(realm: "host", uid: uid),
        policy: policy.caller(CallerIdentity(uid: uid, gid: uid, groups: [50])),
        isAdmin: isAdmin, label: "uid \(uid)")
    }
    func seconds(_ caller: Caller, _ method: String) -> Int? {
      let request = PolicyRequest(method: method, provider: "work")
      guard case .allowed(let permit) = caller.decide(request) else { return -1 }
      return permit.localAuthSeconds
    }
    #expect(seconds(caller(1000), "token.get") == 60)
    #expect(seconds(caller(1000), "totp.code") == 60)
    #expect(seconds(caller(1000), "token.list") == nil)
    #expect(seconds(caller(1000, isAdmin: true), "token.get") == nil)
    #expect(seconds(caller(1001), "token.get") == nil)
  }
}

/// A call that an error names, encoded as for a client and decoded as by the daemon.
private struct JSONParams {
  let provider: String
  let kind: String
  let params: LocalAuthenticate.Params

  init(_ next: UsherError.NextFlow) throws {
    let data = ErrorData(
      UsherError(.interactionRequired, "", detail: .init(next: next)),
      correlationId: CorrelationID("cor_1"))
    let start = try #require(data.next?.params)
    provider = start.provider.rawValue
    kind = start.kind
    params = try StrictDecoding.decode(
      LocalAuthenticate.Params.self, from: start.params,
      schema: StrictDecoding.schema(of: LocalAuthenticate.Params.self))
  }
}
