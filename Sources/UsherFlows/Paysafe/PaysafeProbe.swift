import UsherConfig
import UsherCore

extension ProviderProbe {
  /// Creates the probe of a Paysafe provider: it requests the config token, which belongs to no
  /// user.
  ///
  /// - Returns: Nil if no brand is configured, because the address needs one.
  static func paysafe(_ provider: Provider<PaysafeSettings>) -> ProviderProbe? {
    guard let brand = provider.settings.brandIdentity else { return nil }
    let isPublic = provider.settings.clientCredential == nil
    return ProviderProbe(subject: "token", call: PaysafeCall.configToken(brand: brand)) { outcome in
      switch outcome {
      case .reply(let reply):
        let request = TokenRequest(provider: provider.name, scope: "")
        switch TokenReply(reply, to: request, at: Timestamp(milliseconds: 0)) {
        case .granted: return (true, "it issues a config token")
        // A public client is refused a config token; the refusal itself shows that the endpoint
        // works.
        case .misconfigured, .rejected:
          let isAnswer = [400, 401, 403].contains(reply.status)
          return (isPublic && isAnswer, "it answers HTTP \(reply.status)")
        case .dead(let errorCode): return (false, "it answers \(errorCode.code)")
        case .retry(let message, _), .unreadable(let message): return (false, message)
        }
      case .unreachable(let message, _), .unreadable(let message), .noToken(let message):
        return (false, message)
      }
    }
  }
}
