import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// `registration.checkDuplicate` and `registration.checkUserKey`: who is a member, so nothing that a
/// caller may ask unless the provider's configuration says so, and not often.
struct RegistrationDesk: Sendable {
  let world: World
  let providers: Providers
  /// Asks the provider once; throws where the credential that it takes is not set.
  let send: @Sendable (BSACall, ProviderConfig) async throws(UsherError) -> CallOutcome
  private let budget = CallBudget()

  func checkDuplicate(
    _ call: RegistrationCheckDuplicate, _ caller: Caller
  ) async throws(UsherError) -> RegistrationCheckDuplicate.Reply {
    let provider = try open(call.provider)
    let channel: BSAContact.Channel =
      switch call.verifyType {
      case .email: .email
      case .phoneNumber: .sms
      }
    let contact = try possible("verifyData") { () throws(ImpossibleMember) in
      try BSAContact(channel, call.verifyData)
    }
    return .init(duplicate: try await isTaken(.contact(contact), provider, caller))
  }

  func checkUserKey(
    _ call: RegistrationCheckUserKey, _ caller: Caller
  ) async throws(UsherError) -> RegistrationCheckUserKey.Reply {
    let provider = try open(call.provider)
    let userKey = try possible("userKey") { () throws(ImpossibleMember) in
      try BSAUserKey.checked(call.userKey)
    }
    return .init(available: try await !isTaken(.userKey(userKey), provider, caller))
  }

  /// A provider that can be asked, and may.
  private func open(_ name: ProviderName) throws(UsherError) -> ProviderConfig {
    let provider = try providers.named(name)
    guard case .bsa(let settings) = provider.settings else {
      throw UsherError(
        .invalidParams, "provider \(name) is of type \(provider.type), not bsa",
        detail: .init(field: "provider"))
    }
    guard settings.registrationChecks else {
      throw UsherError(
        .permissionDenied,
        "provider \(name) may not be asked who is registered: registration_checks is off")
    }
    return provider
  }

  /// What the caller wrote, where somebody can have it. It is not repeated: it is about a person.
  private func possible<Member>(
    _ field: String, _ member: () throws(ImpossibleMember) -> Member
  ) throws(UsherError) -> Member {
    do throws(ImpossibleMember) {
      return try member()
    } catch {
      throw UsherError(
        .invalidParams, "\(field) \(error.message)", detail: .init(field: field))
    }
  }

  private func isTaken(
    _ check: BSARegistrationCheck, _ provider: ProviderConfig, _ caller: Caller
  ) async throws(UsherError) -> Bool {
    try spend(caller)
    let outcome = try await send(check.call, provider)
    return try BSARegistrationCheck.isTaken(outcome, at: provider.name)
  }

  private func spend(_ caller: Caller) throws(UsherError) {
    let perMinute = world.config.limits.registrationChecksPerMinute
    let wait = budget.take(caller.owner, at: world.clock.now(), perMinute: perMinute)
    guard let wait else { return }
    throw UsherError(
      .rateLimited, "this user has asked \(perMinute) times within a minute who is registered",
      detail: .init(
        retryAfterMs: Int(wait.milliseconds), limit: "registration_checks_per_minute"))
  }
}
