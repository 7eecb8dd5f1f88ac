import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherSystem

/// Implementation of `policy.check` and `policy.list`: shows the current access rules, and explains
/// their decisions.
struct PolicyService: Sendable {
  let dependencies: Dependencies

  /// The time for which `policy.check` waits for the user database, which it may have to ask for
  /// several names.
  private static let deadline = Duration.seconds(5)

  /// Implements `policy.check`.
  ///
  /// - Throws: `invalidParams` if a parameter is malformed or names an unknown object; `overloaded`
  ///   if the user database does not answer in time.
  func check(_ check: PolicyCheck) async throws(UsherError) -> PolicyCheck.Reply {
    let now = dependencies.weekMinute()
    let snapshot = dependencies.configStore.current
    return try await dependencies.lookups.run(within: Self.deadline) {
      [names = dependencies.users.principals, subordinates = dependencies.subordinates]
      () throws(UsherError) in
      try snapshot.policy.answer(
        check, of: snapshot.config, at: now, names: names,
        complete: { snapshot.complete(&$0, of: check) },
        subordinateTo: { subordinates.owners(ofSubordinate: $0) })
    }
  }

  func list() -> PolicyList.Reply { dependencies.config.policyList() }
}

extension ConfigSnapshot {
  /// Adds to the request of a call of `flow.start` what its kind of flow determines.
  fileprivate func complete(_ request: inout PolicyRequest, of check: PolicyCheck) {
    guard check.method == FlowStart.name else { return }
    request.scopes = check.kind.flatMap { PolicyRequest.scopes(ofFlow: $0, check.scope) }
    guard let kind = check.kind, let name = check.provider, let provider = provider(name) else {
      return
    }
    request.subject = subject(ofFlow: kind, at: name, named: check.subject)
    request.usesAccount =
      ProviderRegistry.flow(kind, of: provider.settings.variety)?
      .usesAccount(isNamed: check.account != nil || check.subject != nil) ?? false
    if identityProvider(ofFlow: kind, at: name) != nil { request.usesAccount = true }
  }
}
