import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

@testable import UsherDaemon

/// A call that the caller may not make is refused by its method's name. Its parameters are not
/// decoded.
@Suite("Permission checks before the decoding of parameters", .timeLimit(.minutes(10)))
struct EarlyRefusalTests {
  /// One daemon for all cases, because each daemon keeps a database and its descriptors open.
  private static let shared = Task { try await LockControllerHarness(holdsTimers: true).begun() }

  private let lockController: LockController
  private let service: RPCService

  init() async throws {
    lockController = try await Self.shared.value
    service = RPCService(lockController)
  }

  /// A caller without groups, and with one rule that allows the patterns, or without a rule for
  /// `nil`.
  private func caller(allow: [String]? = nil) throws -> Caller {
    let owner = Owner(realm: "host", uid: 1234)
    let rules = try allow.map { patterns in
      [
        ClientRule(
          name: "till", match: ClientMatch(user: .id(owner.uid)),
          allow: try patterns.map { try AccessPattern(setting: $0) })
      ]
    }
    return Caller(
      owner: owner,
      policy: try Policy.of(rules ?? []).caller(
        CallerIdentity(uid: owner.uid, gid: owner.uid, groups: [])),
      isAdmin: false, label: "uid 1234")
  }

  private func error(
    _ method: String, _ params: String, as caller: Caller, by other: RPCService? = nil
  ) -> UsherError? {
    do {
      _ = try (other ?? service).respond(to: method, Array(params.utf8), as: caller)
      return nil
    } catch {
      return error as? UsherError
    }
  }

  @Test(
    "a caller without rights is refused by the method's name, whatever the parameters are",
    arguments: [
      "token.get", "flow.start", "flow.submit", "flow.wait", "flow.list", "account.list",
      "account.forget", "consent.revoke", "confirm.answer", "localAuth.setPasscode",
      "events.subscribe", "provider.get", "registration.checkUserKey", "totp.code",
    ])
  func nobody(method: String) throws {
    for params in [#"{"stray":[[],{}]}"#, "{}", "[1]", #"{"provider":7,"kind":[],"params":1}"#] {
      let error = try error(method, params, as: caller())
      #expect(error?.reason == .permissionDenied, "\(params): \(String(describing: error))")
    }
  }

  @Test(
    "a call that no rule allows is refused before its other parameters are decoded",
    arguments: [
      (["token.get home"], "token.get", #"{"provider":"work","stray":1}"#),
      (["token.get home"], "token.get", #"{"stray":1,"pr\u006fvider":"w\u006frk"}"#),
      (["provider.get home"], "provider.get", #"{"provider":"work","stray":1}"#),
      (["flow.start home"], "flow.start", #"{"provider":"work","stray":1}"#),
      (["flow.start work/login"], "flow.start", #"{"provider":"work","kind":"sca","stray":1}"#),
      (
        ["flow.start work/operation GET:/a"], "flow.start",
        #"{"provider":"work","kind":"operation","params":{"method":"GET","path":"/b"},"stray":1}"#
      ),
    ])
  func listed(allow: [String], method: String, params: String) throws {
    let error = try error(method, params, as: caller(allow: allow))
    #expect(error?.reason == .permissionDenied, "\(String(describing: error))")
  }

  @Test(
    "a call that a rule may allow is decoded and refused for its parameters",
    arguments: [
      (["token.get work"], "token.get", #"{"provider":"work","stray":1}"#),
      (["token.get home"], "token.get", #"{"account":"acc_1","provider":"work","stray":1}"#),
      (["token.get home"], "token.get", #"{"stray":1}"#),
      (["flow.start work/*"], "flow.submit", #"{"flow":"flw_1","stray":1}"#),
      (
        ["flow.start work/operation GET:/a"], "flow.start",
        #"{"provider":"work","kind":"operation","params":{"method":"GET","path":"/a"},"stray":1}"#
      ),
    ])
  func decoded(allow: [String], method: String, params: String) throws {
    let error = try error(method, params, as: caller(allow: allow))
    #expect(error?.reason == .invalidParams, "\(String(describing: error))")
    #expect(error?.detail.field == "stray")
  }

  @Test("an early refusal is audited with the provider or account that the call names")
  func recorded() async throws {
    // A separate daemon, because the audit writes only a limited number of denials per minute one
    // by one.
    let harness = try LockControllerHarness(holdsTimers: true)
    let lockController = try await harness.begun()
    let service = RPCService(lockController)
    let before = try await lockController.services().audits.list(
      .init(limit: AuditService.maxRows)
    )
    .rows.count
    _ = try error(
      "token.get", #"{"provider":"work","stray":1}"#, as: caller(allow: ["token.get home"]),
      by: service)
    _ = try error(
      "token.get", #"{"account":"acc_9","stray":1}"#, as: caller(), by: service)
    let rows = try await lockController.services().audits.list(.init(limit: AuditService.maxRows))
      .rows
    #expect(rows.count == before + 2)
    let denied = rows.filter { $0.decision == .denied }
    #expect(Set(denied.map(\.rule)) == ["till", "(no rule)"])
    #expect(denied.contains { $0.provider == .work })
    #expect(denied.contains { $0.account == AccountID("acc_9") })
    await lockController.end()
  }

  @Test("a method name is compared by its bytes, so that a look-alike is an unknown method")
  func lookAlike() throws {
    let member = try Caller.program()
    let kelvin = "registration.checkUser\u{212A}ey"
    #expect(
      error(kelvin, #"{"provider":"work","userKey":"x"}"#, as: member)?.reason == .methodNotFound)
    #expect(error("rpc.hell\u{6F}", "{}", as: member) == nil)
  }
}
