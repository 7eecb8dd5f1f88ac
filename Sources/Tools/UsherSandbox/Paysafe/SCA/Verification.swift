/// A method by which customers authenticate, from the vendor's enumeration.
///
/// Settings and control calls write it as `METHOD.CHANNEL` or `METHOD`.
struct SCAVerification: Sendable, Hashable {
  enum Method: String, Sendable, CaseIterable {
    case password = "PASSWORD"
    case pin = "PIN"
    case passkeys = "PASSKEYS"
    case otp = "OTP"
    case biometric = "BIOMETRIC"
    case pushNotification = "PUSH_NOTIFICATION"
  }

  enum Channel: String, Sendable, CaseIterable {
    case sms = "SMS"
    case email = "EMAIL"
    case authenticator = "AUTHENTICATOR"
    case pushNotification = "PUSH_NOTIFICATION"
    case redirect = "REDIRECT"
  }

  /// How the sandbox carries out a verification.
  enum Kind: Sendable {
    case sms
    case email
    case authenticator
    case pin
    case password
    case push
    case redirect
  }

  var method: Method
  var channel: Channel?

  init(_ method: Method, _ channel: Channel? = nil) {
    self.method = method
    self.channel = channel
  }

  /// Parses `METHOD.CHANNEL` or `METHOD`; nil if the method or the channel is unknown.
  init?(_ name: String) {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard (1...2).contains(parts.count), let method = Method(rawValue: parts[0]) else {
      return nil
    }
    self.method = method
    guard parts.count == 2 else { return }
    guard let channel = Channel(rawValue: parts[1]) else { return nil }
    self.channel = channel
  }

  /// Reads the members `method` and `channel`.
  init(_ members: inout ObjectReader) throws(OAuthError) {
    guard let method = Method(rawValue: try members.requiredText("method")) else {
      throw members.invalid(
        "method", "must be one of \(Method.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    self.method = method
    guard let name = try members.text("channel") else { return }
    guard let channel = Channel(rawValue: name) else {
      throw members.invalid(
        "channel", "must be one of \(Channel.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    self.channel = channel
  }

  var name: String {
    [method.rawValue, channel?.rawValue].compactMap(\.self).joined(separator: ".")
  }

  /// How the sandbox carries out this verification; nil if it does not support it.
  var kind: Kind? {
    switch (method, channel) {
    case (_, .redirect): .redirect
    case (_, .pushNotification), (.pushNotification, nil): .push
    case (.otp, .sms): .sms
    case (.otp, .email): .email
    case (.otp, .authenticator): .authenticator
    case (.pin, nil): .pin
    case (.password, nil): .password
    case (_, _): nil
    }
  }

  /// Whether the user can be verified in this way.
  func isAvailable(to user: User) -> Bool {
    switch kind {
    case .sms: user.phone != nil
    case .pin: user.pin != nil
    case .email, .authenticator, .password, .push, .redirect: true
    case nil: false
    }
  }

  /// The masked phone number or e-mail address to which the challenge is sent; nil for other kinds.
  func target(of user: User) -> String? {
    switch kind {
    case .sms: user.phone.map { "\($0.prefix(3)) ••• \($0.suffix(3))" }
    case .email:
      "\(user.email.prefix(1))•••\(user.email.drop { $0 != "@" })"
    case .authenticator, .pin, .password, .push, .redirect, nil: nil
    }
  }
}
