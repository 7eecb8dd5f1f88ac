import UsherAPI

/// The kind of action that a verification requires of the customer.
enum SCAForm: Codable, Sendable, Hashable {
  /// The customer types a code that was sent by SMS or e-mail, or that an authenticator shows.
  case code(Channel)
  /// The customer types a secret that the customer knows, a PIN or password.
  case secret(Purpose)
  /// The customer confirms on another device, after a push message.
  case push
  /// The customer confirms on a page of the provider.
  case redirect

  /// The channel by which the customer gets the code. The raw values are those of the flow's step.
  enum Channel: String, Codable, Sendable { case sms, email, authenticator }
  enum Purpose: String, Codable, Sendable { case pin, password }

  /// Whether the customer types the answer into the step.
  var isTyped: Bool {
    switch self {
    case .code, .secret: true
    case .push, .redirect: false
    }
  }

  /// The message that a challenge sends to the customer, with an article; nil if it sends none.
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
  /// The kind of action that this verification requires of the customer. Nil if the verification is
  /// unknown or needs the SDK on a phone: passkeys, and biometrics that are not confirmed elsewhere
  /// (provider contract §2.5).
  ///
  /// PUSH_NOTIFICATION is a method in one of the vendor's schemas and a channel in others (§10,
  /// trap 4). AUTHENTICATOR is a channel and is accepted as a method too.
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

/// A verification that usherd supports, as an option for the customer.
struct SCAOption: Codable, Sendable, Equatable {
  /// The verification by Paysafe's names of method and channel.
  let verification: PaysafeCall.Verification
  let form: SCAForm
  /// The phone number or e-mail address to which the challenge is sent, masked by Paysafe.
  var target: String?

  /// Creates the customer's option for a verification that Paysafe offers; nil if usherd does not
  /// support the verification.
  init?(_ offer: SCADemand.Offer) {
    guard let form = offer.verification.form else { return nil }
    verification = offer.verification
    self.form = form
    target = offer.target
  }

  /// Creates the customer's option for a verification (method and channel) that the caller
  /// requests, whether or not Paysafe offers it; nil if usherd does not support the verification.
  ///
  /// AUTHENTICATOR is a channel at Paysafe. If the caller names it as the method, without a
  /// channel, the option has the method OTP and the channel AUTHENTICATOR.
  init?(requested: PaysafeCall.Verification) {
    let isMethod = requested == .init(method: "AUTHENTICATOR")
    self.init(.init(isMethod ? .init(method: "OTP", channel: "AUTHENTICATOR") : requested))
  }

  /// The id of the option: `METHOD.CHANNEL`, or `METHOD` if there is no channel.
  var id: String {
    [verification.method, verification.channel].compactMap(\.self).joined(separator: ".")
  }

  /// The option in the form in which a step shows it.
  var shown: StepOption { StepOption(id: id, label: label) }

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

  /// Returns whether the caller's request means this option, even if method and channel are spelled
  /// differently.
  fileprivate func isMatch(for requested: PaysafeCall.Verification) -> Bool {
    guard requested.form == form else { return false }
    switch form {
    case .code, .secret: return true
    case .push: return [requested.method, verification.method].contains("PUSH_NOTIFICATION")
    case .redirect: return requested == verification
    }
  }
}

extension [SCAOption] {
  /// The options to show if Paysafe accepts any method.
  static let anyAgreed: [SCAOption] = [
    PaysafeCall.Verification(method: "OTP", channel: "SMS"), .init(method: "OTP", channel: "EMAIL"),
    .init(method: "OTP", channel: "AUTHENTICATOR"), .init(method: "PIN"), .init(method: "PASSWORD"),
    .init(method: "PUSH_NOTIFICATION"), .init(method: "BIOMETRIC", channel: "REDIRECT"),
  ].compactMap { SCAOption(requested: $0) }

  /// The supported options of Paysafe's list, each one once. An empty list means all options.
  init(offered: [SCADemand.Offer]) {
    guard !offered.isEmpty else {
      self = .anyAgreed
      return
    }
    var ids: Set<String> = []
    self = offered.compactMap { SCAOption($0) }.filter { ids.insert($0.id).inserted }
  }

  /// Returns the option that the caller's request means. An exact match takes precedence.
  func option(for requested: PaysafeCall.Verification) -> SCAOption? {
    first { $0.verification == requested } ?? first { $0.isMatch(for: requested) }
  }
}
