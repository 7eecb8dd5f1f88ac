import JSONRPC

extension Wallet {
  /// How the customer proves to be there: one of the event's `availableVerifications`.
  public struct SCAAuthenticationEventAttemptVerification: Sendable, Equatable {
    public var method: SCAAuthenticationEventAttemptVerificationMethod
    /// Nil where the method has none: a PIN, a password.
    public var channel: SCAAuthenticationEventAttemptVerificationChannel?
    public var action: SCAAuthenticationEventAttemptVerificationAction?

    public init(
      method: SCAAuthenticationEventAttemptVerificationMethod,
      channel: SCAAuthenticationEventAttemptVerificationChannel? = nil,
      action: SCAAuthenticationEventAttemptVerificationAction? = nil
    ) {
      self.method = method
      self.channel = channel
      self.action = action
    }
  }

  /// Provider contract §2.5. The daemon refuses `passkeys` and `biometric` where there is nothing
  /// here that could answer them.
  public enum SCAAuthenticationEventAttemptVerificationMethod: String, Sendable, Equatable,
    CaseIterable
  {
    case password = "PASSWORD"
    case pin = "PIN"
    case passkeys = "PASSKEYS"
    case otp = "OTP"
    case biometric = "BIOMETRIC"
    case pushNotification = "PUSH_NOTIFICATION"
  }

  /// Provider contract §2.5.
  public enum SCAAuthenticationEventAttemptVerificationChannel: String, Sendable, Equatable,
    CaseIterable
  {
    case sms = "SMS"
    case email = "EMAIL"
    case authenticator = "AUTHENTICATOR"
    case pushNotification = "PUSH_NOTIFICATION"
    case redirect = "REDIRECT"
  }

  /// What the wallet has to know to send a challenge.
  public struct SCAAuthenticationEventAttemptVerificationAction: Sendable, Equatable {
    /// Of the message the customer gets: `en`.
    public var language: String?
    /// Where the browser comes back to; channel `redirect` requires it (seed).
    public var returnURL: String?

    public init(language: String? = nil, returnURL: String? = nil) {
      self.language = language
      self.returnURL = returnURL
    }
  }

  /// What became of an attempt.
  public enum SCAAuthenticationEventAttemptStatus: String, Sendable, Equatable, CaseIterable {
    /// Solved: the wallet operation may be repeated with its `scaDetails`.
    case verified = "VERIFIED"
    /// The value was wrong, and there are attempts left.
    case failed = "FAILED"
    /// The customer said no.
    case rejected = "REJECTED"
  }
}

extension Wallet.SCAAuthenticationEventAttemptVerification {
  /// The daemon's name of it among the options of a choice (its page Paysafe).
  var optionID: String {
    channel.map { "\(method.rawValue).\($0.rawValue)" } ?? method.rawValue
  }

  var json: JSONValue {
    .params(["method": .string(method.rawValue), "channel": .text(channel?.rawValue)])
  }
}
