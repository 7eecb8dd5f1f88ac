import FoundationEssentials

/// The open sign-in pages and the locked user names, as one value.
struct SignIns: Sendable {
  struct Visit: Sendable {
    let request: SignInRequest
    /// The CSRF token, a hidden field in the form of this visit.
    let csrf: String
  }

  /// The reason why a sign-in failed.
  enum Failure: Error, Equatable {
    /// The visit is unknown or expired, or the CSRF token does not match.
    case unknown
    /// The user name or the proof is wrong. The caller does not learn which.
    case wrong
    case locked
  }

  /// Seconds for which a sign-in page is valid.
  private static let seconds = 600.0
  /// Wrong proofs in a row after which a user name is locked.
  static let attempts = 5

  private let tokenGenerator: TokenGenerator
  private var visits = ExpiringTable<Visit>()
  /// Wrong proofs by the typed user name, so that unknown names are locked like known ones.
  private var failures = ExpiringTable<Int>()

  init(tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
  }

  mutating func begin(_ request: SignInRequest, now: Date) -> (id: String, csrf: String) {
    let id = tokenGenerator.token("tx")
    let csrf = tokenGenerator.token("cs")
    visits.insert(
      Visit(request: request, csrf: csrf), for: id, until: now.addingTimeInterval(Self.seconds),
      now: now)
    return (id, csrf)
  }

  func visit(_ id: String?, csrf: String?, now: Date) throws(Failure) -> Visit {
    guard let id, let visit = visits.value(id, now: now), visit.csrf == csrf else {
      throw .unknown
    }
    return visit
  }

  mutating func end(_ id: String) {
    visits.remove(id)
  }

  /// Returns the user and resets the count of wrong proofs, or counts a wrong proof and throws.
  ///
  /// - Parameter lockSeconds: Seconds after the last wrong proof at which the count expires.
  mutating func authenticate(
    _ user: User?, username: String, lockSeconds: Int, now: Date
  ) throws(Failure) -> User {
    let count = failures.value(username, now: now) ?? 0
    guard count < Self.attempts else { throw .locked }
    if let user {
      failures.remove(username)
      return user
    }
    failures.insert(
      count + 1, for: username, until: now.addingTimeInterval(Double(lockSeconds)), now: now)
    throw count + 1 < Self.attempts ? .wrong : .locked
  }

  mutating func unlockAll() {
    failures = ExpiringTable()
  }
}
