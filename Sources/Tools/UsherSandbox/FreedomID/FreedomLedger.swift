import FoundationEssentials

/// The state of the Freedom ID fake, without log-ins and visits, as one value.
///
/// It reads no clock: callers pass the time. Every table is bounded.
struct FreedomLedger: Sendable {
  let tokenGenerator: TokenGenerator
  var tokens = ExpiringTable<FreedomToken>()
  var codes = ExpiringTable<FreedomCode>()
  /// Links by their `track_id`.
  var links = ExpiringTable<IssuedLink>()
  /// Consents by person and `request_id`.
  var consents = ExpiringTable<FreedomConsent>()
  /// Profile requests by owner and `request_id`.
  var requests = ExpiringTable<FreedomRequest>()
  /// People who exist from the start.
  private var known: [FreedomIDUser]
  /// People whom the partner created, by id.
  private var createdPeople = ExpiringTable<FreedomIDUser>()

  init(_ users: Users, tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
    known = FreedomIDUser.initialPeople(users)
  }
}

/// People with a Freedom ID.
extension FreedomLedger {
  var people: [FreedomIDUser] { known + createdPeople.values }

  func person(_ id: String) -> FreedomIDUser? { people.first { $0.id == id.lowercased() } }

  func person(named username: String) -> FreedomIDUser? {
    people.first { $0.username == username }
  }

  func person(knownAs name: LoginIdentifier) -> FreedomIDUser? {
    people.first { $0.isKnown(as: name) }
  }

  mutating func add(_ profile: FreedomProfile, now: Date) -> FreedomIDUser {
    let person = FreedomIDUser(
      profile.phone ?? "", password: nil, id: tokenGenerator.uuid(), profile: profile)
    createdPeople.insert(person, for: person.id, until: .distantFuture, now: now)
    return person
  }

  /// Changes a person; does nothing if the id is unknown.
  mutating func change(_ id: String, _ change: (inout FreedomIDUser) -> Void) {
    createdPeople.update(id.lowercased(), change)
    for index in known.indices where known[index].id == id.lowercased() { change(&known[index]) }
  }
}

extension FreedomIDUser {
  /// Returns the test users with Freedom profiles, and one person whom only Freedom knows.
  static func initialPeople(_ users: Users) -> [FreedomIDUser] {
    let known = users.all.map { user in
      FreedomIDUser(user.username, password: user.password, profile: profile(of: user))
    }
    return users.named("aigerim") == nil ? known + [aigerim] : known
  }

  private static let aigerim = FreedomIDUser(
    "aigerim", password: "aigerim-password",
    profile: FreedomProfile(
      firstname: "Aigerim", lastname: "Sadykova", patronymic: "Bolatovna",
      dateOfBirth: "1988-02-29", country: "KAZ", nationality: "KAZ", gender: "F",
      identifier: "880229400123", phones: ["+77011234567"], emails: ["aigerim@example.com"]),
    twoFactor: .sms)

  private static func profile(of user: User) -> FreedomProfile {
    let words = user.name.split(separator: " ", maxSplits: 1).map(String.init)
    var profile = FreedomProfile(
      firstname: words.first, lastname: words.dropFirst().first,
      phones: user.phone.map { [$0] } ?? [],
      emails: [user.email])
    switch user.username {
    case "alice":
      profile.patronymic = "Arthurovna"
      profile.dateOfBirth = "1990-12-31"
      profile.country = "GBR"
      profile.nationality = "GBR"
      profile.gender = "F"
      profile.identifier = "901231400456"
      profile.phones.append("+447700900124")
      profile.emails.append("alice.adams@example.com")
    case "bob":
      profile.dateOfBirth = "1985-01-02"
      profile.country = "GBR"
      profile.gender = "M"
    default: break
    }
    return profile
  }
}
