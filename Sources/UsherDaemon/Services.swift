import Glibc
import Logging
import NIOCore
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// All services that hold secrets or lead to them, created when the store is opened. The method
/// table calls them. Each service gets only the dependencies that it needs.
final class Services: Sendable {
  let dependencies: Dependencies
  let processContext: ProcessContext
  let store: Store
  let masterKeyOrigin: String
  let health: ProviderHealth

  let flows: FlowService
  let tokens: TokenService
  let totp: TOTPService
  let accounts: AccountService
  let consents: ConsentService
  let clients: ClientService
  let repository: AccountRepository
  let providers: Providers
  let providerService: ProviderService
  let credentials: Credentials
  let localAuth: LocalAuthMethods
  let confirm: ConfirmationService
  let registration: RegistrationService
  let audit: AuditRecorder
  let audits: AuditService
  let owners: OwnerRegistry
  let ownerService: OwnerService
  let callbacks: CallbackPosts

  private let localAuthService: LocalAuthService
  private let http: ProviderHTTP
  private let metadata: MetadataCache
  private let watch: AccountWatch
  private let refresher: Refresher
  private let revocations: RevocationQueue
  private let fingerprintReader: any FingerprintScanning

  init(_ processContext: ProcessContext, _ bootstrap: StoreBootstrap) throws(UsherError) {
    let (setting, events) = (processContext.setting, processContext.events)
    let (dependencies, store, group) = (
      processContext.dependencies, bootstrap.store, processContext.outside
    )
    self.processContext = processContext
    self.dependencies = dependencies
    self.store = store
    masterKeyOrigin = bootstrap.keyOrigin.sentence
    fingerprintReader = setting.fingerprints()
    providers = Providers(dependencies.configStore)
    health = ProviderHealth(dependencies.configStore) {
      [clock = dependencies.clock] provider, health in
      events.publish(
        Event(topic: .provider, what: health.rawValue, at: clock.now(), provider: provider),
        owner: nil)
    }
    credentials = try Credentials(
      store: store, handed: setting.credentials, on: setting.disk, dependencies: dependencies)
    http = ProviderHTTP(
      through: setting.transport(group), credentials: credentials, health: health,
      dependencies: dependencies)
    metadata = MetadataCache(http: http, dependencies: dependencies)
    let verifier = IDTokenVerifier(http: http, dependencies: dependencies)
    repository = AccountRepository(dependencies: dependencies, events: events, store: store)
    audit = processContext.audit

    let source = TokenSource(
      dependencies: dependencies, providers: providers, http: http, metadata: metadata,
      health: health, installation: store.installationID(of:provider:))
    revocations = RevocationQueue(
      dependencies: dependencies, store: store, source: source, audit: processContext.audit)
    refresher = Refresher(
      dependencies: dependencies, store: store, repository: repository, source: source,
      queue: revocations, events: events)
    let calls = AccountCalls(
      dependencies: dependencies, http: http, repository: repository, refresher: refresher)
    localAuthService = LocalAuthService(
      dependencies: dependencies, repository: LocalAuthRepository(store: store),
      reader: fingerprintReader, rounds: setting.passcodeRounds)
    totp = TOTPService(
      dependencies: dependencies, store: store, repository: repository, providers: providers)
    let effects = EffectRunner(
      dependencies: dependencies, http: http, bearer: calls, metadata: metadata, verifier: verifier,
      listeners: RedirectListeners(
        dependencies: dependencies, group: processContext.browsers,
        uid: dependencies.sockets.loopbackUser, holders: dependencies.sockets.loopbackListeners),
      answers: DaemonAnswers(
        accounts: repository, localAuth: LocalAuthAnswers(service: localAuthService), totp: totp,
        dependencies: dependencies))
    let registry = OwnerRegistry(dependencies: dependencies, store: store)
    // Weak, because the registry notifies these objects of changes.
    let isWithheld = { @Sendable [weak registry] (owner: Owner) in
      registry?.isWithheld(owner) ?? true
    }
    let engine = FlowEngine(
      dependencies: dependencies, store: store, providers: providers, credentials: credentials,
      accounts: repository, events: events, effects: effects, revocations: revocations,
      isWithheld: isWithheld)
    watch = AccountWatch(
      dependencies: dependencies, repository: repository, providers: providers,
      refresher: refresher, calls: calls, events: events, isWithheld: isWithheld)
    callbacks = CallbackPosts(
      on: group,
      CallbackService(
        credentials: credentials, engine: engine, repository: repository, watch: watch,
        dependencies: dependencies))

    repository.addObserver { [revocations] update in
      guard let superseded = update.superseded else { return }
      Task(executorPreference: dependencies.executor) { await revocations.pursue(superseded) }
    }
    let revoker = Revoker(
      dependencies: dependencies, store: store, repository: repository, queue: revocations)
    consents = ConsentService(
      store: store, repository: repository, clock: dependencies.clock, providers: providers)
    localAuth = LocalAuthMethods(service: localAuthService, clock: dependencies.clock)
    confirm = ConfirmationService(
      dependencies: dependencies, store: store, events: events, accounts: repository,
      localAuth: localAuth)
    owners = registry
    ownerService = OwnerService(
      registry: owners, engine: engine, repository: repository, revoker: revoker,
      localAuth: localAuthService, confirm: confirm, audit: audit)
    flows = FlowService(engine: engine, scheduler: processContext.waits)
    tokens = TokenService(
      dependencies: dependencies, repository: repository, providers: providers,
      refresher: refresher, revoker: revoker)
    accounts = AccountService(repository: repository, clock: dependencies.clock)
    clients = ClientService(
      engine: engine, providers: providers, consents: consents, revoker: revoker)
    providerService = ProviderService(
      providers: providers, credentials: credentials, http: http, metadata: metadata,
      verifier: verifier, clock: dependencies.clock)
    registration = RegistrationService(dependencies: dependencies, providers: providers) {
      [http] call, provider async throws(UsherError) in
      try http.checkCredential(of: provider.config)
      return await http.send(call, for: provider.config)
    }
    audits = AuditService(log: store.audit, repository: audit)
    owners.addObserver { [weak self] in await self?.apply($0, of: $1) }
  }

  /// Applies a change of an owner's access to flows, accounts and events.
  private func apply(_ change: OwnerRegistry.Change, of person: LocalPerson) async {
    let owner = person.owner
    // Invalidates the replies that connections cache.
    repository.changes.add(1, ordering: .releasing)
    switch change {
    case .reconsidered: break
    case .withheld: flows.engine.pause(owner)
    case .restored:
      await flows.engine.resume(owner)
      watch.review(((try? repository.accounts(of: owner)) ?? []).map(\.id))
    case .replaced:
      try? await confirm.forget(person)
      try? await localAuthService.forget(person)
      processContext.events.forget(owner)
    }
  }

  /// Restores the state from the store; nothing runs yet.
  func restore() async throws(UsherError) {
    // An unreadable credential is reported now, and missing when it is needed.
    let handed = credentials.reread()
    for problem in handed.problems { dependencies.log.warning("\(problem)") }
    credentials.install(handed)
    try owners.restore()
    try localAuthService.restore()
    try confirm.restore()
    try await revocations.restore()
    // Restoring many flows takes long, so extend the service manager's start time-out.
    let notifier = processContext.setting.notifier
    let unread = try await flows.engine.restore { notifier.extendTimeout(by: .seconds(30)) }
    for (flow, error) in unread {
      dependencies.log.error(
        "a stored flow cannot be read and is ignored",
        metadata: ["flow": .string(flow.rawValue), "cause": .string(error.message)])
    }
  }

  /// Starts background work.
  func resume() {
    let owners = owners
    flows.engine.resumeAll { owners.isWithheld($0) }
    // Resolving users' names may take long, so nothing waits for it.
    Task(executorPreference: dependencies.executor) { try? await owners.recordAll() }
    watch.start()
    Task(executorPreference: dependencies.executor) { [watch, revocations] in
      await revocations.resume()
      await watch.review()
    }
  }

  /// Listens for callbacks of providers.
  ///
  /// - Throws: An error with a message for the operator if an address cannot be bound.
  func listen() async throws(UsherError) {
    do throws(CallbackPosts.ListenError) {
      _ = callbacks.make(try await callbacks.prepare(for: providers.all))
    } catch {
      throw error.error
    }
  }

  /// Removes old flows, expired consents and old audit rows, and reviews the times of tokens in
  /// case the clock was set. Runs once a minute.
  func sweep() async throws(UsherError) {
    await watch.review()
    await tokens.refresher.writeDeaths()
    try await consents.sweep()
    try await confirm.sweep()
    try await audit.trim()
    try? await owners.review()
    // A flow that was busy when its owner was withheld may have set a timer since.
    for person in owners.withheld { flows.engine.pause(person.owner) }
    try await flows.engine.sweep()
  }

  /// Waits up to `limit` for providers' responses to arrive and be stored; then stops.
  func stop(within limit: Duration) async {
    watch.stop()
    await revocations.stop()
    let clock = dependencies.clock
    let deadline = clock.monotonicNow() + limit
    while clock.monotonicNow() < deadline, !(http.isIdle && flows.engine.isIdle) {
      await dependencies.scheduler.pause(.milliseconds(20))
    }
    flows.engine.pauseAll()
    fingerprintReader.close()
    await http.shutdown()
    await tokens.refresher.waitUntilIdle()
  }

  /// Writes the audit rows and closes the store; nothing is written after that.
  func close() async {
    await audit.close()
    do throws(UsherError) {
      try store.close()
    } catch {
      dependencies.log.warning(
        "the store could not be closed cleanly", metadata: ["cause": "\(error.message)"])
    }
  }
}

extension MasterKey.Origin {
  fileprivate var sentence: String {
    switch self {
    case .systemdCredential: "systemd credential \(MasterKeySource.credentialName)"
    case .keyFile(let path): "key file \(path)"
    }
  }
}
