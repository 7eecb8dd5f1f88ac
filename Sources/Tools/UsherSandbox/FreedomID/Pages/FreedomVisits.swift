import FoundationEssentials

/// People on the pages, as one value.
struct FreedomVisits: Sendable {
  struct Visit: Sendable, Hashable {
    let purpose: Purpose
    /// Stands in the forms of this visit and nowhere else.
    let csrf: String
    var stage = Phase.signIn
  }

  enum Purpose: Sendable, Hashable {
    /// From the partner API, by its `track_id`.
    case link(FreedomLink, track: String)
    case openID(FreedomOpenIDRequest)
    /// Nobody sent them: they see what they are asked for, and log out.
    case own
  }

  enum Phase: Sendable, Hashable {
    case signIn
    case code(FreedomChallenge)
    /// Signed in: the person's id.
    case signedIn(String, at: Date)
  }

  /// Seconds a person has for the pages.
  private static let seconds = 900.0

  private let mint: TokenMint
  private var visits = ExpiringTable<Visit>()

  init(mint: TokenMint) {
    self.mint = mint
  }

  mutating func begin(_ purpose: Purpose, now: Date) -> String {
    let id = mint.token("tx")
    visits.insert(
      Visit(purpose: purpose, csrf: mint.token("cs")), for: id,
      until: now.addingTimeInterval(Self.seconds), now: now)
    return id
  }

  /// The visit that a form belongs to; nil for one that is over, or not ours.
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
