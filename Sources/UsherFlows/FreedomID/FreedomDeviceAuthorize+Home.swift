import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

// The choice of an account, the user's local authentication, and the consent to the grants.

extension FreedomDeviceAuthorize {
  /// The option to log in with an account that is not in the list.
  private static let other = StepOption(id: "other", label: "Another account")

  /// The step that lets the user choose an account. If the caller named an account, there is no
  /// option for another one.
  var choice: Step.Choose {
    let others = order.account == nil ? [Self.other] : []
    return Step.Choose(
      what: .account,
      options: tied.map { StepOption(id: $0.id.rawValue, label: $0.label) } + others)
  }

  mutating func home(_ event: Event, _ now: Timestamp) -> Answer {
    switch event {
    case .input(.choice(Self.other.id)) where order.account == nil: return signIn(nil)
    case .input(.choice(let id)):
      guard let account = tied.first(where: { $0.id.rawValue == id }) else { return .notAnOption }
      return prove(account)
    case .input(.back): return .noPreviousStep
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  mutating func proving(
    _ event: Event, _ account: NamedAccount, _ authentication: LocalAuthentication, _ now: Timestamp
  ) -> Answer {
    if case .input(.back) = event { return chooseAgain(nil) }
    return authentication.handle(event, at: now) {
      state = .proving(account, $0)
    } authenticated: { _ in
      state = .recalling(account)
      problem = nil
      return .proceed([.ask(.consents(of: account.id))])
    } failed: { errorCode, message in
      errorCode == .userCancel
        ? chooseAgain(.notAuthenticated)
        : .fail(.notAuthenticated(errorCode, message, provider.name))
    }
  }

  mutating func recalling(
    _ event: Event, _ account: NamedAccount, _ transition: inout TransitionContext
  ) -> Answer {
    switch event {
    case .daemon(.answered(.consents(let consents))):
      let remembered = order.grants.filter {
        !provider.settings.asksAlways && consents.contains($0.rawValue)
      }
      guard remembered.count < order.grants.count else {
        return complete(account, remembered, new: [], &transition)
      }
      state = .permissions(account, remembered: remembered)
      return .proceed([])
    case .daemon(.resumed): return .proceed([.ask(.consents(of: account.id))])
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  func consent(_ remembered: [DataGrant]) -> Step.Consent {
    Step.Consent(
      client: order.client,
      grants: order.grants.map {
        .init(id: $0.rawValue, label: $0.label, remembered: remembered.contains($0))
      })
  }

  mutating func permissions(
    _ event: Event, _ account: NamedAccount, _ remembered: [DataGrant],
    _ transition: inout TransitionContext
  ) -> Answer {
    switch event {
    case .input(.granted(let texts)):
      let granted = Set(texts.compactMap { DataGrant(either: $0) })
      let areKnown = texts.allSatisfy { DataGrant(either: $0) != nil }
      guard areKnown, granted.isSubset(of: order.grants) else {
        return .refuse(
          field: "input.granted",
          message: "input.granted names a grant that the step does not request")
      }
      let new = order.grants.filter { granted.contains($0) && !remembered.contains($0) }
      guard !new.isEmpty else {
        return .refuse(
          field: "input.granted",
          message: "input.granted must name at least one new grant; to deny, answer {denied: true}")
      }
      return complete(account, remembered, new: new, &transition)
    case .input(.denied):
      denials += 1
      guard denials < 2 else {
        return .fail(.denied("the permissions are needed to continue", provider.name))
      }
      return chooseAgain(.deniedOnce)
    case .input(.back): return chooseAgain(nil)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }
}

extension Problem {
  fileprivate static let deniedOnce = Problem(
    reason: "denied", title: "Permissions denied",
    message: "the permissions are needed to continue: choose an account to be asked again")

  fileprivate static let notAuthenticated = Problem(
    reason: "local_auth_cancelled", title: "Not authenticated",
    message: "the account was not opened: choose one to try again")
}

extension Failure {
  /// The failure of a flow whose user did not authenticate locally.
  ///
  /// - Parameter message: A sentence for users.
  static func notAuthenticated(
    _ errorCode: LocalAuthErrorCode, _ message: String, _ provider: ProviderName
  ) -> Failure {
    let isSetUp = errorCode != .passcodeNotEnrolledDevice
    return Failure(
      reason: .localAuthFailed, title: "Not authenticated", message: message, retryable: true,
      provider: ProviderErrorCode(
        name: provider,
        code: (isSetUp ? FreedomIDErrorCode.authError : .configurationError).rawValue,
        error: errorCode.rawValue))
  }
}
