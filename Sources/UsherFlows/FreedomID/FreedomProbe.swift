import UsherConfig
import UsherCore

extension ProviderProbe {
  /// The probe of a Freedom ID provider: it requests the accounts of a device that does not exist,
  /// to see whether the API key is accepted.
  ///
  /// - Returns: Nil in mode `oauth2`, because each of its calls has an effect, and in mode `oidc`,
  ///   which discovery checks.
  static func freedomid(_ settings: FreedomIDSettings) -> ProviderProbe? {
    guard settings.mode == .device else { return nil }
    // The nil UUID (RFC 9562 §5.9).
    let call = FreedomDeviceCall.accounts(device: "00000000-0000-0000-0000-000000000000")
    return ProviderProbe(subject: "accounts", call: call) { outcome in
      switch FreedomIDReply(outcome) {
      case .success: return (true, "it accepts the API key")
      case .refused(let refusal):
        return switch refusal.errorCode {
        // The provider checks the API key before the device.
        case .identificationError: (true, "it accepts the API key")
        default: (false, "it answers \(refusal.sentence)")
        }
      case .failed(let failure): return (false, failure.message)
      case .unreadable(let flaw): return (false, flaw.message)
      case .noToken(let message): return (false, message)
      }
    }
  }
}
