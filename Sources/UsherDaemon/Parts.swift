import Glibc
import Logging
import NIOCore
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// The daemon's parts, each given what it needs and nothing else.
struct Parts {
  let domain: Domain
  private let http: ProviderHTTP
  private let store: Store
  private let repository: AccountRepository
  private let watch: TokenWatch
  private let followUps: FollowUpWatch
  private let refresher: Refresher
  private let revocations: RevocationQueue
  private let metadata: MetadataCache
  let callbacks: CallbackPosts
  private let reader: any FingerprintScanning
  private let localAuth: LocalAuthService
  private let audit: AuditRecorder
  private let log: Logger

  init(_ processContext: ProcessContext, _ bootstrap: StoreBootstrap) throws(UsherError) {
    let (dependencies, events, log) = (
      processContext.dependencies, processContext.events, processContext.log
    )
    let (store, group) = (bootstrap.store, processContext.outside)
    reader = processContext.setting.fingerprints()
    let providers = Providers(dependencies.configStore)
    let health = ProviderHealth(dependencies.configStore) {
      [clock = dependencies.clock] provider, health in
      events.publish(
        Event(topic: .provider, what: health.rawValue, at: clock.now(), provider: provider),
        owner: nil)
    }
    let credentials = try Credentials(
      store: store, handed: processContext.setting.credentials, on: processContext.setting.disk,
      dependencies: dependencies)
    http = ProviderHTTP(
      through: processContext.setting.transport(group), credentials: credentials, health: health,
      dependencies: dependencies, log: log)
    metadata = MetadataCache(http: http, dependencies: dependencies)
    let verifier = IDTokenVerifier(http: http, dependencies: dependencies)
    repository = AccountRepository(dependencies: dependencies, events: events, store: store)
    audit = processContext.audit
    self.store = store
    self.log = log

    let source = TokenSource(
      dependencies: dependencies, providers: providers, http: http, metadata: metadata,
      health: health,
      installation: store.installationID(of:provider:))
    revocations = RevocationQueue(
      dependencies: dependencies, store: store, source: source, audit: processContext.audit,
      log: log)
    refresher = Refresher(
      dependencies: dependencies, store: store, repository: repository, source: source,
      queue: revocations,
      events: events, log: log)
    let calls = AccountCalls(
      dependencies: dependencies, http: http, repository: repository, refresher: refresher)
    localAuth = LocalAuthService(
      dependencies: dependencies, repository: LocalAuthRepository(store: store), reader: reader,
      log: log,
      rounds: processContext.setting.passcodeRounds)
    let totp = TOTPService(
      dependencies: dependencies, store: store, repository: repository, providers: providers)
    let effects = EffectRunner(
      dependencies: dependencies, http: http, bearer: calls,
      metadata: metadata, verifier: verifier,
      listeners: RedirectListeners(
        dependencies: dependencies, group: processContext.browsers,
        uid: dependencies.sockets.loopbackUser,
        holders: dependencies.sockets.loopbackListeners, log: log),
      answers: DaemonAnswers(
        accounts: repository, localAuth: LocalAuthAnswers(service: localAuth), totp: totp,
        dependencies: dependencies))
    let owners = OwnerRegistry(dependencies: dependencies, store: store, log: log)
    // Weak: the registry tells them of changes.
    let isWithheld = { @Sendable [weak owners] (owner: Owner) in owners?.isWithheld(owner) ?? true }
    let runner = FlowRunner(
      dependencies: dependencies, store: store, accounts: repository, events: events,
      effects: effects,
      revocations: revocations, log: log, isWithheld: isWithheld)
    let engine = FlowEngine(
      dependencies: dependencies, store: store, providers: providers, credentials: credentials,
      accounts: repository, events: events, runner: runner)
    watch = TokenWatch(
      dependencies: dependencies, repository: repository, refresher: refresher, events: events,
      log: log,
      isWithheld: isWithheld)
    followUps = FollowUpWatch(
      dependencies: dependencies, store: store, repository: repository, providers: providers,
      calls: calls,
      events: events,
      log: log, isWithheld: isWithheld)
    callbacks = CallbackPosts(
      on: group,
      CallbackService(
        credentials: credentials, engine: engine, repository: repository, watch: followUps,
        dependencies: dependencies,
        log: log))

    repository.follow { [revocations] update in
      guard let superseded = update.superseded else { return }
      Task(executorPreference: dependencies.executor) { await revocations.pursue(superseded) }
    }
    let revoker = Revoker(
      dependencies: dependencies, store: store, repository: repository, queue: revocations)
    let consents = ConsentService(
      store: store, repository: repository, clock: dependencies.clock, providers: providers)
    let methods = LocalAuthMethods(service: localAuth, clock: dependencies.clock)
    let confirm = ConfirmationService(
      dependencies: dependencies, store: store, events: events, accounts: repository,
      localAuth: methods)
    let follower = OwnerFollower(
      engine: engine, repository: repository, localAuth: localAuth, confirm: confirm, watch: watch,
      followUps: followUps, events: events)
    owners.follow { await follower.follow($0, of: $1) }
    domain = Domain(
      dependencies: dependencies, processContext: processContext, store: store,
      masterKeyOrigin: bootstrap.keyOrigin.sentence,
      health: health,
      flows: FlowService(engine: engine, scheduler: processContext.waits),
      tokens: TokenService(
        dependencies: dependencies, repository: repository, providers: providers,
        refresher: refresher,
        revoker: revoker),
      totp: totp, accounts: AccountService(repository: repository, clock: dependencies.clock),
      consents: consents,
      clients: ClientService(
        engine: engine, providers: providers, consents: consents, revoker: revoker),
      repository: repository, providers: providers,
      providerService: ProviderService(
        providers: providers, credentials: credentials, http: http, metadata: metadata,
        verifier: verifier, clock: dependencies.clock),
      credentials: credentials,
      localAuth: methods,
      confirm: confirm,
      registration: RegistrationService(dependencies: dependencies, providers: providers) {
        [http] call, provider async throws(UsherError) in
        try http.checkCredential(of: provider)
        return await http.send(call, for: provider)
      },
      audit: audit, audits: AuditService(log: store.audit, repository: audit), owners: owners,
      ownerService: OwnerService(
        registry: owners, engine: engine, repository: repository, revoker: revoker,
        localAuth: localAuth,
        confirm: confirm, audit: audit))
  }

  /// Brings back what the store kept; nothing runs yet.
  func restore() async throws(UsherError) {
    takeCredentials()
    try domain.owners.restore()
    try localAuth.restore()
    try domain.confirm.restore()
    try await revocations.restore()
    // A start with very many takes its time, and the service manager is told so.
    let notifier = domain.processContext.setting.notifier
    let unread = try await domain.flows.engine.restore { notifier.extendTimeout(by: .seconds(30)) }
    for (flow, error) in unread {
      log.error(
        "a stored flow cannot be read and is left alone",
        metadata: ["flow": .string(flow.rawValue), "cause": .string(error.message)])
    }
  }

  /// Sets going what goes on by itself.
  func resume() {
    let owners = domain.owners
    domain.flows.engine.resumeAll { owners.isWithheld($0) }
    // Users' names may be far away: nothing waits for them.
    Task(executorPreference: domain.dependencies.executor) { try? await owners.recordAll() }
    watch.start()
    followUps.start()
    Task(executorPreference: domain.dependencies.executor) { [watch, followUps, revocations] in
      await revocations.resume()
      await watch.review()
      await followUps.review()
    }
  }

  /// Listens for the providers that call back.
  ///
  /// - Throws: A sentence for the operator where an address cannot be had.
  func listen() async throws(UsherError) {
    do throws(CallbackPosts.ListenError) {
      _ = callbacks.make(try await callbacks.prepare(for: domain.providers.all))
    } catch {
      throw error.error
    }
  }

  /// One that cannot be read is missed when it is needed.
  private func takeCredentials() {
    let handed = domain.credentials.reread()
    for problem in handed.problems { log.warning("\(problem)") }
    domain.credentials.take(handed)
  }

  /// Once a minute: old flows, expired consents and old rows of the audit are forgotten; tokens are
  /// looked at for a clock that was set.
  func sweep() async throws(UsherError) {
    await watch.review()
    await followUps.review()
    await domain.tokens.refresher.writeDeaths()
    try await domain.consents.sweep()
    try await domain.confirm.sweep()
    try await audit.trim()
    try? await domain.owners.review()
    // A flow that was busy when its owner was withheld may have set a timer since.
    for person in domain.owners.withheld { domain.flows.engine.pause(person.owner) }
    try await domain.flows.engine.sweep()
  }

  /// Lets what providers are answering just now arrive and be written, for a while; then stops.
  func stop(within limit: Duration) async {
    watch.stop()
    followUps.stop()
    await revocations.stop()
    let clock = domain.dependencies.clock
    let deadline = clock.monotonicNow() + limit
    while clock.monotonicNow() < deadline, !(http.isIdle && domain.flows.engine.isIdle) {
      await domain.dependencies.scheduler.pause(.milliseconds(20))
    }
    domain.flows.engine.pauseAll()
    reader.close()
    await http.shutdown()
    await domain.tokens.refresher.settle()
  }

  /// Writes what the audit has, and closes the store: what is not written by now will not be.
  func close() async {
    await audit.close()
    do throws(UsherError) {
      try store.close()
    } catch {
      log.warning("the store did not close in order", metadata: ["cause": "\(error.message)"])
    }
  }
}

// A reload.
extension Parts {
  /// What is needed for another configuration and is there already; nothing has changed yet.
  struct Readied {
    fileprivate let credentials: HandedCredentials
    fileprivate let callbacks: CallbackPosts.Change
  }

  /// - Throws: What of it cannot be had.
  func ready(for config: Config) async throws(ConfigError) -> Readied {
    let handed = await domain.dependencies.blocking.run { [credentials = domain.credentials] in
      credentials.reread()
    }
    guard handed.problems.isEmpty else { throw ConfigError(handed.problems) }
    do throws(CallbackPosts.ListenError) {
      let change = try await callbacks.prepare(for: config.providers)
      return Readied(credentials: handed, callbacks: change)
    } catch {
      throw ConfigError([config.problem(error)])
    }
  }

  /// What was known of providers that are others now is forgotten, and looked for anew.
  ///
  /// - Parameter exchange: Has the configuration come into force; tells which providers are others.
  /// - Returns: The providers that are others, or have other credentials.
  func follow(
    _ readied: Readied, exchange: @escaping @Sendable () -> Set<ProviderName>
  ) async -> Set<ProviderName> {
    // At once: no provider, old or new, is found with the other one's credentials.
    let (others, names) = await domain.processContext.betweenCalls {
      [credentials = domain.credentials] in
      var others: Set<ProviderName> = []
      let names = credentials.take(readied.credentials) { others = exchange() }
      return (others, names)
    }
    var changed = others
    let unused = callbacks.make(readied.callbacks)
    for provider in domain.providers.all where !provider.usedCredentials.isDisjoint(with: names) {
      changed.insert(provider.name)
    }
    for listener in unused { await listener.close() }
    guard !changed.isEmpty else { return changed }
    domain.health.forget(changed)
    await metadata.forget(changed)
    http.forget(changed)
    await refresher.forgetRefusals(of: changed)
    await watch.review(after: changed)
    await followUps.review(after: changed)
    return changed
  }
}

extension Config {
  fileprivate func problem(_ failure: CallbackPosts.ListenError) -> ConfigProblem {
    let place = providers.firstIndex { $0.name == failure.provider }
    var message = failure.error.message
    if let cause = failure.error.cause as? IOError {
      message += ": \(String(cString: strerror(cause.errnoCode)))"
    }
    return problem(place.map { "provider[\($0)].callback_listen" } ?? "", message)
  }
}

extension ProviderConfig {
  fileprivate var usedCredentials: Set<String> {
    Set(credentialNames + [credentialName].compactMap { $0 })
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
