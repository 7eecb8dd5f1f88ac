import UsherAPI
import UsherClient

extension FreedomIDScreen {
  /// Returns the screen for a step of the daemon's flow; nil if the SDK has no screen for the step.
  static func screen(for step: Step) -> FreedomIDScreen? {
    switch step {
    case .wait(let step): .waiting(Waiting(reason: step.for))
    case .choose(let step): screen(step)
    case .fillForm(let step): .form(Form(fields: step.fields.map { Field($0) }))
    case .enterPassword: .password(Password())
    case .enterCode(let step): .code(Code(step))
    case .localAuth(let step): screen(step)
    case .consent(let step): Permissions(step).map { .permissions($0) }
    case .openURL, .displayCode, .exchangeCredential: nil
    }
  }

  private static func screen(_ step: Step.Choose) -> FreedomIDScreen? {
    let choices = step.options.map { Choice(id: $0.id, label: $0.label) }
    switch step.what {
    case .loginMethod: return .loginMethod(LoginMethod(methods: choices))
    case .account:
      return .home(
        Home(
          accounts: choices.filter { $0.id != Home.another },
          allowsAnother: choices.contains { $0.id == Home.another }))
    case .verification: return nil
    }
  }

  private static func screen(_ step: Step.LocalAuth) -> FreedomIDScreen {
    guard step.scanning || step.methods.contains(.biometric) else {
      return .passcode(Passcode(reason: step.reason))
    }
    return .fingerprint(
      Fingerprint(
        reason: step.reason, isScanning: step.scanning,
        takesPasscode: step.methods.contains(.passcode)))
  }
}

extension FreedomIDScreen.Field {
  init(_ field: UsherAPI.Field) {
    name = field.name
    kind =
      switch field.type {
      case .text: .text
      case .email: .email
      case .phone: .phone
      case .password: .password
      case .date: .date
      }
    isRequired = field.required
    maxLength = field.maxLength
  }
}

extension FreedomIDScreen.Code {
  init(_ step: Step.EnterCode) {
    isSecondFactor = step.purpose == .twoFactor
    channel = step.channel
    maskedTarget = step.maskedTarget
    digits = step.digits
    expiresAt = step.expiresAt.date
    resendAt = step.resendAt.date
    attemptsLeft = step.attemptsLeft
  }
}

extension FreedomIDScreen.Permissions {
  /// Creates the screen for a consent step. Nil if the SDK does not know one of the grants, because
  /// a grant that cannot be shown must not be given.
  init?(_ step: Step.Consent) {
    client = step.client
    var permissions: [FreedomIDScreen.Permission] = []
    for grant in step.grants {
      guard let dataGrant = DataGrants(rawValue: grant.id) else { return nil }
      permissions.append(
        .init(grant: dataGrant, label: grant.label, isRemembered: grant.remembered))
    }
    self.permissions = permissions
  }
}
