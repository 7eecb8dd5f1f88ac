import Logging
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Routes a provider's callbacks to a running flow, or to the account that a flow created.
///
/// A sender without valid proof gets no information, not even whether an id exists. Only if an
/// account cannot be read, it learns that.
struct CallbackService: Sendable {
  let credentials: Credentials
  let engine: FlowEngine
  let repository: AccountRepository
  let watch: AccountWatch
  let dependencies: Dependencies

  /// A callback as the listener received it.
  struct Call: Sendable {
    /// The value of the `Authorization` header; nil unless the header occurs exactly once.
    let authorization: Secret?
    let body: [UInt8]
    let endpoint: CallbackListener.Endpoint
  }

  func handle(_ call: Call) async -> CallbackOutcome {
    let (provider, dialect) = (call.endpoint.provider, call.endpoint.dialect)
    let outcome: CallbackOutcome
    do throws(CallbackRefusal) {
      var callback = try dialect.read(authorization: call.authorization, body: call.body)
      callback.isAuthenticated = isAuthenticated(callback, provider, dialect)
      outcome = await route(callback, provider, dialect)
    } catch {
      outcome = .unreadable(error)
    }
    // Any local program can cause the other outcomes as often as it likes, so they are logged at
    // the debug level.
    dependencies.log.log(
      level: outcome.isFromProvider ? .info : .debug, "provider callback",
      metadata: ["provider": .string(provider.name.rawValue), "outcome": .string(outcome.logName)])
    return outcome
  }

  private func isAuthenticated(
    _ callback: ProviderCallback, _ provider: ProviderConfig, _ dialect: any CallbackDialect
  ) -> Bool {
    guard let name = dialect.credentialName,
      let value = credentials.named(of: provider)[name]
    else { return false }
    return value == callback.authorization
  }

  private func route(
    _ callback: ProviderCallback, _ provider: ProviderConfig, _ dialect: any CallbackDialect
  ) async -> CallbackOutcome {
    do throws(UsherError) {
      var isIncomplete = false
      var verdicts = try await engine.handleCallback(callback, at: provider.name)
      // A flow that has just ended may have created an account that expects the callback, so
      // accounts are always asked too.
      let key = dialect.callKey(of: callback)
      try await repository.forEach(calledBy: key, at: provider.name) {
        record async throws(UsherError) in
        verdicts.append(try await offer(callback, to: record, provider))
      } skipped: { error in
        isIncomplete = true
        dependencies.log.warning(
          "an account could not be read, so a provider's callback was not compared with it",
          metadata: ["cause": .string(error.message)])
      }
      if verdicts.contains(.match) { return .accepted }
      // The callback may be about the account that could not be read.
      if isIncomplete { return .unavailable }
      if verdicts.contains(.conflict) { return .conflict }
      guard callback.isAuthenticated, let requestID = callback.requestID else {
        return .unauthorized
      }
      return try engine.store.isRemembered(requestID, at: provider.name) ? .accepted : .unknown
    } catch {
      dependencies.log.warning(
        "a provider's callback could not be handled; the provider may send it again",
        metadata: ["cause": .string(error.message)])
      return .unavailable
    }
  }

  private func offer(
    _ callback: ProviderCallback, to record: AccountRecord, _ provider: ProviderConfig
  ) async throws(UsherError) -> CallbackVerdict {
    let followUp = provider.definition.followUp(attributes: record.details.attributes)
    guard let verdict = followUp?.validate(callback, token: record.mainToken) else {
      return .noMatch
    }
    if verdict == .match {
      let now = dependencies.clock.now()
      try await watch.applyChanges(about: record.id) { $0.changes(from: callback, at: now) }
    }
    return verdict
  }
}

extension CallbackOutcome {
  /// Whether this outcome is logged one by one: the sender has proved to be the provider, or the
  /// daemon could not check it. Anyone on the machine can cause the other outcomes.
  fileprivate var isFromProvider: Bool {
    switch self {
    case .accepted, .conflict, .unknown, .unavailable: true
    case .unreadable, .unauthorized, .otherPath, .otherMethod, .tooLarge: false
    }
  }

  /// The outcome of a callback, as log entries name it.
  var logName: String {
    switch self {
    case .accepted: "accepted"
    case .unreadable: "unreadable"
    case .unauthorized: "unauthorized"
    case .unknown: "unknown"
    case .conflict: "conflict"
    case .otherPath: "other path"
    case .otherMethod: "other method"
    case .tooLarge: "too large"
    case .unavailable: "unavailable"
    }
  }
}
