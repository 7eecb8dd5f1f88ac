import UsherAPI
import UsherCore

/// A field of the user's profile that a client may be allowed to read (SDK documentation,
/// DataGrants; provider contract §4.3). The raw value is the spelling of the SDK.
package enum DataGrant: String, Codable, CaseIterable, Sendable {
  case dateOfBirth = "read.data_of_birth"
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

  /// The name of the grant in the partner API, which spells one grant differently (provider
  /// contract §10, trap 10).
  package var wire: String { self == .dateOfBirth ? "read.date_of_birth" : rawValue }

  /// Creates the grant from its name in the SDK or in the partner API; nil if there is no such
  /// grant.
  package init?(either text: String) {
    guard let grant = Self.allCases.first(where: { $0.rawValue == text || $0.wire == text }) else {
      return nil
    }
    self = grant
  }

  /// The name of the granted field in the profile that Freedom ID returns.
  var field: String { String(wire.dropFirst("read.".count)) }

  /// The name of the granted field in the profile that the daemon stores for an account.
  package var member: String { self == .dateOfBirth ? "dateOfBirth" : field }

  /// Whether the field holds a list of values.
  var isList: Bool { [.phones, .emails].contains(self) }

  /// The name of the grant for users (SDK documentation, the table of DataGrants).
  package var label: String {
    switch self {
    case .dateOfBirth: "Date of birth"
    case .firstname: "First name"
    case .lastname: "Last name"
    case .patronymic: "Patronymic"
    case .country: "Country"
    case .nationality: "Nationality"
    case .gender: "Gender"
    case .identifier: "Identifier, such as the citizen's ID"
    case .phone: "Phone number"
    case .email: "E-mail address"
    case .phones: "Phone numbers"
    case .emails: "E-mail addresses"
    }
  }
}

/// A grant that a partner can request in mode `oauth2`: a profile field, or one of three grants
/// that cover no field (provider contract §4.3).
package enum PartnerGrant: Codable, Hashable, Sendable {
  case data(DataGrant)
  case profile
  case cards
  case openid

  private static let others: [PartnerGrant] = [.profile, .cards, .openid]
  package static let all = DataGrant.allCases.map { PartnerGrant.data($0) } + others

  /// The name of the grant as it appears in steps, results, consents and scopes.
  package var text: String {
    switch self {
    case .data(let grant): grant.rawValue
    case .profile: "read.profile"
    case .cards: "read.cards"
    case .openid: "openid"
    }
  }

  package var wire: String { data?.wire ?? text }

  package var data: DataGrant? { if case .data(let grant) = self { grant } else { nil } }

  package init?(either text: String) {
    if let grant = DataGrant(either: text) {
      self = .data(grant)
    } else if let other = Self.others.first(where: { $0.text == text }) {
      self = other
    } else {
      return nil
    }
  }
}

extension [String] {
  /// Returns the grants with these names, each once, in the order in which ``DataGrant`` lists
  /// them.
  ///
  /// - Throws: The failure of a flow that requests no grant or an unknown one.
  func dataGrants(at provider: ProviderName) throws(Failure) -> [DataGrant] {
    let grants = try grants(at: provider) { DataGrant(either: $0) }
    return DataGrant.allCases.filter(grants.contains)
  }

  /// Returns the grants of the partner API with these names, each once, in the order of
  /// ``PartnerGrant/all``.
  ///
  /// - Throws: As ``dataGrants(at:)`` does.
  func partnerGrants(at provider: ProviderName) throws(Failure) -> [PartnerGrant] {
    let grants = try grants(at: provider) { PartnerGrant(either: $0) }
    return PartnerGrant.all.filter(grants.contains)
  }

  private func grants<Grant: Hashable>(
    at provider: ProviderName, _ read: (String) -> Grant?
  ) throws(Failure) -> Set<Grant> {
    guard !isEmpty else { throw .emptyGrants(provider) }
    var grants: Set<Grant> = []
    for text in self {
      guard let grant = read(text) else {
        let shown = ProviderText.clean(text, limit: 100)
        throw .invalid("grant \"\(shown)\" does not exist", provider)
      }
      grants.insert(grant)
    }
    return grants
  }
}
