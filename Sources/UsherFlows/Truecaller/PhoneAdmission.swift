import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// The last part of a phone verification: it creates the account with the access token, then reads
/// the user's profile.
///
/// If the settings require it, the token is validated first. Then the account is stored; from that
/// moment the view says that the number is verified, and clients get the token, whatever happens to
/// the rest (SDK documentation, "Whenever you get verification status as … verificationComplete,
/// SDK will share an additional access token"). Then the name is written and the profile read.
///
/// Every step is safe to repeat after a restart. A refused name does not undo a right code: the
/// result names it as a problem. If the profile cannot be read, or if the flow is cancelled or
/// expires, a later flow reads it with the stored token.
struct PhoneAdmission: RetryingMachine, Codable, Sendable, Equatable {
  private let number: PhoneNumber
  /// The key by which clients find the flow again; nil in a flow that an earlier version started.
  private let key: String?
  /// The access token that the verification returned; nil if the flow uses the token of an account
  /// that an earlier flow stored without a profile.
  private let token: Sealed<Secret>?
  /// The account, as soon as it is stored.
  private var account: AccountID?
  /// The user's name, to be written to the Truecaller profile; nil if the user was not asked for
  /// one.
  private let name: TruecallerName?
  private let isVerifiedBefore: Bool
  private var phase: Phase
  private var retrying = RetryBackoff()
  var problem: Problem?
  /// Why the user's name was not written; nil if nothing is known against it.
  private var nameProblem: Problem?
  /// Whether Truecaller has accepted the token that an earlier flow stored; nil means not yet.
  private var isConfirmed: Bool?

  private enum Phase: Codable, Sendable, Equatable {
    /// Validates the access token. Next: storing, or the end.
    case validating
    /// Stores the account with the token and without a profile. Next: updating, reading.
    case storing
    /// Writes the user's name to the profile. Next: reading.
    case updating(TruecallerName)
    /// Reads the profile. Next: checking, or the end.
    case reading
    /// Verifies the signature of the profile. Next: the end.
    case checking(SignedProfile)
    /// Stores the account, then fails. Only flows of earlier versions are in this phase: those
    /// stored the account only when the profile had failed. Next: the end.
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
    key = claim.key
    name = claim.name
    self.token = token
    self.isVerifiedBefore = isVerifiedBefore
    phase = validation == .none ? .storing : .validating
  }

  /// Starts with the account that an earlier flow stored without a profile.
  init(_ claim: PhoneClaim, of account: AccountID) {
    number = claim.number
    key = claim.key
    self.account = account
    name = nil
    token = nil
    isVerifiedBefore = true
    phase = .reading
  }

  /// What clients see of the flow while this last part of the verification runs. Phases that are
  /// one state in Truecaller's SDK have the same view. `verificationComplete` and `verifiedBefore`
  /// are shown only if the account is stored.
  var view: FlowView {
    copy(waiting(state, for: wait)) { $0.key = key }
  }

  private var state: String {
    if token == nil { return isConfirmed == true ? "verifiedBefore" : "creating" }
    return switch phase {
    case .validating: isVerifiedBefore ? "creating" : "otpReceived"
    // The engine stores the account and this state together.
    case .storing: isVerifiedBefore ? "verifiedBefore" : "otpReceived"
    case .updating, .reading, .checking, .keeping:
      isVerifiedBefore ? "verifiedBefore" : "verificationComplete"
    }
  }

  private var wait: String {
    switch phase {
    // The same texts as before and after this phase, so that no state has two revisions.
    case .validating where isVerifiedBefore: "the code to be sent"
    case .validating: "the account to be stored"
    case .storing where !isVerifiedBefore: "the account to be stored"
    case .storing, .updating, .reading, .checking, .keeping: "the provider's profile"
    }
  }

  var effects: [Effect<TruecallerCall>] {
    switch phase {
    case .validating, .updating, .reading: call.map { [.call($0)] } ?? []
    case .checking(let profile): [.verifySignature(profile.text)]
    case .storing, .keeping: [.store(grant(nil))]
    }
  }

  private var call: TruecallerCall? {
    guard let token = token?.unsealed() else {
      return phase == .reading ? account.map { .keptProfile(number, $0) } : nil
    }
    return switch phase {
    case .validating: .validate(accessToken: token)
    case .updating(let name): .update(name, number, accessToken: token)
    case .reading: .profile(number, accessToken: token)
    case .storing, .checking, .keeping: nil
    }
  }

  /// Handles an event.
  ///
  /// - Returns: Nil if the token that an earlier flow stored is of no use: Truecaller gives no
  ///   profile for it, or it belongs to another number. Another code is sent then; without that,
  ///   the number could not be verified any more.
  mutating func receive(
    _ event: FlowEvent<TruecallerCall>, _ provider: Provider<TruecallerSettings>
  ) -> Answer<TruecallerCall>? {
    switch event {
    case .daemon(.answered(.stored(let account))):
      return stored(account)
    case .provider(.called(let call, let outcome)) where call == self.call && !retrying.isPaused:
      return answered(outcome, provider)
    case .provider(.idTokenVerified(let verdict)):
      guard case .checking(let profile) = phase, !retrying.isPaused else { return .ignore }
      return handleVerdict(profile, verdict, provider)
    case .woken where retrying.isPaused:
      retrying.endPause()
      return .proceed(effects)
    case .daemon(.resumed):
      return resume()
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func transition(to phase: Phase) -> Answer<TruecallerCall> {
    self.phase = phase
    retrying = RetryBackoff()
    problem = nil
    return .proceed(effects)
  }

  private mutating func resume() -> Answer<TruecallerCall> {
    switch phase {
    // An earlier version began to write the name or to read the profile without an account.
    case .updating, .reading, .checking:
      if account == nil { return transition(to: .storing) }
    case .validating, .storing, .keeping: break
    }
    retrying.endPause()
    return .proceed(effects)
  }

  private mutating func stored(_ account: AccountID) -> Answer<TruecallerCall> {
    switch phase {
    case .storing:
      self.account = account
      return transition(to: name.map { .updating($0) } ?? .reading)
    case .keeping(let failure): return .fail(failure)
    case .validating, .updating, .reading, .checking: return .ignore
    }
  }

  private mutating func retryLater(
    _ fault: TruecallerReplyError, _ provider: ProviderName
  ) -> Answer<TruecallerCall> {
    let failure = fault.failure(provider)
    let pause = pause(retrying, failure, after: fault.retryAfter) { $0.retrying = $1 }
    return pause.map { .proceed([.wake(after: $0)]) } ?? endWithoutProfile(failure)
  }

  /// Continues without what the failed call was for: without the name, or fails without a profile.
  private mutating func endWithoutProfile(_ failure: Failure) -> Answer<TruecallerCall> {
    switch phase {
    case .updating:
      nameProblem = .nameNotWritten(failure)
      return transition(to: .reading)
    case .validating: return .fail(failure)
    case .storing, .reading, .checking, .keeping:
      isConfirmed = true
      return .fail(copy(failure) { $0.message += "; " + Self.tokenIsKept })
    }
  }

  private static let tokenIsKept =
    "the number is verified and its token is kept: "
    + "run verifyPhone again to read the profile without another code"

  /// Fails because the profile shows that the token is not for this number. A token that an earlier
  /// flow stored is replaced by another verification instead.
  private func failForeign(_ failure: Failure) -> Answer<TruecallerCall>? {
    token == nil ? nil : .fail(failure)
  }
}

// MARK: - Replies of the server

extension PhoneAdmission {
  private mutating func answered(
    _ outcome: CallOutcome, _ provider: Provider<TruecallerSettings>
  ) -> Answer<TruecallerCall>? {
    let settings = provider.settings
    let needsBody = needsBody(settings)
    switch TruecallerReply(outcome, hiding: typed(settings), needsBody: needsBody) {
    case .success(let members): return handleSuccess(members, provider)
    case .refused where readsForEarlierFlow, .unreadable where readsForEarlierFlow,
      .noToken where readsForEarlierFlow:
      return nil
    case .refused(let refusal):
      let failure = Failure.refused(error(refusal), refusal, provider.name)
      // A 401 to the profile means that a later flow cannot read it with this token either.
      return phase == .reading && refusal.status == 401
        ? .fail(failure) : endWithoutProfile(failure)
    case .failed(let fault): return retryLater(fault, provider.name)
    case .unreadable(let message), .noToken(let message):
      return endWithoutProfile(.unusable(message, unreadable, provider.name))
    }
  }

  /// Whether the profile is read with a token that an earlier flow stored.
  private var readsForEarlierFlow: Bool { phase == .reading && token == nil }

  private func typed(_ settings: TruecallerSettings) -> TypedValues {
    TypedValues(number: number, name: name, codeLength: settings.otpDigits)
  }

  /// Whether a success needs a body.
  ///
  /// The form of a success of the update of the name is not documented; the SDK ignores that reply.
  /// The same is true of the validation by the first generation of the API.
  private func needsBody(_ settings: TruecallerSettings) -> Bool {
    switch phase {
    case .updating: false
    case .validating: settings.validation != .legacy
    case .storing, .reading, .checking, .keeping: true
    }
  }

  private mutating func handleSuccess(
    _ members: [String: JSONValue], _ provider: Provider<TruecallerSettings>
  ) -> Answer<TruecallerCall>? {
    switch phase {
    case .validating:
      if let failure = flaw(in: members, provider) { return .fail(failure) }
      return transition(to: .storing)
    case .updating: return transition(to: .reading)
    case .reading:
      do throws(UnusableReply) {
        guard let signed = try SignedProfile(members) else { return finish(members, provider.name) }
        return transition(to: .checking(signed))
      } catch {
        return failForeign(.badSignature(error.message, provider.name))
      }
    case .storing, .checking, .keeping: return .ignore
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
    case .storing, .reading, .checking, .keeping:
      refusal.isUnauthorized ? .unauthorizedUser : .internal
    }
  }

  private var unreadable: TruecallerErrorCode {
    switch phase {
    case .validating, .updating: .internal
    case .storing, .reading, .checking, .keeping: .userProfileContentNotValid
    }
  }

  private mutating func handleVerdict(
    _ profile: SignedProfile, _ verdict: IDTokenVerdict, _ config: Provider<TruecallerSettings>
  ) -> Answer<TruecallerCall>? {
    let provider = config.name
    switch verdict {
    case .genuine:
      guard let members = profile.members else {
        let message = "the provider's signed profile cannot be read"
        return endWithoutProfile(.unusable(message, .userProfileContentNotValid, provider))
      }
      return finish(members, provider)
    case .refused(let message): return failForeign(.badSignature(message, provider))
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
  ) -> Answer<TruecallerCall>? {
    // An empty number counts as absent.
    if let reported = members["phoneNumber"], !reported.isNull, reported.stringValue != "",
      !number.isMatch(for: reported, country: members["countryCode"]?.stringValue)
    {
      return failForeign(.otherNumber(provider))
    }
    isConfirmed = true
    let profile = TrueProfile(members)
    var result: [String: JSONValue] = ["profile": .object(profile.members)]
    result["nameProblem"] = nameProblem?.json
    return .finish(
      Completion(
        grant: grant(profile), result: result,
        // If the account was removed in the meantime, it must not be created again.
        preconditions: account.map { .init(account: $0, consents: []) }))
  }

  /// Returns the account to store: with its token and marked as pending before the profile is
  /// known, then with the profile.
  ///
  /// - Parameter profile: The profile; nil if it has not been read yet.
  private func grant(_ profile: TrueProfile?) -> AccountGrant {
    // The account has its token already when the profile is stored.
    let newToken = profile == nil ? token : nil
    var grant = AccountGrant(
      subject: number.e164, label: profile?.name ?? number.masked,
      attributes: [
        "countryCode": .string(number.country), Self.pending: profile == nil ? true : .null,
      ],
      profile: profile?.members,
      tokens: newToken.map {
        TokenSet(accessToken: $0, tokenType: "Bearer", expiresAt: nil, scope: "")
      })
    if token != nil { grant.attributes["verifiedBefore"] = .bool(isVerifiedBefore) }
    grant.isPartial = profile == nil
    return grant
  }
}
