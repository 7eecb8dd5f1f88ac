import UsherAPI
import UsherCore

/// The lines that `account forget` and `token revoke` print about tokens at the provider.
struct RevocationWords {
  let lines: [String]

  init(
    _ revoked: AccountForget.Revocation, _ living: [LivingToken]?, _ retriedUntil: Timestamp?
  ) {
    guard let living, !living.isEmpty else {
      lines = [revoked.words]
      return
    }
    var lines = living.map(\.words)
    if let retriedUntil {
      lines.append(
        "usherd goes on asking the provider until \(retriedUntil); usherctl audit has the result")
    }
    lines.append(
      "to end them now, remove this application where the provider lists the apps of the account")
    self.lines = lines
  }
}

extension AccountForget.Revocation {
  fileprivate var words: String {
    switch self {
    case .done: "the provider has revoked them"
    case .skipped: "the provider was not asked to revoke them"
    case .failed: "warning: the provider did not revoke them"
    }
  }
}

extension LivingToken {
  fileprivate var words: String {
    let name =
      switch token {
      case .refreshToken: "refresh token"
      case .accessToken: "access token"
      }
    let purpose = scope.isEmpty ? "" : " for \"\(scope)\""
    let end = expiresAt.map { ", until \($0)" } ?? ""
    return "warning: the \(name)\(purpose) still lives\(end): \(why.words)"
  }
}

extension LivingToken.Reason {
  fileprivate var words: String {
    switch self {
    case .notAsked: "the provider was not asked to revoke it"
    case .unsupported: "the provider has no way to revoke it"
    case .refused: "the provider refused to revoke it"
    case .unreachable: "the provider cannot be reached, or puts the revocation off"
    case .notConfigured: "its provider is not in the configuration any more"
    }
  }
}
