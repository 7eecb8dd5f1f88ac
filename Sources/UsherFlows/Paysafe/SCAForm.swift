import UsherAPI

/// What a verification asks of the person.
enum SCAForm: Codable, Sendable, Hashable {
  /// A code to type.
  case code(Channel)
  /// A secret to type.
  case secret(Purpose)
  /// To be confirmed on another device.
  case push
  /// To be confirmed on a page of the provider.
  case redirect

  /// The raw values are those of the step.
  enum Channel: String, Codable, Sendable { case sms, email, authenticator }
  enum Purpose: String, Codable, Sendable { case pin, password }

  /// What a challenge sends to the person, with an article; nil where it sends nothing.
  var message: String? {
    switch self {
    case .code(.sms): "an SMS"
    case .code(.email): "an e-mail"
    case .push: "a notification"
    case .code(.authenticator), .secret, .redirect: nil
    }
  }
}

extension PaysafeCall.Verification {
  /// What it asks of the person; nil where it is unknown or needs what only the SDK on a phone has:
  /// passkeys, and biometrics that are not confirmed elsewhere (contract §2.5).
  ///
  /// PUSH_NOTIFICATION is a method in one of the vendor's schemas and a channel in others (§10, trap
  /// 4); AUTHENTICATOR is a channel that is taken as a method too.
  var form: SCAForm? {
    guard
      ["PASSWORD", "PIN", "OTP", "BIOMETRIC", "PUSH_NOTIFICATION", "AUTHENTICATOR"]
        .contains(method)
    else { return nil }
    switch (method, channel) {
    case (_, "REDIRECT"): return .redirect
    case (_, "PUSH_NOTIFICATION"), ("PUSH_NOTIFICATION", nil): return .push
    case ("OTP", "SMS"): return .code(.sms)
    case ("OTP", "EMAIL"): return .code(.email)
    case ("OTP", "AUTHENTICATOR"), ("AUTHENTICATOR", "AUTHENTICATOR"), ("AUTHENTICATOR", nil):
      return .code(.authenticator)
    case ("PIN", nil): return .secret(.pin)
    case ("PASSWORD", nil): return .secret(.password)
    default: return nil
    }
  }
}

/// A verification that can be done here.
struct SCAOption: Codable, Sendable, Equatable {
  /// As the provider names it.
  let verification: PaysafeCall.Verification
  let form: SCAForm
  /// Where it goes, masked by the provider.
  var target: String?

  /// Nil for what cannot be done here.
  init?(_ offer: SCADemand.Offer) {
    guard let form = offer.verification.form else { return nil }
    verification = offer.verification
    self.form = form
    target = offer.target
  }

  /// A verification that nobody has offered: an authenticator is named as the channel it is.
  init?(asked: PaysafeCall.Verification) {
    let isMethod = asked == .init(method: "AUTHENTICATOR")
    self.init(.init(isMethod ? .init(method: "OTP", channel: "AUTHENTICATOR") : asked))
  }

  /// `METHOD.CHANNEL` or `METHOD`.
  var id: String {
    [verification.method, verification.channel].compactMap(\.self).joined(separator: ".")
  }

  /// As people see it.
  var shown: Option { Option(id: id, label: label) }

  private var label: String {
    switch form {
    case .code(.sms): "Code by SMS" + (target.map { " to \($0)" } ?? "")
    case .code(.email): "Code by e-mail" + (target.map { " to \($0)" } ?? "")
    case .code(.authenticator): "Code of the authenticator app" + suffix
    case .secret(.pin): "PIN" + suffix
    case .secret(.password): "Password" + suffix
    case .push: "Confirmation on another device" + suffix
    case .redirect: "Confirmation in the browser" + suffix
    }
  }

  private var suffix: String { target.map { " (\($0))" } ?? "" }

  /// Whether a caller's words mean it, though they may be spelled otherwise.
  fileprivate func isMeant(by asked: PaysafeCall.Verification) -> Bool {
    guard asked.form == form else { return false }
    switch form {
    case .code, .secret: return true
    case .push: return [asked.method, verification.method].contains("PUSH_NOTIFICATION")
    case .redirect: return asked == verification
    }
  }
}

extension [SCAOption] {
  /// What people may be offered where the provider takes any method they agreed on with it.
  static let anyAgreed: [SCAOption] = [
    PaysafeCall.Verification(method: "OTP", channel: "SMS"), .init(method: "OTP", channel: "EMAIL"),
    .init(method: "OTP", channel: "AUTHENTICATOR"), .init(method: "PIN"), .init(method: "PASSWORD"),
    .init(method: "PUSH_NOTIFICATION"), .init(method: "BIOMETRIC", channel: "REDIRECT"),
  ].compactMap { SCAOption(asked: $0) }

  /// Those of a provider's list that can be done here, each once; all that can be where it is empty.
  init(offered: [SCADemand.Offer]) {
    guard !offered.isEmpty else {
      self = .anyAgreed
      return
    }
    var ids: Set<String> = []
    self = offered.compactMap { SCAOption($0) }.filter { ids.insert($0.id).inserted }
  }

  /// The one that a caller means.
  func meant(by asked: PaysafeCall.Verification) -> SCAOption? {
    first { $0.verification == asked } ?? first { $0.isMeant(by: asked) }
  }
}
