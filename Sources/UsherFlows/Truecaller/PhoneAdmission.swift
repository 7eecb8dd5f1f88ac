import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// The end of a verification: from an access token to the profile.
///
/// The token is validated where that is configured, the name written, the profile read. All of it is
/// safe to repeat, so a restart loses nothing; whatever speaks of another number ends it.
struct PhoneAdmission: Codable, Sendable, Equatable {
  private let number: PhoneNumber
  private let token: Sealed<Secret>
  /// Nil where nobody was asked for one.
  private let name: TruecallerName?
  private let isVerifiedBefore: Bool
  private var phase: Phase
  private var retrying = Retrying()
  private var problem: Problem?

  private enum Phase: Codable, Sendable, Equatable {
    /// → updating, reading, or the end
    case validating
    /// → reading, or the end
    case updating(TruecallerName)
    /// → checking, or the end
    case reading
    /// The profile came signed. → the end
    case checking(SignedProfile)
  }

  /// - Parameter isVerifiedBefore: Whether the token came without a code. A name may have been typed
  ///   all the same, with a code of which nobody knows what became.
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

  private static func afterValidation(_ name: TruecallerName?) -> Phase {
    name.map { .updating($0) } ?? .reading
  }

  /// The same for all of a state: what is done within it is nobody's business, and each state is seen
  /// once.
  var view: FlowView {
    if isVerifiedBefore { return waiting("verifiedBefore", for: "the provider's profile") }
    return switch phase {
    case .validating, .updating: waiting("otpReceived", for: "the code's verification")
    case .reading, .checking: waiting("verificationComplete", for: "the provider's profile")
    }
  }

  private func waiting(_ state: String, for what: String) -> FlowView {
    FlowView(state: state, step: .wait(.init(for: what)), problem: problem)
  }

  var effects: [Effect<TruecallerCall>] {
    switch phase {
    case .validating, .updating, .reading: call.map { [.call($0)] } ?? []
    case .checking(let profile): [.verifySignature(profile.text)]
    }
  }

  private var call: TruecallerCall? {
    let token = token.unsealed()
    return switch phase {
    case .validating: .validate(accessToken: token)
    case .updating(let name): .update(name, number, accessToken: token)
    case .reading: .profile(number, accessToken: token)
    case .checking: nil
    }
  }

  mutating func receive(
    _ event: FlowEvent<TruecallerCall>, _ provider: ProviderConfig
  ) -> Answer<TruecallerCall> {
    switch event {
    case .called(let call, let outcome) where call == self.call && !retrying.isPaused:
      return answered(outcome, provider)
    case .idTokenVerified(let verdict):
      guard case .checking(let profile) = phase, !retrying.isPaused else { return .ignore }
      return judged(profile, verdict, provider)
    case .woken where !retrying.isPaused: return .ignore
    case .woken, .resumed:
      retrying.goOn()
      return .proceed(effects)
    case .input, .redirected, .listening, .listenFailed, .called, .discovered, .calledBack, .told:
      return .ignore
    }
  }

  private mutating func go(to phase: Phase) -> Answer<TruecallerCall> {
    self.phase = phase
    retrying = Retrying()
    problem = nil
    return .proceed(effects)
  }

  private mutating func tryLater(
    _ trouble: TruecallerTrouble, _ provider: ProviderName
  ) -> Answer<TruecallerCall> {
    guard let pause = retrying.failed() else {
      return .fail(.unreachable(trouble.message, trouble.word(provider)))
    }
    problem = .unreachable(trouble, provider)
    return .proceed([.wake(after: Retrying.pause(pause, asked: trouble.retryAfter))])
  }
}

// MARK: - What the server says

extension PhoneAdmission {
  private mutating func answered(
    _ outcome: CallOutcome, _ provider: ProviderConfig
  ) -> Answer<TruecallerCall> {
    let settings = provider.truecaller
    let needsBody = needsBody(settings)
    switch TruecallerReply(outcome, hiding: typed(settings), needsBody: needsBody) {
    case .said(let members): return said(members, provider)
    case .refused(let refusal): return .fail(.refused(error(refusal), refusal, provider.name))
    case .trouble(let trouble): return tryLater(trouble, provider.name)
    case .unreadable(let message): return .fail(.unusable(message, unreadable, provider.name))
    }
  }

  private func typed(_ settings: TruecallerSettings) -> TypedValues {
    TypedValues(number: number, name: name, codeLength: settings.otpDigits)
  }

  /// The SDK looks at no answer to the update; here a refusal counts (contract §10, trap 1), though
  /// what a yes looks like nobody says. Nor does anybody of the first generation's validation.
  private func needsBody(_ settings: TruecallerSettings) -> Bool {
    switch phase {
    case .updating: false
    case .validating: settings.validation != .legacy
    case .reading, .checking: true
    }
  }

  private mutating func said(
    _ members: [String: JSONValue], _ provider: ProviderConfig
  ) -> Answer<TruecallerCall> {
    switch phase {
    case .validating:
      if let failure = flaw(in: members, provider) { return .fail(failure) }
      return go(to: Self.afterValidation(name))
    case .updating: return go(to: .reading)
    case .reading:
      do throws(UnusableReply) {
        guard let signed = try SignedProfile(members) else {
          return finish(members, provider.name)
        }
        return go(to: .checking(signed))
      } catch {
        return .fail(.badSignature(error.message, provider.name))
      }
    case .checking: return .ignore
    }
  }

  /// Why a validation is none.
  private func flaw(in members: [String: JSONValue], _ provider: ProviderConfig) -> Failure? {
    if let told = members["phoneNumber"], !told.isNull {
      let country = members["countryCode"]?.stringValue
      return number.isMeant(by: told, country: country) ? nil : .otherNumber(provider.name)
    }
    switch provider.truecaller.validation {
    case .none, .legacy: return nil
    case .sdk28, .oauth:
      let message = "the provider does not say whose access token it is"
      return .unusable(message, .internal, provider.name)
    }
  }

  private func error(_ refusal: TruecallerRefusal) -> TCError {
    switch phase {
    case .validating:
      switch (refusal.status, refusal.code) {
      // Two meanings of one status (contract §1.3 item 5; §10, trap 1).
      case (404, "404"): .unauthorizedDeveloper
      case (404, "1404"): .unauthorizedUser
      default: refusal.isUnauthorized ? .unauthorizedDeveloper : .internal
      }
    case .updating: refusal.isUnauthorized ? .unauthorizedUser : .userProfileContentNotValid
    case .reading, .checking: refusal.isUnauthorized ? .unauthorizedUser : .internal
    }
  }

  private var unreadable: TCError {
    switch phase {
    case .validating, .updating: .internal
    case .reading, .checking: .userProfileContentNotValid
    }
  }

  private mutating func judged(
    _ profile: SignedProfile, _ verdict: IDTokenVerdict, _ config: ProviderConfig
  ) -> Answer<TruecallerCall> {
    let provider = config.name
    switch verdict {
    case .genuine:
      guard let members = profile.members else {
        let message = "what the provider has signed is no profile"
        return .fail(.unusable(message, .userProfileContentNotValid, provider))
      }
      return finish(members, provider)
    case .refused(let message): return .fail(.badSignature(message, provider))
    case .keyless(let message): return .fail(.unusable(message, .internal, provider))
    case .unreachable(let message, let reply):
      let trouble = reply.map {
        TruecallerTrouble(busy: $0, hiding: typed(config.truecaller))
      }
      return tryLater(trouble ?? .network(message, sent: true), provider)
    }
  }

  private func finish(
    _ members: [String: JSONValue], _ provider: ProviderName
  ) -> Answer<TruecallerCall> {
    // An empty one is none.
    if let told = members["phoneNumber"], !told.isNull, told.stringValue != "",
      !number.isMeant(by: told, country: members["countryCode"]?.stringValue)
    {
      return .fail(.otherNumber(provider))
    }
    let profile = TrueProfile(members)
    let tokens = TokenSet(accessToken: token, tokenType: "Bearer", expiresAt: nil, scope: "")
    return .finish(
      Completion(
        grant: AccountGrant(
          subject: number.e164, label: profile.name ?? number.masked,
          attributes: [
            "countryCode": .string(number.country), "verifiedBefore": .bool(isVerifiedBefore),
          ],
          profile: profile.members, tokens: tokens),
        result: ["profile": .object(profile.members)]))
  }
}
