import UsherCore
import UsherStore

/// The services that work without an RPC call: the flows with their effects, the background work
/// for accounts, and the listeners for providers' callbacks.
struct FlowRuntime: Sendable {
  let engine: FlowEngine
  let watch: AccountWatch
  let callbacks: CallbackListeners

  /// Creates the services without starting them.
  ///
  /// - Parameter isWithheld: Whether access to an owner's objects is refused at present. Nothing is
  ///   sent for the flows and accounts of such an owner.
  init(
    _ processContext: ProcessContext, _ access: ProviderAccess, _ tokens: TokenLifecycle,
    localAuth: LocalAuthService, totp: TOTPService,
    isWithheld: @escaping @Sendable (Owner) -> Bool
  ) {
    let dependencies = processContext.dependencies
    let answers = DaemonAnswers(
      accounts: tokens.repository, localAuth: LocalAuthAnswers(service: localAuth), totp: totp,
      dependencies: dependencies)
    let listeners = RedirectListeners(dependencies: dependencies, group: processContext.browsers)
    engine = FlowEngine(
      credentials: access.credentials, accounts: tokens.repository,
      effects: EffectRunner(
        dependencies: dependencies, http: access.http, bearer: tokens.calls,
        metadata: access.metadata, verifier: access.verifier, listeners: listeners,
        answers: answers),
      revocations: tokens.revocations, isWithheld: isWithheld)
    watch = AccountWatch(
      dependencies: dependencies, repository: tokens.repository, calls: tokens.calls,
      isWithheld: isWithheld)
    callbacks = CallbackListeners(
      on: processContext.outside,
      CallbackService(
        credentials: access.credentials, engine: engine, repository: tokens.repository,
        watch: watch, dependencies: dependencies))
  }
}
