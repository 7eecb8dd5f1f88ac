import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

/// The flows `gopay/verify` and `truecaller/verifyPhone` need no account. If they use one, rules
/// and consents about the account apply, as for other flows.
@Suite("Use of accounts by flows that can run without one", .timeLimit(.minutes(10)))
struct AccountUseTests {
  private typealias Harness = ImplicitAccountHarness

  private let harness: ImplicitAccountHarness

  init() async throws { harness = try await ImplicitAccountHarness() }

  private func caller(_ allow: String, accounts: [String]? = nil) throws -> Caller {
    try Harness.caller([
      Harness.rule("till", allow: allow, accounts: accounts) { $0.requireLocalAuthSeconds = 300 }
    ])
  }

  @Test("flow.start of gopay/verify needs local authentication only if it names an account")
  func named() async throws {
    let account = try await harness.persist("corr-1", at: Harness.gopay)
    let till = try caller("flow.start gopay/verify")
    let error = await harness.error("flow.start", Harness.verify(account), as: till)
    #expect(
      error?.reason == .interactionRequired
        && error?.detail.next?.provider == ProviderConfig.local.name)
    #expect(try await harness.outcome("flow.start", Harness.verify(), as: till).isFlow)
  }

  @Test("flow.start of verifyPhone needs local authentication if it takes a pending account")
  func taken() async throws {
    try await harness.persist("+919876543210", at: Harness.phones) {
      $0.attributes = ["profilePending": true]
    }
    try await harness.persist("+919876543211", at: Harness.phones)
    let till = try caller("flow.start phones/verifyPhone")
    let error = await harness.error("flow.start", Harness.verifyPhone(), as: till)
    #expect(
      error?.reason == .interactionRequired
        && error?.detail.next?.provider == ProviderConfig.local.name)
    for number in ["9876543211", "9876543212"] {
      #expect(try await harness.outcome("flow.start", Harness.verifyPhone(number), as: till).isFlow)
    }
    // An account that the rule excludes is not continued.
    let other = try caller("flow.start phones/verifyPhone", accounts: ["+919876543211"])
    #expect(try await harness.outcome("flow.start", Harness.verifyPhone(), as: other).isFlow)
  }

  @Test("flow.start of gopay/verify for an account is refused to a client without consent")
  func consent() async throws {
    let account = try await harness.persist("corr-1", at: Harness.gopay) { $0.isByConsent = true }
    let till = try Harness.caller([Harness.rule("till", allow: "flow.start gopay/verify")])
    #expect(
      try await harness.outcome("flow.start", Harness.verify(account), as: till)
        == .refused(.consentRequired))
  }
}
