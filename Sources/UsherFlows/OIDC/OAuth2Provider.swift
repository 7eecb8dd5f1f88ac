package import UsherConfig
import UsherCore

/// The definition of OAuth 2.0 servers that have neither discovery nor ID tokens (RFC 6749).
///
/// Their flows are those of OpenID Connect. ``OAuth2Rules`` describes what is different.
struct OAuth2Provider: ProviderDefinition {
  static let flows: [any FlowMachine.Type] = [
    OIDCAuthorize.self, OIDCDevice.self, OIDCClientCredentials.self,
  ]
  static let hasIDTokens = false

  let provider: Provider<OIDCSettings>

  var probe: ProviderProbe? {
    OIDCMetadata(configured: settings).map { ProviderProbe(clientOf: provider, $0) }
  }
}

extension ProviderProbe {
  /// Asks for a refresh with a token that does not exist. The answer shows whether the client is
  /// accepted, because a server authenticates the client first (RFC 6749 §3.2.1).
  package init(clientOf provider: Provider<OIDCSettings>, _ metadata: OIDCMetadata) {
    let call = OIDCCall.refresh(Secret("check"), scope: nil, metadata)
    let remedy =
      provider.settings.clientAuth.usesCertificate
      ? "; register its certificate: usherctl provider jwks \(provider.name)" : ""
    self.init(subject: "token endpoint", call: call) { outcome in
      let request = TokenRequest(provider, scope: "")
      let now = Timestamp(milliseconds: 0)
      return switch TokenReply(outcome, read: { TokenReply($0, to: request, at: now) }) {
      case .granted, .dead: (true, "it accepts the client")
      case .misconfigured(let errorCode):
        (false, "it refuses the client: \(errorCode.code)\(remedy)")
      case .rejected(let errorCode) where outcome.isUnauthorized:
        (false, "it refuses the client: \(errorCode.code)\(remedy)")
      case .rejected(let errorCode):
        (true, "it answers \(errorCode.code), which tells nothing about the client's credential")
      case .retry(let message, _), .unreadable(let message): (false, message)
      }
    }
  }
}

extension CallOutcome {
  /// Whether the server answers 401. Atlassian refuses a client with the error `access_denied`.
  fileprivate var isUnauthorized: Bool {
    if case .reply(let reply) = self { reply.status == 401 } else { false }
  }
}

extension OIDCSettings {
  /// Whether the server issues ID tokens.
  var hasIDTokens: Bool { oauth2 == nil }

  /// How the token endpoint deviates from RFC 6749 in its replies.
  var replyRules: TokenReplyRules {
    guard let oauth2 else {
      return copy(TokenReplyRules()) {
        $0.grantEndedErrors = grantEndedErrors
        if dpop { $0.tokenTypes = TokenReplyRules.dpop }
        $0.hasGrantID = grantManagement
      }
    }
    return TokenReplyRules(
      tokenTypes: oauth2.tokenTypes, grantEndedErrors: grantEndedErrors,
      hasCommasInScope: true, ignoresIDToken: true)
  }

  /// Returns a scope as the server expects it in a request.
  func spelling(ofScope scope: String) -> String {
    oauth2?.scopeSeparator == .comma
      ? scope.split(separator: " ").joined(separator: ",") : scope
  }
}

extension TokenRequest {
  init(_ provider: Provider<OIDCSettings>, scope: String) {
    self.init(provider: provider.name, scope: scope)
    rules = provider.settings.replyRules
  }
}
