import JSONRPC
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

// How a flow starts: limits, the account to use, the state machine, the first rows in the store.
extension FlowEngine {
  /// Reserves a place for a flow, so that concurrent starts cannot exceed the owner's limit. Runs
  /// on the event loop, so that a refused start costs no task.
  ///
  /// - Throws: `rateLimited` naming the limit; `overloaded` if too few file descriptors are left
  ///   for a redirect listener.
  func admit(_ owner: Owner) throws(UsherError) -> FlowReservation {
    guard dependencies.descriptors.hasRoom(for: .caller) else { throw DescriptorBudget.exhausted }
    let limits = dependencies.config.limits
    let users = dependencies.subordinates.current
    let wait = starts.acquire(
      owner.limitHolder(users), at: dependencies.clock.monotonicNow(),
      perMinute: limits.flowStartsPerMinute)
    if let wait {
      throw UsherError(
        .rateLimited, "this user has started \(limits.flowStartsPerMinute) flows within a minute",
        detail: .init(retryAfterMs: Int(wait.milliseconds), limit: "flow_starts_per_minute"))
    }
    guard
      let reservation = FlowReservation(index, for: owner, atMost: limits.liveFlowsPerUser, users)
    else {
      throw UsherError(
        .rateLimited,
        "this user already has \(limits.liveFlowsPerUser) live flows: cancel one first",
        limit: "live_flows_per_user")
    }
    return reservation
  }

  /// Starts a flow. When this returns, the flow is on disk and its first effects have begun.
  ///
  /// - Parameters:
  ///   - call: The call with its parameters, which must name the account if the flow needs one.
  ///   - identity: The account at another provider by whose assertion the flow gets tokens; nil if
  ///     it needs none.
  ///   - reservation: The reservation from ``admit(_:)``. This method uses or releases it.
  ///   - isVisible: Whether the flow may offer an account to the user.
  ///   - mayHaveIDToken: Whether the client may have the ID token of an account.
  func start(
    _ call: FlowStart, owner: Owner, client: FlowClient, by identity: AccountRecord? = nil,
    in reservation: FlowReservation, where isVisible: (AccountRecord) -> Bool = { _ in true },
    mayHaveIDToken: (AccountRecord) -> Bool = { _ in false }
  ) async throws(UsherError) -> LiveFlow {
    defer { reservation.release() }
    let provider = try dependencies.configStore.provider(named: call.provider)
    guard let type = ProviderRegistry.flow(call.kind, of: provider.settings.variety) else {
      throw UsherError(
        .invalidParams, "provider \(call.provider) has no flow of kind \(call.kind)", field: "kind")
    }
    if let id = call.requestId, !Self.isRequestID(id), !type.judgesRequestID {
      throw UsherError(.invalidParams, "requestId must have 1 to 128 bytes", field: "requestId")
    }
    let record = try knownAccount(call, type, of: owner, for: client)
    let known =
      type.knowsAccounts
      ? try accounts.accounts(of: owner, at: provider.name) {
        isVisible($0) && (type.accountUse != .named || mayActWith($0, client))
      } : []
    let transition = dependencies.transitionContext()
    let input = StartInput(
      call: call, id: FlowID(dependencies.identifier("flw_")), owner: owner, client: client,
      account: record, accounts: known,
      // An ID token is personal data of its issuer: another one must not get it as a hint.
      idToken: record.flatMap {
        $0.isOf(provider) && mayHaveIDToken($0) ? $0.verifiedIDToken : nil
      },
      identity: identity.map { KnownAccount(id: $0.id, subject: $0.subject) },
      predecessors: predecessors(at: call.provider, to: owner, client.name, at: transition.now),
      transition: transition)
    let (machine, answer) = try begin(type, input, at: provider)
    if case .proceed(let effects) = answer, effects.contains(where: self.effects.isStateInUse) {
      throw UsherError(
        .invalidParams, "params.state is in use: choose a new random value", field: "params.state")
    }
    let flow = newFlow(input, machine)
    let predecessor = try claim(for: machine, of: input.predecessors)
    do throws(UsherError) {
      try await open(
        flow,
        with: Self.refusesRequest(answer)
          ? answer : credentialFailure(of: provider, type) ?? answer,
        at: transition, taking: predecessor
      ) {
        reservation.insert(flow)
      }
    } catch {
      if let predecessor { index.unclaim(predecessor) }
      throw error
    }
    return flow
  }

  /// Whether the machine refuses the caller's request, for example for empty grants. The caller
  /// learns that first, because another credential would not help.
  private static func refusesRequest(_ answer: EngineAnswer) -> Bool {
    guard case .fail(let failure, cleanUp: _) = answer else { return false }
    return failure.reason == .invalidRequest
  }

  /// Returns the failure that ends the flow at once if the provider's credential, such as the
  /// client secret, is not set, so that the user does not sign in for nothing. The message says how
  /// to set the credential.
  private func credentialFailure(
    of provider: ProviderConfig, _ type: any FlowMachine.Type
  ) -> EngineAnswer? {
    do throws(UsherError) {
      _ = try credentials.credential(of: provider)
      return nil
    } catch {
      var failure = Failure.rejected(error.message)
      failure.provider = type.providerErrorCode(for: .providerRejected, provider: provider.name)
      return .fail(failure, cleanUp: [])
    }
  }

  /// The input for starting a flow of any kind.
  private struct StartInput {
    let call: FlowStart
    let id: FlowID
    let owner: Owner
    let client: FlowClient
    /// The account that the flow acts on; nil if it acts on none.
    let account: AccountRecord?
    /// The accounts that the flow's machine gets to know, for example to offer them to the user.
    let accounts: [AccountRecord]
    /// The ID token of the account; nil if the client may not have it.
    let idToken: Sealed<Secret>?
    /// The account at another provider; nil if the flow needs none.
    let identity: KnownAccount?
    /// The ended flows that have left a handoff secret for this client.
    let predecessors: [LiveFlow]
    let transition: TransitionContext
  }

  private func begin<Machine: FlowMachine>(
    _ type: Machine.Type, _ input: StartInput, at config: ProviderConfig
  ) throws(UsherError) -> (any FlowMachine, EngineAnswer) {
    guard let provider = Provider<Machine.Call.Settings>(config) else {
      throw UsherError(
        .internalError, "provider \(config.name) is not of the type of flow \(Machine.kind)")
    }
    let params = try StrictDecoding.decode(
      Machine.Params.self, from: input.call.params, schema: schema(of: Machine.Params.self),
      prefix: "params")
    var transition = input.transition
    let (machine, answer) = try Machine.begin(
      params, context(input, at: provider), at: &transition)
    return (machine, Machine.erased(answer))
  }

  private func context<Settings: ProviderTypeSettings>(
    _ input: StartInput, at provider: Provider<Settings>
  ) -> FlowContext<Settings> {
    let (call, record) = (input.call, input.account)
    var context = FlowContext(
      provider: provider, account: record.map { KnownAccount(id: $0.id, subject: $0.subject) },
      requestID: call.requestId ?? input.id.rawValue, statedRequestID: call.requestId,
      endsAt: end(of: input.transition.now),
      installationID: store.installationID(of: input.owner, provider: provider.name),
      credential: CredentialCheck(
        (try? credentials.credential(of: provider.config)) ?? nil,
        named: credentials.named(of: provider.config)),
      accounts: input.accounts.map {
        NamedAccount(id: $0.id, subject: $0.subject, label: $0.details.label)
      }, client: input.client.title, attributes: record?.details.attributes ?? [:],
      handoffSecrets: input.predecessors.compactMap(\.handoffSecret))
    context.granted = record?.grantedAccess(at: provider.config, input.transition.now)
    context.idToken = input.idToken
    context.identity = input.identity
    for record in input.accounts {
      context.accountAttributes[record.id] = record.details.attributes
    }
    return context
  }

  private func schema(of type: any Decodable.Type) -> Schema {
    schemas.withLock { known in
      if let schema = known[ObjectIdentifier(type)] { return schema }
      let schema = StrictDecoding.schema(of: type)
      known[ObjectIdentifier(type)] = schema
      return schema
    }
  }

  private func newFlow(_ input: StartInput, _ machine: any FlowMachine) -> LiveFlow {
    let (call, client, now) = (input.call, input.client, input.transition.now)
    // A blank request id is not recorded: no later call can refer to it.
    let requestID = call.requestId.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
    let metadata = FlowMetadata(
      owner: input.owner, provider: call.provider, kind: call.kind, client: client.name,
      uid: client.uid, credentials: credentials.tags(of: machine.config))
    return LiveFlow(
      id: input.id, metadata: metadataPool.shared(metadata), requestID: requestID,
      createdAt: now,
      snapshot: .init(
        machine: machine, view: machine.view, ending: .active, revision: 1, updatedAt: now,
        expiresAt: end(of: now)),
      transitions: [Transition(revision: 1, state: machine.view.state, at: now)])
  }

  /// Returns the time at which a flow that starts at `start` expires.
  private func end(of start: Timestamp) -> Timestamp {
    start + .seconds(dependencies.config.flow.deadlineSeconds)
  }

  private static func isRequestID(_ id: String) -> Bool { (1...128).contains(id.utf8.count) }

  private func knownAccount(
    _ call: FlowStart, _ type: any FlowMachine.Type, of owner: Owner, for client: FlowClient
  ) throws(UsherError) -> AccountRecord? {
    let named = try namedAccount(call, of: owner)
    guard type.usesAccount(isNamed: named != nil) else { return named }
    guard let record = named else {
      throw UsherError(.invalidParams, "params.account is missing", field: "params.account")
    }
    guard mayActWith(record, client) else {
      throw record.scopeNotCovered(
        "account", record.details.grant.scope, field: "params.account", dependencies)
    }
    return record
  }

  /// Whether a client may start a flow that acts with the account's token. The condition is the
  /// same as for receiving the token.
  private func mayActWith(_ record: AccountRecord, _ client: FlowClient) -> Bool {
    !record.isGuarded
      || record.covers(
        scope: record.details.grant.scope, to: client.name, at: dependencies.clock.now())
  }

  private func namedAccount(
    _ call: FlowStart, of owner: Owner
  ) throws(UsherError) -> AccountRecord? {
    guard let id = call.params["account"]?.stringValue else { return nil }
    let record = try accounts.account(AccountID(id), of: owner)
    try call.checkProvider(of: record)
    return record
  }
}
