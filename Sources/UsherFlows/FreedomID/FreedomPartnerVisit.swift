import UsherAPI
import UsherConfig
import UsherCore

/// One round of the user in the browser, in mode `oauth2` (provider contract §4.3).
///
/// Freedom ID returns no `state`, so only the path identifies the redirect. Each round therefore
/// has a path of its own: 128 random bits in hexadecimal (RFC 9700 §4.5, RFC 8252 §8.9).
struct FreedomVisit: Codable, Sendable, Equatable {
  /// The secret that is the last segment of the redirect URI's path.
  let secret: Sealed<Secret>
  /// The complete redirect URI, with the secret at its end.
  let redirectURI: Sealed<Secret>
  var listener: ListenerState
  /// The link to the page; nil until Freedom ID has sent the first one.
  var link: FreedomLink?
  /// The failed attempts to get a link; nil if there is a valid link.
  var asking: RetryBackoff?

  static func secret(_ transition: inout TransitionContext) -> Sealed<Secret> {
    Sealed(Secret(transition.random(16).hexadecimal))
  }

  func call(_ grants: [PartnerGrant]) -> FreedomPartnerCall {
    .link(redirectURI: redirectURI.unsealed(), grants)
  }
}

/// The page where the user approves the grants: `…/login?track_id=…&expire_at=…` (provider contract
/// §4.3).
struct FreedomLink: Codable, Sendable, Equatable {
  /// The assumed lifetime of a link that names no expiry.
  static let life = Duration.seconds(600)

  private let url: Sealed<Secret>
  let endsAt: Timestamp

  /// Reads a link from a reply.
  ///
  /// - Throws: What is wrong with the link, without any part of it.
  init(_ text: String, at now: Timestamp) throws(UnusableReply) {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard (try? ProviderURL(setting: text)) != nil else {
      throw UnusableReply("the provider's link is neither https nor http on this machine")
    }
    url = Sealed(Secret(text))
    let fields = parts.count == 2 ? FormEncoding.decode(parts[1]) ?? [] : []
    let end = fields.first { $0.name == "expire_at" }.flatMap { Int64($0.value) }
      .map { Timestamp(seconds: Double($0)) }
    // An expiry in the past shows only that Freedom ID's clock differs from the daemon's.
    let isAhead = end.map { $0 > now } ?? false
    endsAt = isAhead ? max(end ?? now, now + .seconds(1)) : now + Self.life
  }

  func step(_ visit: FreedomVisit) -> Step.OpenURL {
    Step.OpenURL(
      url: url.unsealed().revealed(), redirectURI: visit.redirectURI.unsealed().revealed(),
      completes: visit.listener.completes)
  }
}

extension RedirectForm {
  /// The names of Freedom's page, which returns no state (contract §4.3).
  package static let freedom = RedirectForm(
    code: ["code", "authorization_code"], error: "error_code", errorDescription: nil,
    isKnownByPath: true)
}
