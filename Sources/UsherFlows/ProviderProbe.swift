import UsherConfig
import UsherCore

/// A question that shows whether a provider can be used as it is configured; it changes nothing there.
package struct ProviderProbe: Sendable {
  package var subject: String
  package var call: any ProviderCall
  /// What the answer shows: whether it is fine, and a sentence for people.
  package var judge: @Sendable (CallOutcome) -> (fine: Bool, message: String)

  package init(
    _ subject: String, _ call: any ProviderCall,
    judge: @escaping @Sendable (CallOutcome) -> (fine: Bool, message: String)
  ) {
    self.subject = subject
    self.call = call
    self.judge = judge
  }
}

extension ProviderProbe {
  /// The token endpoint of Paysafe: asked for the config token, which binds nobody.
  ///
  /// - Returns: Nil where no brand is configured, without which there is no address.
  static func paysafe(_ provider: ProviderConfig, _ settings: PaysafeSettings) -> ProviderProbe? {
    guard let brand = settings.brandIdentity else { return nil }
    let isPublic = settings.clientCredential == nil
    return ProviderProbe("token", PaysafeCall.configToken(brand: brand)) { outcome in
      switch outcome {
      case .reply(let reply):
        let request = TokenRequest(provider: provider.name, scope: "")
        switch TokenReply(reply, to: request, at: Timestamp(milliseconds: 0)) {
        case .granted: return (true, "it gives a config token")
        // A public client gets none; that it is told so is all there is to see.
        case .misconfigured, .rejected:
          let isAnswer = [400, 401, 403].contains(reply.status)
          return (isPublic && isAnswer, "it answers HTTP \(reply.status)")
        case .dead(let word): return (false, "it answers \(word.code)")
        case .retry(let message, _), .unreadable(let message): return (false, message)
        }
      case .unreachable(let message, _), .unreadable(let message), .noToken(let message):
        return (false, message)
      }
    }
  }
}
