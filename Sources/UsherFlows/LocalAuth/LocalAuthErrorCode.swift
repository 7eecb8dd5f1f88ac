import UsherConfig
package import UsherCore

/// The nine error codes with which the BSA SDK reports a failed local authentication (SDK
/// documentation, `startSimpleAuth`).
package enum LocalAuthErrorCode: String, Codable, Sendable, CaseIterable {
  case domainStateChanged = "DOMAIN_STATE_CHANGED"
  /// The SDK documentation misspells the code.
  case biometricNotAvailable = "BIOMETRIC_NOT_AVILABLE"
  case biometricNotSupportHardware = "BIOMETRIC_NOT_SUPPORT_HARDWARE"
  case biometricLockOut = "BIOMETRIC_LOCK_OUT"
  case biometricNotEnrolledDevice = "BIOMETRIC_NOT_ENROLLED_DEVICE"
  case passcodeNotEnrolledDevice = "PASSCODE_NOT_ENROLLED_DEVICE"
  case userCancel = "USER_CANCEL"
  case userFallback = "USER_FALLBACK"
  case authFailed = "AUTH_FAILED"

  /// Reads an error code of the SDK. The correct spelling of `AVAILABLE` is accepted too; any other
  /// text gives nil.
  package init?(written text: String) {
    let text = text == "BIOMETRIC_NOT_AVAILABLE" ? Self.biometricNotAvailable.rawValue : text
    self.init(rawValue: text)
  }

  /// The error as one of the daemon's own provider, `local`.
  package var providerErrorCode: ProviderErrorCode {
    ProviderErrorCode(name: ProviderName(ProviderConfig.reservedName), code: rawValue)
  }
}

extension LocalAuthErrorCode {
  var title: String {
    switch self {
    case .domainStateChanged: "Fingers changed"
    case .biometricNotAvailable: "Reader not available"
    case .biometricNotSupportHardware: "No fingerprint reader"
    case .biometricLockOut: "Fingerprint locked"
    case .biometricNotEnrolledDevice: "No finger enrolled"
    case .passcodeNotEnrolledDevice: "No passcode set"
    case .userCancel: "Cancelled"
    case .userFallback: "Another method chosen"
    case .authFailed: "Not authenticated"
    }
  }
}
