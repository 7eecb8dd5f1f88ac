import Crypto
import FoundationEssentials

/// How a second factor, or a code, reaches somebody.
enum FreedomChannel: String, Sendable, Hashable {
  case sms
  case email
  /// An authenticator app: nothing is sent.
  case totp
}

/// Somebody with a Freedom ID.
struct FreedomPerson: Sendable, Hashable {
  /// A UUID: the subject.
  let id: String
  /// Of one of the sandbox's people; the phone number of who was created here.
  let username: String
  /// Nil for who signs in by the code of an SMS alone.
  let password: String?
  var profile: FreedomProfile
  /// Nil where it is off.
  var twoFactor: FreedomChannel?

  /// Always the same for the same name.
  init(
    _ username: String, password: String?, id: String? = nil, profile: FreedomProfile,
    twoFactor: FreedomChannel? = nil
  ) {
    self.username = username
    self.password = password
    self.id =
      id
      ?? TokenMint.uuid(
        Array(SHA256.hash(data: Data("freedomid \(username)".utf8))), version: 8)
    self.profile = profile
    self.twoFactor = twoFactor
  }

  /// What an authenticator app shows.
  var totp: TOTP {
    TOTP(secret: Array(SHA256.hash(data: Data("freedomid totp \(username)".utf8)).prefix(20)))
  }

  /// What an app shows in the place of the name.
  var label: String {
    profile.phone.map(\.maskedPhone) ?? profile.email.map(\.maskedEmail) ?? "Freedom ID"
  }

  func isKnown(as name: FreedomName) -> Bool {
    switch name {
    case .phone(let phone): profile.phones.contains(phone)
    case .email(let email): profile.emails.contains { $0.lowercased() == email }
    }
  }

  /// Where a code goes; nil for an authenticator app, and where there is nothing like it.
  func address(_ channel: FreedomChannel) -> String? {
    switch channel {
    case .sms: profile.phone
    case .email: profile.email
    case .totp: nil
    }
  }
}

/// What Freedom knows of somebody. Nil and empty where it knows nothing.
struct FreedomProfile: Sendable, Hashable {
  var firstname: String?
  var lastname: String?
  var patronymic: String?
  var dateOfBirth: String?
  var country: String?
  var nationality: String?
  var gender: String?
  var identifier: String?
  /// With the first one in front.
  var phones: [String] = []
  var emails: [String] = []

  var phone: String? { phones.first }
  var email: String? { emails.first }

  /// The value that a grant opens; null where nothing is known.
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

  /// The members that grants open; words that open none are passed over.
  func members(_ grants: [String]) -> [String: JSON] {
    grants.compactMap(FreedomGrant.init).reduce(into: [:]) { $0[$1.member] = value($1) }
  }
}

/// What somebody is known by at a log-in.
enum FreedomName: Sendable, Hashable {
  case phone(String)
  /// In lower case.
  case email(String)

  /// Nil for what is neither, as people type it.
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

/// The fields of a profile that can be asked for, as they stand on the wire.
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

  /// Of a profile.
  var member: String { String(rawValue.dropFirst("read.".count)) }

  static let words = allCases.map(\.rawValue)
  /// What the partner API knows besides.
  static let partnerWords = words + [readProfile, "read.cards", "openid"]
  static let readProfile = "read.profile"
}

extension String {
  /// `+7 ••• 67`
  fileprivate var maskedPhone: String { "\(prefix(2)) ••• \(suffix(2))" }

  /// `a•••@example.com`
  fileprivate var maskedEmail: String { "\(prefix(1))•••\(drop { $0 != "@" })" }

  /// Of a phone number or an e-mail address.
  var masked: String { contains("@") ? maskedEmail : maskedPhone }
}
