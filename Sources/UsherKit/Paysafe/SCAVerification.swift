import JSONRPC

extension Wallet {
  /// The way in which the customer is verified: one of the event's `availableVerifications`.
  public struct SCAAuthenticationEventAttemptVerification: Sendable, Equatable {
    public var method: SCAAuthenticationEventAttemptVerificationMethod
    /// The channel; nil if the method has none, such as a PIN or a password.
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

  /// The method of a verification (provider contract §2.5).
  ///
  /// The daemon refuses `passkeys`, and refuses `biometric` unless the customer confirms it
  /// elsewhere, such as through channel `redirect`.
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

  /// The channel of a verification (provider contract §2.5).
  public enum SCAAuthenticationEventAttemptVerificationChannel: String, Sendable, Equatable,
    CaseIterable
  {
    case sms = "SMS"
    case email = "EMAIL"
    case authenticator = "AUTHENTICATOR"
    case pushNotification = "PUSH_NOTIFICATION"
    case redirect = "REDIRECT"
  }

  /// Parameters of the message with which the wallet sends a challenge.
  public struct SCAAuthenticationEventAttemptVerificationAction: Sendable, Equatable {
    /// The language of the message to the customer, such as `en`.
    public var language: String?
    /// The URL to which the browser returns; channel `redirect` requires it (SDK documentation).
    public var returnURL: String?

    public init(language: String? = nil, returnURL: String? = nil) {
      self.language = language
      self.returnURL = returnURL
    }
  }

  /// The wallet's verdict on the customer's answer to a challenge.
  public enum SCAAuthenticationEventAttemptStatus: String, Sendable, Equatable, CaseIterable {
    /// The customer is verified: repeat the wallet operation with its `scaDetails`.
    case verified = "VERIFIED"
    /// The customer's code, PIN or password was wrong, and attempts are left.
    case failed = "FAILED"
    /// The customer refused the verification.
    case rejected = "REJECTED"
  }
}

extension Wallet.SCAAuthenticationEventAttemptVerification {
  /// The id of the verification among the options of a `choose` step (page Paysafe in Usher.docc).
  var optionID: String { channel.map { "\(method.rawValue).\($0.rawValue)" } ?? method.rawValue }

  var json: JSONValue {
    .params(["method": .string(method.rawValue), "channel": .text(channel?.rawValue)])
  }
}
