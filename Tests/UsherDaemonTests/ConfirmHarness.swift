import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

/// A confirmation service on a real store, with a fake clock and timers.
final class ConfirmHarness: Sendable {
  static let passcode = Secret("till-4711")

  let harness: FlowHarness
  let service: ConfirmationService
  /// A program whose rule requires confirmation.
  let kiosk: Caller
  let admin: Caller
  private let heard = Recorded<EventBus.Entry>()

  var clock: FakeClock { harness.clock }

  init(_ limits: Limits = Limits()) throws {
    var config = Config()
    config.limits = limits
    harness = try FlowHarness(config: config)
    service = Self.service(harness)
    kiosk = try .client("kiosk", unit: "kiosk.service")
    admin = try .program(of: Owner(realm: "host", uid: 0), isAdmin: true)
    _ = harness.events.listen(since: nil) { [heard] in heard.add($0) }
  }

  private static func service(_ harness: FlowHarness) -> ConfirmationService {
    ConfirmationService(accounts: harness.repository, localAuth: harness.localAuth)
  }

  /// Returns the confirmation service of a restarted daemon.
  func restarted() throws -> ConfirmationService {
    let service = Self.service(harness)
    try service.restore()
    return service
  }

  /// The events, such as `asked cnf_…`, in the order in which they were published.
  var told: [String] {
    entries.map { "\($0.event.what) \($0.event.confirmation ?? .init(""))" }
  }

  var entries: [EventBus.Entry] { heard.all }

  /// Checks a call of a caller whose rule requires confirmation.
  func check(
    _ request: PolicyRequest, _ caller: Caller, at service: ConfirmationService? = nil
  ) throws(UsherError) {
    var permit = Permit(rule: caller.client)
    permit.needsConfirmation = true
    try (service ?? self.service).check(permit, request, of: caller)
  }

  func check(_ caller: Caller) throws(UsherError) { try check(.token, caller) }

  /// Returns the reason of the refusal, or `nil` if the call is allowed.
  func refusal(
    _ request: PolicyRequest, _ caller: Caller, at service: ConfirmationService? = nil
  ) -> UsherError.Reason? {
    do throws(UsherError) {
      try check(request, caller, at: service)
      return nil
    } catch {
      return error.reason
    }
  }

  func refusal(_ caller: Caller, at service: ConfirmationService? = nil) -> UsherError.Reason? {
    refusal(.token, caller, at: service)
  }

  /// Returns the question that a call must wait for.
  func question(
    _ request: PolicyRequest, _ caller: Caller, at service: ConfirmationService? = nil
  ) throws -> ConfirmationID {
    let error = #expect(throws: UsherError.self) { try check(request, caller, at: service) }
    #expect(error?.reason == .interactionRequired)
    return try #require(error?.detail.confirmation)
  }

  func question(_ caller: Caller, at service: ConfirmationService? = nil) throws -> ConfirmationID {
    try question(.token, caller, at: service)
  }

  func answer(
    _ id: ConfirmationID, _ allow: Bool = true, _ remember: Remember? = nil, by caller: Caller,
    at service: ConfirmationService? = nil
  ) async throws(UsherError) {
    _ = try await (service ?? self.service).answer(
      ConfirmAnswer(confirmation: id, allow: allow, remember: remember), caller)
  }

  /// Returns the reason for which an answer is refused, or `nil` if it is accepted.
  func objection(
    _ id: ConfirmationID, by caller: Caller, _ remember: Remember? = nil
  ) async -> UsherError.Reason? {
    await thrown { try await answer(id, true, remember, by: caller) }?.reason
  }

  func forget(
    _ id: ConfirmationID, by caller: Caller
  ) async throws(UsherError) {
    _ = try await service.forget(ConfirmForget(answer: id), caller)
  }

  /// Authenticates the owner locally, by passcode, for a flow of the client.
  func prove(_ owner: Owner = .anna, to client: String) async throws {
    let person = LocalPerson(realm: owner.realm, uid: owner.uid)
    _ = try await harness.localAuth.setPasscode(
      Self.passcode, old: nil, isReset: true, of: person)
    #expect(await harness.localAuth.check(Self.passcode, of: person, for: client) == .accepted)
  }
}

extension PolicyRequest {
  static let token = PolicyRequest(method: "token.get", provider: "work")
}

extension Caller {
  /// Creates a caller that is matched by a rule with the given name.
  /// - Parameter confirms: The clients whose questions the rule may answer.
  static func client(
    _ name: String, of owner: Owner = .anna, confirms: [String] = [], allow: [String] = ["*"],
    unit: String? = nil
  ) throws -> Caller {
    var rule = ClientRule(
      name: name, match: ClientMatch(user: .id(owner.uid)),
      allow: try allow.map { try AccessPattern(setting: $0) })
    rule.confirms = confirms
    return Caller(
      owner: owner,
      policy: try Policy.of([rule]).caller(CallerIdentity(uid: owner.uid, gid: owner.uid)),
      isAdmin: false, label: name,
      audited: AuditedCaller(
        client: name, uid: owner.uid, gid: owner.uid, pid: 7, unit: unit,
        executable: "/usr/bin/\(name)"))
  }
}
