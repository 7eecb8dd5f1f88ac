import FoundationEssentials

/// People on the sign-in pages, and who is locked out, as one value.
struct SignIns: Sendable {
  struct Visit: Sendable {
    let request: SignInRequest
    /// Stands in the form of this visit and nowhere else.
    let csrf: String
  }

  /// Why a person is not signed in.
  enum Failure: Error, Equatable {
    /// No such visit, an old one, or another one's form token.
    case unknown
    /// Name or proof, without a word which.
    case wrong
    case locked
  }

  /// Seconds a person has for the page.
  private static let seconds = 600.0
  /// Wrong proofs in a row that lock a name.
  static let attempts = 5

  private let mint: TokenMint
  private var visits = ExpiringTable<Visit>()
  /// Wrong proofs by the name that was typed, so that unknown names behave like known ones.
  private var failures = ExpiringTable<Int>()

  init(mint: TokenMint) {
    self.mint = mint
  }

  mutating func begin(_ request: SignInRequest, now: Date) -> (id: String, csrf: String) {
    let id = mint.token("tx")
    let csrf = mint.token("cs")
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

  /// Counts a proof: the right one ends the count, a wrong one goes on with it.
  ///
  /// - Parameter lockSeconds: How long the count is kept after the last wrong one.
  mutating func judge(
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
