import FoundationEssentials

/// The state of the Freedom ID fake, without log-ins and visits, as one value.
///
/// It reads no clock: callers pass the time. Every table is bounded.
struct FreedomLedger: Sendable {
  let mint: TokenMint
  var tokens = ExpiringTable<FreedomToken>()
  var codes = ExpiringTable<FreedomCode>()
  /// Links by their `track_id`.
  var links = ExpiringTable<FreedomLink>()
  /// Consents by person and `request_id`.
  var consents = ExpiringTable<FreedomConsent>()
  /// Profile requests by owner and `request_id`.
  var requests = ExpiringTable<FreedomRequest>()
  /// People who exist from the start.
  private var known: [FreedomPerson]
  /// People whom the partner created, by id.
  private var newcomers = ExpiringTable<FreedomPerson>()

  init(_ users: Users, mint: TokenMint) {
    self.mint = mint
    known = FreedomPerson.standing(users)
  }
}

/// People with a Freedom ID.
extension FreedomLedger {
  var people: [FreedomPerson] { known + newcomers.values }

  func person(_ id: String) -> FreedomPerson? { people.first { $0.id == id.lowercased() } }

  func person(named username: String) -> FreedomPerson? {
    people.first { $0.username == username }
  }

  func person(knownAs name: FreedomName) -> FreedomPerson? {
    people.first { $0.isKnown(as: name) }
  }

  mutating func add(_ profile: FreedomProfile, now: Date) -> FreedomPerson {
    let person = FreedomPerson(
      profile.phone ?? "", password: nil, id: mint.uuid(), profile: profile)
    newcomers.insert(person, for: person.id, until: .distantFuture, now: now)
    return person
  }

  /// Changes a person; does nothing if the id is unknown.
  mutating func change(_ id: String, _ change: (inout FreedomPerson) -> Void) {
    newcomers.update(id.lowercased(), change)
    for index in known.indices where known[index].id == id.lowercased() { change(&known[index]) }
  }
}

extension FreedomPerson {
  /// Returns the test users with Freedom profiles, and one person whom only Freedom knows.
  static func standing(_ users: Users) -> [FreedomPerson] {
    let known = users.all.map { user in
      FreedomPerson(user.username, password: user.password, profile: profile(of: user))
    }
    return users.named("aigerim") == nil ? known + [aigerim] : known
  }

  private static let aigerim = FreedomPerson(
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
