import UsherConfig
import UsherCore

extension ProviderProbe {
  /// The request that tests whether a Freedom ID provider is usable: it asks for the accounts of a
  /// device that does not exist, to see whether the API key is accepted.
  ///
  /// - Returns: Nil in mode `oauth2`, because each of its calls has an effect, and in mode `oidc`,
  ///   which is tested by discovery.
  static func freedomid(_ settings: FreedomIDSettings) -> ProviderProbe? {
    guard settings.mode == .device else { return nil }
    // The nil UUID (RFC 9562 §5.9), which no device has.
    let call = FreedomDeviceCall.accounts(device: "00000000-0000-0000-0000-000000000000")
    return ProviderProbe(subject: "accounts", call: call) { outcome in
      switch FreedomIDReply(outcome) {
      case .success: return (true, "it accepts the API key")
      case .refused(let refusal):
        return switch refusal.errorCode {
        // Freedom ID checks the API key before the device, so this error means that the key is
        // right.
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
