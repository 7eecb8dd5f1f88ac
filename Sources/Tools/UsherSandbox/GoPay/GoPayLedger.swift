import FoundationEssentials

/// People, auth codes, linking tokens, capture tokens and submissions, as one value.
///
/// It reads no clock: every call is told the time. Every table is bounded.
struct GoPayLedger: Sendable {
  /// Why something is not given.
  enum Failure: Error, Equatable {
    /// Never there, spent, over or revoked, without a word which.
    case unknown
    /// The person's account is closed, or bound no more.
    case closed
    /// The partner may not do this with the token.
    case notWhitelisted
  }

  let mint: TokenMint
  var codes = ExpiringTable<AuthCode>()
  var links = ExpiringTable<Link>()
  var captureTokens = ExpiringTable<CaptureToken>()
  var submissions = ExpiringTable<Submission>()
  /// Ids of submissions by the last part of their page's address.
  var pages = ExpiringTable<String>()
  /// Who has signed up here, by phone number.
  private var newcomers = ExpiringTable<GoPayPerson>()
  private let known: [GoPayPerson]
  private var made = 0

  init(_ users: Users, mint: TokenMint) {
    self.mint = mint
    known = users.all.compactMap { user in
      user.phone.map {
        GoPayPerson(username: user.username, phone: $0, name: user.name, pin: user.pin)
      }
    }
    addStandingLinks()
  }

  /// Ids count, so that the order in which things came can be told from them.
  mutating func nextID(_ prefix: String) -> String {
    made += 1
    return "\(prefix)_\(made)"
  }
}

/// Somebody with an account at GoPay.
struct GoPayPerson: Sendable, Hashable {
  /// Of one of the sandbox's people, else the phone number.
  let username: String
  /// In E.164.
  let phone: String
  let name: String
  /// Nil for who is asked for the code of an SMS alone.
  let pin: String?
}

/// Who has an account.
extension GoPayLedger {
  var people: [GoPayPerson] { known + newcomers.values }

  func person(phone: String) -> GoPayPerson? { people.first { $0.phone == phone } }

  func person(named username: String) -> GoPayPerson? { people.first { $0.username == username } }

  mutating func signUp(phone: String, name: String, now: Date) -> GoPayPerson {
    let person = GoPayPerson(username: phone, phone: phone, name: name, pin: nil)
    newcomers.insert(person, for: phone, until: .distantFuture, now: now)
    return person
  }
}

extension GoPaySettings {
  func isClosed(_ person: GoPayPerson) -> Bool { closedAccounts.contains(person.username) }
}

extension String {
  /// In E.164, from what people type: blanks, hyphens and brackets are passed over.
  var typedPhone: String? {
    let text = filter { !" -()".contains($0) }
    guard text.first == "+", (8...16).contains(text.utf8.count),
      text.dropFirst().utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return text
  }
}
