// The spelling is the SDK's: cases begin with a capital, or are written in capitals.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import UsherAPI

extension BSA {
  public enum Enums {
    /// The type of the data to check (SDK documentation, "Duplicated Registered Information").
    public enum VerifyType: Sendable, Equatable, CaseIterable {
      case Email
      case PhoneNumber

      /// The type's name in the daemon's API.
      var apiValue: RegistrationCheckDuplicate.VerifyType { self == .Email ? .email : .phoneNumber }
    }

    /// The method of local authentication (SDK documentation, "Local Authentication").
    ///
    /// The raw value is that of the account's attribute `localAuthType` at the daemon.
    public enum LocalAuthType: String, Sendable, Equatable, CaseIterable {
      /// No authentication. It is accepted only if the daemon's configuration allows it.
      case NONE
      case BIOMETRIC
      case PASSCODE

      /// The method's name in the daemon's API.
      var apiValue: String { rawValue.lowercased() }
    }

    public enum OSType: Sendable, Equatable, CaseIterable {
      /// The value that the SDK documentation uses. It is not sent, because the daemon itself tells
      /// BSA the system.
      case iOS
    }
  }
}

extension BSA.APICaller {
  /// The channel by which an OTP number is sent.
  ///
  /// The raw value is the daemon's name of the channel.
  public enum OTPSendType: String, Sendable, Equatable, CaseIterable {
    case Email = "email"
    case SMS = "sms"
  }
}

extension BSA {
  public enum LocalAuthHelper {
    /// The reason why local authentication failed. The page LocalAuth in Usher.docc lists the
    /// causes of each.
    public enum ErrorCode: String, Sendable, Equatable, CaseIterable {
      case DOMAIN_STATE_CHANGED
      /// The SDK documentation misspells this name.
      case BIOMETRIC_NOT_AVILABLE
      case BIOMETRIC_NOT_SUPPORT_HARDWARE
      case BIOMETRIC_LOCK_OUT
      case BIOMETRIC_NOT_ENROLLED_DEVICE
      case PASSCODE_NOT_ENROLLED_DEVICE
      case USER_CANCEL
      case USER_FALLBACK
      case AUTH_FAILED

      /// The correct spelling of `BIOMETRIC_NOT_AVILABLE`.
      public static let BIOMETRIC_NOT_AVAILABLE = ErrorCode.BIOMETRIC_NOT_AVILABLE
    }
  }
}
