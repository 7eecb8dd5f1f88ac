import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// All services that contain secrets or have access to them. The instance is created when the store
/// is opened and exists only while the daemon is unlocked; nothing retains it after that. The
/// method table calls the services. Each gets only the dependencies that it needs.
final class Services: Sendable {
  let dependencies: Dependencies
  let processContext: ProcessContext
  let inFlightCalls: InFlightCalls
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
  let providerService: ProviderService
  let credentials: Credentials
  let localAuth: LocalAuthService
  let confirm: ConfirmationService
  let registration: RegistrationService
  let audit: AuditRecorder
  let audits: AuditService
  let owners: OwnerRegistry
  let ownerService: OwnerService
  let callbacks: CallbackListeners

  private let http: ProviderHTTP
  private let watch: AccountWatch
  private let revocations: RevocationQueue
  private let fingerprintReader: any FingerprintScanning

  /// Restores the services from the store and opens the callback listeners. Starts no other work.
  ///
  /// - Throws: An error for the operator if a row cannot be read or an address cannot be bound.
  static func start(
    _ bootstrap: StoreBootstrap, of processContext: ProcessContext
  ) async throws(UsherError) -> Services {
    let services = try Services(processContext, bootstrap)
    try await services.restore()
    try await services.listen()
    return services
  }

  private init(
    _ processContext: ProcessContext, _ bootstrap: StoreBootstrap
  ) throws(UsherError) {
    let (dependencies, store) = (processContext.dependencies, bootstrap.store)
    self.processContext = processContext
    self.dependencies = dependencies
    self.store = store
    inFlightCalls = InFlightCalls(dependencies: dependencies)
    masterKeyOrigin = bootstrap.keyOrigin.sentence
    audit = processContext.audit

    let access = try ProviderAccess(processContext, store)
    (health, credentials, http) = (access.health, access.credentials, access.http)
    let lifecycle = TokenLifecycle(processContext, store, access)
    (repository, revocations) = (lifecycle.repository, lifecycle.revocations)
    fingerprintReader = processContext.setting.fingerprints()
    localAuth = LocalAuthService(
      dependencies: dependencies, repository: LocalAuthRepository(store: store),
      reader: fingerprintReader, rounds: processContext.setting.passcodeRounds)
    totp = TOTPService(dependencies: dependencies, store: store, repository: repository)
    owners = OwnerRegistry(dependencies: dependencies, store: store)
    // The reference is weak, because the registry notifies the flows and accounts of changes.
    let runtime = FlowRuntime(
      processContext, access, lifecycle, localAuth: localAuth, totp: totp
    ) { [weak owners] in owners?.isWithheld($0) ?? true }
    (watch, callbacks) = (runtime.watch, runtime.callbacks)

    consents = ConsentService(repository: repository)
    confirm = ConfirmationService(accounts: repository, localAuth: localAuth)
    ownerService = OwnerService(
      registry: owners, engine: runtime.engine, repository: repository,
      revoker: lifecycle.revoker, localAuth: localAuth, confirm: confirm, audit: audit)
    flows = FlowService(engine: runtime.engine, scheduler: processContext.waits)
    tokens = TokenService(
      dependencies: dependencies, repository: repository, refresher: lifecycle.refresher,
      revoker: lifecycle.revoker)
    accounts = AccountService(repository: repository, clock: dependencies.clock)
    clients = ClientService(engine: runtime.engine, consents: consents, revoker: lifecycle.revoker)
    providerService = ProviderService(
      configStore: dependencies.configStore, credentials: credentials, http: http,
      metadata: access.metadata, verifier: access.verifier, clock: dependencies.clock,
      entropy: dependencies.entropy)
    registration = RegistrationService(dependencies: dependencies) {
      [http] call, provider async throws(UsherError) in
      try http.checkCredential(of: provider.config)
      return await http.send(call, for: provider.config)
    }
    audits = AuditService(log: store.audit, repository: audit)
    owners.addObserver { [weak self] in await self?.apply($0, of: $1) }
    // The event bus exists longer than these services, and a call that has removed a user may end
    // after them.
    owners.addObserver { [events = processContext.events] change, person in
      if change == .replaced { events.removeHistory(of: person.owner) }
    }
  }

  /// Implements `localAuth.setPasscode`. A user who has never called gets a record first: without
  /// one, the user's first call would find a stored passcode and count the record as lost.
  func setPasscode(
    _ call: LocalAuthSetPasscode, _ caller: Caller
  ) async throws(UsherError) -> Done {
    try await localAuth.setPasscode(call, caller, willStore: owners.record)
  }

  /// Applies a change in the access to a user's stored objects to the user's flows, accounts and
  /// confirmations.
  private func apply(_ change: OwnerRegistry.Change, of person: LocalPerson) async {
    let owner = person.owner
    // Invalidates the replies that connections have cached.
    repository.changes.add(1, ordering: .releasing)
    switch change {
    case .reviewed: break
    case .withheld: flows.engine.pause(owner)
    case .restored:
      await flows.engine.resume(owner)
      watch.review(((try? repository.accounts(of: owner)) ?? []).map(\.id))
    case .replaced:
      try? await confirm.deleteAll(of: person)
      try? await localAuth.deleteAll(of: person)
    }
  }

  /// Restores the state of the services from the store. No background work starts yet.
  private func restore() async throws(UsherError) {
    // A credential that cannot be read is logged now; calls that need it will fail.
    let handed = credentials.readPassed()
    for problem in handed.problems { dependencies.log.warning("\(problem)") }
    credentials.install(handed)
    credentials.installClients()
    try owners.restore()
    try localAuth.restore()
    try confirm.restore()
    try await revocations.restore()
    // Restoring many flows takes long, so the start time-out of systemd is extended.
    let notifier = processContext.setting.notifier
    let unread = try await flows.engine.restore { notifier.extendTimeout(by: .seconds(30)) }
    for (flow, error) in unread {
      dependencies.log.error(
        "a stored flow cannot be read and is ignored",
        metadata: ["flow": .string(flow.rawValue), "cause": .string(error.message)])
    }
  }

  /// Starts the background work, continuing from its stored state.
  func resume() {
    let owners = owners
    flows.engine.resumeAll { owners.isWithheld($0) }
    // Looking up the names of users may take long, so nothing waits for it.
    Task(executorPreference: dependencies.executor) { try? await owners.recordAll() }
    watch.start()
    Task(executorPreference: dependencies.executor) { [watch, revocations] in
      await revocations.resume()
      await watch.review()
    }
  }

  /// Opens the listeners for providers' callbacks.
  ///
  /// - Throws: An error with a message for the operator if an address cannot be bound.
  private func listen() async throws(UsherError) {
    do throws(CallbackListeners.ListenError) {
      _ = callbacks.apply(try await callbacks.prepare(for: dependencies.config.providers))
    } catch {
      throw error.error
    }
  }

  /// Removes old flows, expired consents and old audit rows, and reviews the times of tokens in
  /// case the clock was set. Runs once a minute.
  func sweep() async throws(UsherError) {
    await watch.review()
    await tokens.refresher.writeEndedGrants()
    try await consents.sweep()
    try await confirm.sweep()
    try await audit.trim()
    try? await owners.review()
    // A flow that was processing an event when its owner was withheld may have set a timer since.
    for person in owners.withheld { flows.engine.pause(person.owner) }
    try await flows.engine.sweep()
  }

  /// Shuts the services down in order: answers waiting calls, stores the responses that providers
  /// are sending, closes the store.
  ///
  /// - Parameter limit: The time that providers have to finish their responses.
  func end(within limit: Duration) async {
    inFlightCalls.end()
    await callbacks.close()
    await stop(within: limit)
    await inFlightCalls.waitUntilEmpty(atMost: max(limit, .seconds(1)))
    await close()
  }

  /// Waits up to `limit` for the providers' responses to arrive and be stored, then stops all
  /// background work.
  private func stop(within limit: Duration) async {
    watch.stop()
    await revocations.stop()
    let idle = AsyncLatch()
    let waiting = Task(executorPreference: dependencies.executor) { [http, engine = flows.engine] in
      while !Task.isCancelled, !(http.isIdle && engine.isIdle) {
        await engine.waitUntilIdle()
        await http.waitUntilIdle()
      }
      idle.open()
    }
    await dependencies.scheduler.wait(for: idle, atMost: limit)
    waiting.cancel()
    flows.engine.pauseAll()
    fingerprintReader.close()
    await http.shutdown()
    await tokens.refresher.waitUntilIdle()
    await revocations.waitUntilIdle()
  }

  /// Writes the audit rows that are left and closes the store. Nothing is written after that.
  private func close() async {
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
