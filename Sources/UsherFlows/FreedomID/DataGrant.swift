import UsherAPI

/// A field of a person's profile that may be given to a client (seed, DataGrants; contract §4.3). The
/// raw value is the SDK's.
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

  /// As the partner API spells it (contract §10, trap 10).
  package var wire: String {
    switch self {
    case .dateOfBirth: "read.date_of_birth"
    case .firstname, .lastname, .patronymic, .country, .nationality, .gender, .identifier, .phone,
      .email, .phones, .emails:
      rawValue
    }
  }

  /// - Parameter text: In either spelling.
  package init?(either text: String) {
    guard let grant = Self.allCases.first(where: { $0.rawValue == text || $0.wire == text }) else {
      return nil
    }
    self = grant
  }

  /// The member of the provider's profile.
  var field: String { String(wire.dropFirst("read.".count)) }

  /// The member of ours.
  package var member: String {
    switch self {
    case .dateOfBirth: "dateOfBirth"
    case .firstname, .lastname, .patronymic, .country, .nationality, .gender, .identifier, .phone,
      .email, .phones, .emails:
      field
    }
  }

  /// Whether there may be several.
  var isList: Bool {
    switch self {
    case .phones, .emails: true
    case .dateOfBirth, .firstname, .lastname, .patronymic, .country, .nationality, .gender,
      .identifier, .phone, .email:
      false
    }
  }

  /// For people (seed, the table of DataGrants).
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

/// What may be asked for in mode `oauth2`: the fields, and three that open none (contract §4.3).
package enum PartnerGrant: Codable, Hashable, Sendable {
  case data(DataGrant)
  case profile
  case cards
  case openid

  private static let others: [PartnerGrant] = [.profile, .cards, .openid]
  package static let all = DataGrant.allCases.map { PartnerGrant.data($0) } + others

  /// As steps, results, consents and scopes say it.
  package var text: String {
    switch self {
    case .data(let grant): grant.rawValue
    case .profile: "read.profile"
    case .cards: "read.cards"
    case .openid: "openid"
    }
  }

  package var wire: String {
    switch self {
    case .data(let grant): grant.wire
    case .profile, .cards, .openid: text
    }
  }

  package var data: DataGrant? {
    switch self {
    case .data(let grant): grant
    case .profile, .cards, .openid: nil
    }
  }

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

/// What is wrong with the grants that were asked for.
enum GrantFlaw: Error, Equatable {
  case none
  /// Cleaned for people.
  case unknown(String)
}

extension [String] {
  /// The grants these words mean, each once, in the order of the table.
  func dataGrants() throws(GrantFlaw) -> [DataGrant] {
    let grants = try grants { DataGrant(either: $0) }
    return DataGrant.allCases.filter(grants.contains)
  }

  /// Likewise of the partner API.
  func partnerGrants() throws(GrantFlaw) -> [PartnerGrant] {
    let grants = try grants { PartnerGrant(either: $0) }
    return PartnerGrant.all.filter(grants.contains)
  }

  private func grants<Grant: Hashable>(
    _ read: (String) -> Grant?
  ) throws(GrantFlaw) -> Set<Grant> {
    guard !isEmpty else { throw .none }
    var grants: Set<Grant> = []
    for text in self {
      guard let grant = read(text) else {
        throw .unknown(ProviderText.clean(text, limit: 100))
      }
      grants.insert(grant)
    }
    return grants
  }
}
