// The SDK's spelling: cases that begin with a capital, or are written in capitals.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import UsherAPI

extension BSA {
  public enum Enums {
    /// The type of the data to check (seed, "Duplicated Registered Information").
    public enum VerifyType: Sendable, Equatable, CaseIterable {
      case Email
      case PhoneNumber

      /// The daemon's name of the type.
      var apiValue: RegistrationCheckDuplicate.VerifyType { self == .Email ? .email : .phoneNumber }
    }

    /// The method of local authentication (seed, "Local Authentication").
    ///
    /// The raw value is that of the account's attribute `localAuthType` at the daemon.
    public enum LocalAuthType: String, Sendable, Equatable, CaseIterable {
      /// No authentication; only if the daemon's configuration allows it.
      case NONE
      case BIOMETRIC
      case PASSCODE

      /// The daemon's name of the method.
      var apiValue: String { rawValue.lowercased() }
    }

    public enum OSType: Sendable, Equatable, CaseIterable {
      /// The value that the seed uses. It is not sent: the daemon itself tells BSA the system.
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
    /// The reason why local authentication failed. The daemon's page LocalAuth lists the causes of
    /// each.
    public enum ErrorCode: String, Sendable, Equatable, CaseIterable {
      case DOMAIN_STATE_CHANGED
      /// Spelled as in the seed.
      case BIOMETRIC_NOT_AVILABLE
      case BIOMETRIC_NOT_SUPPORT_HARDWARE
      case BIOMETRIC_LOCK_OUT
      case BIOMETRIC_NOT_ENROLLED_DEVICE
      case PASSCODE_NOT_ENROLLED_DEVICE
      case USER_CANCEL
      case USER_FALLBACK
      case AUTH_FAILED

      /// The same case, spelled correctly.
      public static let BIOMETRIC_NOT_AVAILABLE = ErrorCode.BIOMETRIC_NOT_AVILABLE
    }
  }
}
