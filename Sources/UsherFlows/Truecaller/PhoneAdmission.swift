import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// The last part of a phone verification: it reads the user's profile with the access token and
/// creates the account.
///
/// If the settings require it, the token is validated first; then the name is written and the
/// profile read. Every step is safe to repeat after a restart. A reply about another phone number
/// ends the flow.
///
/// The phone number counts as verified as soon as Truecaller accepts the token. If writing the name
/// or reading the profile fails after that, or if the flow is cancelled or expires, the account is
/// stored with its token, and a later flow reads the profile.
struct PhoneAdmission: RetryingMachine, Codable, Sendable, Equatable {
  private let number: PhoneNumber
  /// The access token that the verification returned; nil if the token of ``account`` is used.
  private let token: Sealed<Secret>?
  /// The account that an earlier flow stored without a profile; nil if there is none.
  private var account: AccountID?
  /// The user's name, to be written to the Truecaller profile; nil if the user was not asked for
  /// one.
  private let name: TruecallerName?
  private let isVerifiedBefore: Bool
  private var phase: Phase
  private var retrying = RetryBackoff()
  var problem: Problem?
  /// Whether Truecaller has accepted the token of ``account`` in this flow; nil means not yet.
  private var isConfirmed: Bool?

  private enum Phase: Codable, Sendable, Equatable {
    /// Validates the access token. Next: updating, reading, or the end.
    case validating
    /// Writes the user's name to the profile. Next: reading, keeping, or the end.
    case updating(TruecallerName)
    /// Reads the profile. Next: checking, keeping, or the end.
    case reading
    /// Verifies the signature of the profile. Next: keeping, or the end.
    case checking(SignedProfile)
    /// Stores the account without a profile, because the profile could not be read or updated, or
    /// its signature could not be checked. Then the flow fails with the failure. Next: the end.
    case keeping(Failure)
  }

  /// The attribute of an account that was stored without a profile, so that a later flow reads the
  /// profile.
  static let pending = "profilePending"

  /// Starts with the access token of a verification.
  ///
  /// - Parameter isVerifiedBefore: Whether Truecaller issued the token without asking for a code. A
  ///   name may be present even then, if the reply to an earlier code was lost.
  init(
    _ claim: PhoneClaim, _ token: Sealed<Secret>, isVerifiedBefore: Bool,
    _ validation: TokenValidation
  ) {
    number = claim.number
    name = claim.name
    self.token = token
    self.isVerifiedBefore = isVerifiedBefore
    phase = validation == .none ? Self.afterValidation(claim.name) : .validating
  }

  /// Starts with the account that an earlier flow stored without a profile.
  init(_ number: PhoneNumber, of account: AccountID) {
    self.number = number
    self.account = account
    name = nil
    token = nil
    isVerifiedBefore = true
    phase = .reading
  }

  private static func afterValidation(_ name: TruecallerName?) -> Phase {
    name.map { .updating($0) } ?? .reading
  }

  /// What clients see of the flow while this last part of the verification runs. Phases that are
  /// one state in Truecaller's SDK have the same view, and the view never returns to an earlier
  /// state.
  var view: FlowView {
    if account != nil, isConfirmed != true {
      return waiting("creating", for: "the provider's profile")
    }
    if isVerifiedBefore { return waiting("verifiedBefore", for: "the provider's profile") }
    return switch phase {
    case .validating, .updating: waiting("otpReceived", for: "the code's verification")
    case .reading, .checking, .keeping:
      waiting("verificationComplete", for: "the provider's profile")
    }
  }

  var effects: [Effect<TruecallerCall>] {
    switch phase {
    case .validating, .updating, .reading: call.map { [.call($0)] } ?? []
    case .checking(let profile): [.verifySignature(profile.text)]
    case .keeping: [.store(grant(nil))]
    }
  }

  private var call: TruecallerCall? {
    if let account { return phase == .reading ? .keptProfile(number, account) : nil }
    guard let token = token?.unsealed() else { return nil }
    return switch phase {
    case .validating: .validate(accessToken: token)
    case .updating(let name): .update(name, number, accessToken: token)
    case .reading: .profile(number, accessToken: token)
    case .checking, .keeping: nil
    }
  }

  /// Handles an event.
  ///
  /// - Returns: Nil if Truecaller no longer accepts the token of the stored account.
  mutating func receive(
    _ event: FlowEvent<TruecallerCall>, _ provider: Provider<TruecallerSettings>
  ) -> Answer<TruecallerCall>? {
    switch event {
    case .daemon(.answered(.stored)):
      guard case .keeping(let failure) = phase else { return .ignore }
      return .fail(failure)
    case .provider(.called(.keptProfile, let outcome))
    where phase == .reading && account != nil && !retrying.isPaused && outcome.saysTokenIsGone:
      return nil
    case .provider(.called(let call, let outcome)) where call == self.call && !retrying.isPaused:
      return answered(outcome, provider)
    case .provider(.idTokenVerified(let verdict)):
      guard case .checking(let profile) = phase, !retrying.isPaused else { return .ignore }
      return handleVerdict(profile, verdict, provider)
    case .woken where retrying.isPaused, .daemon(.resumed):
      retrying.endPause()
      return .proceed(effects)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func transition(to phase: Phase) -> Answer<TruecallerCall> {
    self.phase = phase
    retrying = RetryBackoff()
    problem = nil
    return .proceed(effects)
  }

  private mutating func retryLater(
    _ fault: TruecallerReplyError, _ provider: ProviderName
  ) -> Answer<TruecallerCall> {
    let failure = fault.failure(provider)
    let pause = pause(retrying, failure, after: fault.retryAfter) { $0.retrying = $1 }
    return pause.map { .proceed([.wake(after: $0)]) } ?? endWithoutProfile(failure)
  }

  /// The account with its token, if Truecaller has accepted the token; nil if the account is
  /// already stored.
  var grantIfAbandoned: AbandonedGrant? {
    switch phase {
    case .updating, .reading, .checking:
      account == nil
        ? AbandonedGrant(content: .account(grant(nil)), message: Self.tokenIsKept) : nil
    case .validating, .keeping: nil
    }
  }

  private static let tokenIsKept =
    "the number is verified and its token is kept: "
    + "run verifyPhone again to read the profile without another code"

  /// Ends the flow without a profile: stores the account with its token, then fails.
  private mutating func endWithoutProfile(_ failure: Failure) -> Answer<TruecallerCall> {
    if case .validating = phase { return .fail(failure) }
    isConfirmed = true
    var failure = failure
    failure.message += "; " + Self.tokenIsKept
    // An earlier flow has stored the account already.
    guard account == nil else { return .fail(failure) }
    return transition(to: .keeping(failure))
  }
}

extension CallOutcome {
  fileprivate var saysTokenIsGone: Bool {
    switch self {
    case .noToken: true
    case .reply(let reply): reply.status == 401
    case .unreachable, .unreadable: false
    }
  }
}

// MARK: - Replies of the server

extension PhoneAdmission {
  private mutating func answered(
    _ outcome: CallOutcome, _ provider: Provider<TruecallerSettings>
  ) -> Answer<TruecallerCall> {
    let settings = provider.settings
    let needsBody = needsBody(settings)
    switch TruecallerReply(outcome, hiding: typed(settings), needsBody: needsBody) {
    case .success(let members): return handleSuccess(members, provider)
    case .refused(let refusal):
      let failure = Failure.refused(error(refusal), refusal, provider.name)
      // A 401 means that the token is invalid, so no account is stored with it.
      return refusal.status == 401 ? .fail(failure) : endWithoutProfile(failure)
    case .failed(let fault): return retryLater(fault, provider.name)
    case .unreadable(let message), .noToken(let message):
      return endWithoutProfile(.unusable(message, unreadable, provider.name))
    }
  }

  private func typed(_ settings: TruecallerSettings) -> TypedValues {
    TypedValues(number: number, name: name, codeLength: settings.otpDigits)
  }

  /// Whether a success needs a body.
  ///
  /// The SDK ignores the reply to the update of the name. Here a refusal counts (provider contract
  /// §10, trap 1), but the form of a success is not documented. The same is true of the validation
  /// by the first generation of the API.
  private func needsBody(_ settings: TruecallerSettings) -> Bool {
    switch phase {
    case .updating: false
    case .validating: settings.validation != .legacy
    case .reading, .checking, .keeping: true
    }
  }

  private mutating func handleSuccess(
    _ members: [String: JSONValue], _ provider: Provider<TruecallerSettings>
  ) -> Answer<TruecallerCall> {
    switch phase {
    case .validating:
      if let failure = flaw(in: members, provider) { return .fail(failure) }
      return transition(to: Self.afterValidation(name))
    case .updating: return transition(to: .reading)
    case .reading:
      do throws(UnusableReply) {
        guard let signed = try SignedProfile(members) else { return finish(members, provider.name) }
        return transition(to: .checking(signed))
      } catch {
        return .fail(.badSignature(error.message, provider.name))
      }
    case .checking, .keeping: return .ignore
    }
  }

  /// Returns why the reply does not confirm that the token is for this number; nil if it does.
  private func flaw(in members: [String: JSONValue], _ provider: Provider<TruecallerSettings>)
    -> Failure?
  {
    if let reported = members["phoneNumber"], !reported.isNull {
      let country = members["countryCode"]?.stringValue
      return number.isMatch(for: reported, country: country) ? nil : .otherNumber(provider.name)
    }
    switch provider.settings.validation {
    case .none, .legacy: return nil
    case .sdk28, .oauth:
      let message = "the provider does not say whose access token it is"
      return .unusable(message, .internal, provider.name)
    }
  }

  private func error(_ refusal: TruecallerRefusal) -> TruecallerErrorCode {
    switch phase {
    case .validating:
      switch (refusal.status, refusal.code) {
      // Status 404 has two meanings, which the code in the body distinguishes (provider contract
      // §1.3 item 5; §10, trap 1).
      case (404, "404"): .unauthorizedDeveloper
      case (404, "1404"): .unauthorizedUser
      default: refusal.isUnauthorized ? .unauthorizedDeveloper : .internal
      }
    case .updating: refusal.isUnauthorized ? .unauthorizedUser : .userProfileContentNotValid
    case .reading, .checking, .keeping: refusal.isUnauthorized ? .unauthorizedUser : .internal
    }
  }

  private var unreadable: TruecallerErrorCode {
    switch phase {
    case .validating, .updating: .internal
    case .reading, .checking, .keeping: .userProfileContentNotValid
    }
  }

  private mutating func handleVerdict(
    _ profile: SignedProfile, _ verdict: IDTokenVerdict, _ config: Provider<TruecallerSettings>
  ) -> Answer<TruecallerCall> {
    let provider = config.name
    switch verdict {
    case .genuine:
      guard let members = profile.members else {
        let message = "the provider's signed profile cannot be read"
        return endWithoutProfile(.unusable(message, .userProfileContentNotValid, provider))
      }
      return finish(members, provider)
    case .refused(let message): return .fail(.badSignature(message, provider))
    case .keyless(let message): return endWithoutProfile(.unusable(message, .internal, provider))
    case .unreachable(let message, let reply):
      let fault = reply.map {
        TruecallerReplyError(
          $0, TruecallerRefusal($0, $0.jsonObject ?? [:], hiding: typed(config.settings)))
      }
      return retryLater(fault ?? .init(message: message, mayHaveTakenEffect: true), provider)
    }
  }

  private mutating func finish(
    _ members: [String: JSONValue], _ provider: ProviderName
  ) -> Answer<TruecallerCall> {
    // An empty number counts as absent.
    if let reported = members["phoneNumber"], !reported.isNull, reported.stringValue != "",
      !number.isMatch(for: reported, country: members["countryCode"]?.stringValue)
    {
      return .fail(.otherNumber(provider))
    }
    isConfirmed = true
    let profile = TrueProfile(members)
    return .finish(
      Completion(
        grant: grant(profile), result: ["profile": .object(profile.members)],
        // If the account was removed in the meantime, it must not be created again.
        preconditions: account.map { .init(account: $0, consents: []) }))
  }

  /// Returns the account to store.
  ///
  /// - Parameter profile: The profile; nil if it has not been read yet.
  private func grant(_ profile: TrueProfile?) -> AccountGrant {
    var grant = AccountGrant(
      subject: number.e164, label: profile?.name ?? number.masked,
      attributes: ["countryCode": .string(number.country)], profile: profile?.members,
      tokens: token.map {
        TokenSet(accessToken: $0, tokenType: "Bearer", expiresAt: nil, scope: "")
      })
    if account != nil {
      grant.attributes[Self.pending] = .null
    } else {
      grant.attributes["verifiedBefore"] = .bool(isVerifiedBefore)
    }
    if profile == nil {
      grant.attributes[Self.pending] = true
      grant.isPartial = true
    }
    return grant
  }
}
