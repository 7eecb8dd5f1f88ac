import FoundationEssentials

/// The visits to the pages, as one value.
struct FreedomVisits: Sendable {
  struct Visit: Sendable, Hashable {
    let purpose: Purpose
    /// The CSRF token, a hidden field in the forms of this visit.
    let csrf: String
    var stage = Phase.signIn
  }

  enum Purpose: Sendable, Hashable {
    /// A link of the partner API, with its `track_id`.
    case link(IssuedLink, track: String)
    case openID(FreedomOpenIDRequest)
    /// The person's own page, which shows profile requests and can log out.
    case own
  }

  enum Phase: Sendable, Hashable {
    case signIn
    case code(IssuedChallenge)
    /// The person with this id is signed in.
    case signedIn(String, at: Date)
  }

  /// Seconds after which a visit expires.
  private static let seconds = 900.0

  private let tokenGenerator: TokenGenerator
  private var visits = ExpiringTable<Visit>()

  init(tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
  }

  mutating func begin(_ purpose: Purpose, now: Date) -> String {
    let id = tokenGenerator.token("tx")
    visits.insert(
      Visit(purpose: purpose, csrf: tokenGenerator.token("cs")), for: id,
      until: now.addingTimeInterval(Self.seconds), now: now)
    return id
  }

  /// Returns the visit of a form; nil if it is unknown or expired, or the CSRF token is wrong.
  func visit(_ form: Form, now: Date) -> (id: String, visit: Visit)? {
    guard let id = form["transaction"], let visit = visits.value(id, now: now),
      visit.csrf == form["csrf"]
    else { return nil }
    return (id, visit)
  }

  func visit(_ id: String, now: Date) -> Visit? { visits.value(id, now: now) }

  mutating func move(_ id: String, to stage: Phase) { visits.update(id) { $0.stage = stage } }

  mutating func end(_ id: String) { visits.remove(id) }
}
