import UsherAPI
import UsherConfig
import UsherCore

/// A person's way to the provider's page and back, in mode `oauth2` (contract §4.3).
///
/// Nothing that the provider sends back with the browser is ours but the path it sends it to, so each
/// round has one of its own: 128 random bits in hexadecimal (RFC 9700 §4.5, RFC 8252 §8.9).
struct FreedomVisit: Codable, Sendable, Equatable {
  /// The last segment of the path.
  let secret: Sealed<Secret>
  /// With that at its end.
  let redirectURI: Sealed<Secret>
  var listener: ListenerState
  /// Nil until there is the first.
  var link: FreedomLink?
  /// A link is asked for; nil where there is one that is good.
  var asking: RetryBackoff?

  static func secret(_ moment: inout TransitionContext) -> Sealed<Secret> {
    Sealed(Secret(moment.random(16).hexadecimal))
  }

  func wayBack(_ redirect: Redirect) -> BrowserReturn {
    BrowserReturn(
      redirectURI: redirectURI.unsealed().revealed(), listener: listener,
      state: secret.unsealed(), redirect: redirect, hasPKCE: false, form: .freedom)
  }

  func call(_ grants: [PartnerGrant]) -> FreedomPartnerCall {
    .link(redirectURI: redirectURI.unsealed(), grants)
  }
}

/// The page where a person agrees: `…/login?track_id=…&expire_at=…` (contract §4.3).
struct FreedomLink: Codable, Sendable, Equatable {
  /// Of one that does not say how long it is good.
  static let life = Duration.seconds(600)

  private let url: Sealed<Secret>
  let endsAt: Timestamp

  /// - Throws: What is wrong with it; nothing of it is repeated.
  init(_ text: String, at now: Timestamp) throws(UnusableReply) {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard (try? ProviderURL(setting: text)) != nil else {
      throw UnusableReply("the provider's link is neither https nor http on this machine")
    }
    url = Sealed(Secret(text))
    let fields = parts.count == 2 ? FormEncoding.decode(parts[1]) ?? [] : []
    let end = fields.first { $0.name == "expire_at" }.flatMap { Int64($0.value) }
      .map { Timestamp(seconds: Double($0)) }
    // One that is over when it comes tells of another clock than ours.
    let isAhead = end.map { $0 > now } ?? false
    endsAt = isAhead ? max(end ?? now, now + .seconds(1)) : now + Self.life
  }

  func step(_ visit: FreedomVisit) -> Step.OpenURL {
    Step.OpenURL(
      url: url.unsealed().revealed(), redirectURI: visit.redirectURI.unsealed().revealed(),
      completes: visit.listener.completes)
  }
}
