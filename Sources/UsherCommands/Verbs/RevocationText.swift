import UsherClient

extension Console {
  /// Prints what `account forget` and `token revoke` report about tokens at the provider.
  func printRevocation(_ reply: RevocationReply) {
    guard let living = reply.living, !living.isEmpty else {
      return printMessage(reply.revoked.text)
    }
    for token in living { printMessage(token.text) }
    if let retriedUntil = reply.retriedUntil {
      printMessage("usherd retries until \(retriedUntil); for the result, see: usherctl audit")
    }
    printMessage(
      "to revoke them now, remove this application in your account settings at the provider")
  }
}

extension RevocationReply.Outcome {
  fileprivate var text: String {
    switch self {
    case .done: "tokens revoked at the provider"
    case .skipped: "tokens not revoked: the provider was not asked"
    case .failed: "warning: tokens not revoked at the provider"
    }
  }
}

extension LivingToken {
  fileprivate var text: String {
    let name =
      switch token {
      case .refreshToken: "refresh token"
      case .accessToken: "access token"
      case .grant: "grant"
      }
    let purpose = scope.isEmpty ? "" : " for \"\(scope)\""
    let end = expiresAt.map { " until \($0)" } ?? ""
    return "warning: the \(name)\(purpose) is still valid\(end): \(why.text)"
  }
}

extension LivingToken.Reason {
  fileprivate var text: String {
    switch self {
    case .notAsked: "the provider was not asked to revoke it"
    case .unsupported: "the provider has no way to revoke it"
    case .refused: "the provider refused to revoke it"
    case .unreachable: "the provider cannot be reached or has postponed the revocation"
    case .notConfigured: "its provider is no longer configured"
    }
  }
}
