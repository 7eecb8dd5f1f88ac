import UsherStore

/// The accounts, and the services that refresh, use and revoke their tokens.
struct TokenLifecycle: Sendable {
  let repository: AccountRepository
  let revocations: RevocationQueue
  let refresher: Refresher
  let calls: AccountCalls
  let revoker: Revoker

  init(_ processContext: ProcessContext, _ store: Store, _ access: ProviderAccess) {
    let (dependencies, events) = (processContext.dependencies, processContext.events)
    repository = AccountRepository(dependencies: dependencies, events: events, store: store)
    let identities = IdentityAssertions(
      dependencies: dependencies, http: access.http, metadata: access.metadata)
    let source = TokenSource(
      dependencies: dependencies, http: access.http, metadata: access.metadata,
      verifier: access.verifier, health: access.health, identities: identities,
      installation: store.installationID(of:provider:))
    revocations = RevocationQueue(
      dependencies: dependencies, store: store, source: source,
      record: processContext.audit.record(_:by:))
    refresher = Refresher(
      repository: repository, source: source, queue: revocations)
    identities.use(refresher)
    calls = AccountCalls(
      dependencies: dependencies, http: access.http, repository: repository, refresher: refresher,
      identities: identities)
    revoker = Revoker(repository: repository, queue: revocations)

    repository.addObserver { [revocations] update in
      guard let superseded = update.superseded else { return }
      Task(executorPreference: dependencies.executor) {
        await revocations.revokeInBackground(superseded)
      }
    }
  }
}
