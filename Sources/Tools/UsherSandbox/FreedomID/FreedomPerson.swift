import Crypto
import FoundationEssentials

/// The channel of a second factor or a code.
enum FreedomChannel: String, Sendable, Hashable {
  case sms
  case email
  /// An authenticator app. No code is sent.
  case totp
}

/// A person with a Freedom ID.
struct FreedomIDUser: Sendable, Hashable {
  /// A UUID, which is the subject identifier.
  let id: String
  /// The name of the test user; for a person whom the partner created, the phone number.
  let username: String
  /// The password; nil if the person signs in with only an SMS code.
  let password: String?
  var profile: FreedomProfile
  /// The channel of the second factor; nil if it is off.
  var twoFactor: FreedomChannel?

  /// Creates a person. Without an id, it is derived from the user name and is the same in each run.
  init(
    _ username: String, password: String?, id: String? = nil, profile: FreedomProfile,
    twoFactor: FreedomChannel? = nil
  ) {
    self.username = username
    self.password = password
    self.id =
      id
      ?? TokenGenerator.uuid(
        Array(SHA256.hash(data: Data("freedomid \(username)".utf8))), version: 8)
    self.profile = profile
    self.twoFactor = twoFactor
  }

  /// The person's authenticator app.
  var totp: TOTP {
    TOTP(secret: Array(SHA256.hash(data: Data("freedomid totp \(username)".utf8)).prefix(20)))
  }

  /// The text that an app shows in place of the person's name.
  var label: String {
    profile.phone.map(\.maskedPhone) ?? profile.email.map(\.maskedEmail) ?? "Freedom ID"
  }

  func isKnown(as name: LoginIdentifier) -> Bool {
    switch name {
    case .phone(let phone): profile.phones.contains(phone)
    case .email(let email): profile.emails.contains { $0.lowercased() == email }
    }
  }

  /// The address for codes; nil for an authenticator app and if the person has no such address.
  func address(_ channel: FreedomChannel) -> String? {
    switch channel {
    case .sms: profile.phone
    case .email: profile.email
    case .totp: nil
    }
  }
}

/// Freedom's data about a person. Unknown values are nil or empty.
struct FreedomProfile: Sendable, Hashable {
  var firstname: String?
  var lastname: String?
  var patronymic: String?
  var dateOfBirth: String?
  var country: String?
  var nationality: String?
  var gender: String?
  var identifier: String?
  /// The phone numbers, the primary one first.
  var phones: [String] = []
  var emails: [String] = []

  var phone: String? { phones.first }
  var email: String? { emails.first }

  /// The value that a grant gives access to; null if it is unknown.
  func value(_ grant: FreedomGrant) -> JSON {
    func json(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }
    return switch grant {
    case .dateOfBirth: json(dateOfBirth)
    case .firstname: json(firstname)
    case .lastname: json(lastname)
    case .patronymic: json(patronymic)
    case .country: json(country)
    case .nationality: json(nationality)
    case .gender: json(gender)
    case .identifier: json(identifier)
    case .phone: json(phone)
    case .email: json(email)
    case .phones: .array(phones.map { .string($0) })
    case .emails: .array(emails.map { .string($0) })
    }
  }

  /// The members that the grants give access to. Unknown grants are ignored.
  func members(_ grants: [String]) -> [String: JSON] {
    grants.compactMap(FreedomGrant.init).reduce(into: [:]) { $0[$1.member] = value($1) }
  }
}

/// The phone number or e-mail address that a person logs in with.
enum LoginIdentifier: Sendable, Hashable {
  case phone(String)
  /// An e-mail address in lower case.
  case email(String)

  /// Parses typed text; nil if it is neither a phone number nor an e-mail address.
  init?(typed text: String) {
    let phone = text.filter { !" -().".contains($0) }
    if FreedomFormat.phone.fits(phone) {
      self = .phone(phone)
    } else if FreedomFormat.email.fits(text) {
      self = .email(text.lowercased())
    } else {
      return nil
    }
  }

  var text: String {
    switch self {
    case .phone(let text), .email(let text): text
    }
  }
}

/// The profile fields that can be requested, with their names in requests.
enum FreedomGrant: String, Sendable, CaseIterable {
  case dateOfBirth = "read.date_of_birth"
  case firstname = "read.firstname"
  case lastname = "read.lastname"
  case patronymic = "read.patronymic"
  case country = "read.country"
  case nationality = "read.nationality"
  case gender = "read.gender"
  case identifier = "read.identifier"
  case phone = "read.phone"
  case email = "read.email"
  case phones = "read.phones"
  case emails = "read.emails"

  /// The name of the member in a profile.
  var member: String { String(rawValue.dropFirst("read.".count)) }

  static let words = allCases.map(\.rawValue)
  /// The grants of the partner API.
  static let partnerWords = words + [readProfile, "read.cards", "openid"]
  static let readProfile = "read.profile"
}

extension String {
  /// The phone number as `+7 ••• 67`.
  fileprivate var maskedPhone: String { "\(prefix(2)) ••• \(suffix(2))" }

  /// The e-mail address as `a•••@example.com`.
  fileprivate var maskedEmail: String { "\(prefix(1))•••\(drop { $0 != "@" })" }

  /// The masked phone number or e-mail address.
  var masked: String { contains("@") ? maskedEmail : maskedPhone }
}
