// The SDK's spelling: cases that begin with a capital, or are written in capitals.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import UsherAPI

extension BSA {
  public enum Enums {
    /// What is looked for (seed, "Duplicated Registered Information").
    public enum VerifyType: Sendable, Equatable, CaseIterable {
      case Email
      case PhoneNumber

      /// The daemon's.
      var word: RegistrationCheckDuplicate.VerifyType {
        switch self {
        case .Email: .email
        case .PhoneNumber: .phoneNumber
        }
      }
    }

    /// How the person at this machine is known (seed, "Local Authentication").
    ///
    /// The raw value is the daemon's attribute `localAuthType`.
    public enum LocalAuthType: String, Sendable, Equatable, CaseIterable {
      /// Not at all: only where the daemon's configuration allows it.
      case NONE
      case BIOMETRIC
      case PASSCODE

      /// The daemon's.
      var word: String { rawValue.lowercased() }
    }

    public enum OSType: Sendable, Equatable, CaseIterable {
      /// As the seed says; what BSA gets is the daemon's to say.
      case iOS
    }
  }
}

extension BSA.APICaller {
  /// How a number is sent.
  ///
  /// The raw value is the daemon's word.
  public enum OTPSendType: String, Sendable, Equatable, CaseIterable {
    case Email = "email"
    case SMS = "sms"
  }
}

extension BSA {
  public enum LocalAuthHelper {
    /// Why the person at this machine was not authenticated. The daemon's page LocalAuth tells what
    /// produces each.
    public enum ErrorCode: String, Sendable, Equatable, CaseIterable {
      case DOMAIN_STATE_CHANGED
      /// The seed's spelling.
      case BIOMETRIC_NOT_AVILABLE
      case BIOMETRIC_NOT_SUPPORT_HARDWARE
      case BIOMETRIC_LOCK_OUT
      case BIOMETRIC_NOT_ENROLLED_DEVICE
      case PASSCODE_NOT_ENROLLED_DEVICE
      case USER_CANCEL
      case USER_FALLBACK
      case AUTH_FAILED

      /// The right spelling, for the same.
      public static let BIOMETRIC_NOT_AVAILABLE = ErrorCode.BIOMETRIC_NOT_AVILABLE
    }
  }
}
