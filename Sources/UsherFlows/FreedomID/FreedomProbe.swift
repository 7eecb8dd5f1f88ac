import UsherConfig
import UsherCore

extension ProviderProbe {
  /// The accounts of a device that nobody has: whether the API key is taken.
  ///
  /// - Returns: Nil in mode `oauth2`, where whatever is asked begins something, and in mode `oidc`, which
  ///   discovery checks.
  static func freedomid(_ settings: FreedomIDSettings) -> ProviderProbe? {
    switch settings.mode {
    case .oauth2, .oidc: return nil
    case .device: break
    }
    // The nil UUID (RFC 9562 §5.9).
    let call = FreedomDeviceCall.accounts(device: "00000000-0000-0000-0000-000000000000")
    return ProviderProbe("accounts", call) { outcome in
      switch FreedomIDReply(outcome) {
      case .said: return (true, "it takes the API key")
      case .refused(let refusal):
        return switch refusal.word {
        // It asks for the key first.
        case .identificationError: (true, "it takes the API key")
        default: (false, "it answers \(refusal.sentence)")
        }
      case .failed(let failure): return (false, failure.message)
      case .unreadable(_, let message), .noToken(let message): return (false, message)
      }
    }
  }
}
