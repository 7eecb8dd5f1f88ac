import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherSystem

/// Implementation of `registration.checkDuplicate` and `registration.checkUserKey`. The replies
/// reveal who is registered at a provider, so the methods are rate-limited, and the provider's
/// configuration can forbid them.
struct RegistrationService: Sendable {
  let dependencies: Dependencies
  /// Sends one request to the provider; throws if the credential that it needs is not set.
  let send: @Sendable (BSACall, Provider<BSASettings>) async throws(UsherError) -> CallOutcome
  private let budget = RateLimiter()

  /// A registration check at a provider of type `bsa` that was admitted and can be sent.
  struct Question: Sendable {
    fileprivate let check: BSARegistrationCheck
    fileprivate let provider: Provider<BSASettings>
  }

  /// Checks the parameters of `registration.checkDuplicate` and the rate limit, before a task is
  /// created that asks the provider.
  func admit(_ call: RegistrationCheckDuplicate, _ caller: Caller) throws(UsherError) -> Question {
    let channel: BSAContact.Channel =
      switch call.verifyType {
      case .email: .email
      case .phoneNumber: .sms
      }
    return try admit(caller, at: call.provider, "verifyData") { () throws(InvalidValue) in
      .contact(try BSAContact(channel, call.verifyData))
    }
  }

  func admit(_ call: RegistrationCheckUserKey, _ caller: Caller) throws(UsherError) -> Question {
    try admit(caller, at: call.provider, "userKey") { () throws(InvalidValue) in
      .userKey(try BSAUserKey.checked(call.userKey))
    }
  }

  /// - Parameters:
  ///   - field: The parameter that `parse` reads. An error does not repeat its value, because the
  ///     value is personal data.
  private func admit(
    _ caller: Caller, at name: ProviderName, _ field: String,
    _ parse: () throws(InvalidValue) -> BSARegistrationCheck
  ) throws(UsherError) -> Question {
    let provider = try open(name)
    let check: BSARegistrationCheck
    do throws(InvalidValue) {
      check = try parse()
    } catch {
      throw UsherError(.invalidParams, "\(field) \(error.message)", field: field)
    }
    try chargeCheck(caller)
    return Question(check: check, provider: provider)
  }

  func isRegistered(_ question: Question) async throws(UsherError) -> Bool {
    let outcome = try await send(question.check.call, question.provider)
    return try question.check.isRegistered(outcome, at: question.provider.name)
  }

  /// Returns the provider if its configuration permits registration checks.
  private func open(_ name: ProviderName) throws(UsherError) -> Provider<BSASettings> {
    let config = try dependencies.configStore.provider(named: name)
    guard let provider = Provider<BSASettings>(config) else {
      throw UsherError(
        .invalidParams, "provider \(name) is of type \(config.type), not bsa", field: "provider")
    }
    guard provider.settings.registrationChecks else {
      throw UsherError(
        .permissionDenied,
        "provider \(name) does not allow registration checks: registration_checks is off")
    }
    return provider
  }

  private func chargeCheck(_ caller: Caller) throws(UsherError) {
    let perMinute = dependencies.config.limits.registrationChecksPerMinute
    let holder = caller.owner.limitHolder(dependencies.subordinates.current)
    let wait = budget.acquire(holder, at: dependencies.clock.monotonicNow(), perMinute: perMinute)
    guard let wait else { return }
    throw UsherError(
      .rateLimited, "this user has made \(perMinute) registration checks within a minute",
      detail: .init(retryAfterMs: Int(wait.milliseconds), limit: "registration_checks_per_minute"))
  }
}
