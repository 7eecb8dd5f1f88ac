import FoundationEssentials

/// The people, codes, tokens and submissions of the GoPay fake, as one value.
///
/// It reads no clock: callers pass the time. Every table is bounded.
struct GoPayLedger: Sendable {
  /// The reason why a request is refused.
  enum Failure: Error, Equatable {
    /// The code or token is unknown, used, expired or revoked. The caller does not learn which.
    case unknown
    /// The person's account is closed, or the token was already unbound.
    case closed
    /// The partner may not use the token for this.
    case notWhitelisted
  }

  let tokenGenerator: TokenGenerator
  var codes = ExpiringTable<AuthCode>()
  var links = ExpiringTable<Link>()
  var captureTokens = ExpiringTable<CaptureToken>()
  var submissions = ExpiringTable<Submission>()
  /// Ids of submissions by the path segment of their capture page.
  var pages = ExpiringTable<String>()
  /// People who signed up on the log-in page, by phone number.
  private var createdPeople = ExpiringTable<GoPayPerson>()
  private let known: [GoPayPerson]
  private var made = 0

  init(_ users: Users, tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
    known = users.all.compactMap { user in
      user.phone.map {
        GoPayPerson(username: user.username, phone: $0, name: user.name, pin: user.pin)
      }
    }
    addFixedLinks()
  }

  /// Returns a new id. Ids have increasing numbers, so that they show the order of creation.
  mutating func nextID(_ prefix: String) -> String {
    made += 1
    return "\(prefix)_\(made)"
  }
}

/// A person with a GoPay account.
struct GoPayPerson: Sendable, Hashable {
  /// The name of the test user; for a person who signed up here, the phone number.
  let username: String
  /// The phone number in E.164 format.
  let phone: String
  let name: String
  /// The PIN; nil if the person logs in with only an SMS code.
  let pin: String?
}

/// People with an account.
extension GoPayLedger {
  var people: [GoPayPerson] { known + createdPeople.values }

  func person(phone: String) -> GoPayPerson? { people.first { $0.phone == phone } }

  func person(named username: String) -> GoPayPerson? { people.first { $0.username == username } }

  mutating func signUp(phone: String, name: String, now: Date) -> GoPayPerson {
    let person = GoPayPerson(username: phone, phone: phone, name: name, pin: nil)
    createdPeople.insert(person, for: phone, until: .distantFuture, now: now)
    return person
  }
}

extension GoPayBackendSettings {
  func isClosed(_ person: GoPayPerson) -> Bool { closedAccounts.contains(person.username) }
}

extension String {
  /// The phone number as a plus sign and 7 to 15 digits, from typed text. Spaces, hyphens and
  /// parentheses are ignored. Nil if it is not a phone number.
  var typedPhone: String? {
    let text = filter { !" -()".contains($0) }
    guard text.first == "+", (8...16).contains(text.utf8.count),
      text.dropFirst().utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return text
  }
}
