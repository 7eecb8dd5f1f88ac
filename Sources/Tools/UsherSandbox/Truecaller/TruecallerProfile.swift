import FoundationEssentials

/// Truecaller's profile of the person with a phone number, without the number itself.
struct TruecallerProfile: Sendable, Hashable, Codable {
  enum CodingKeys: String, CodingKey, CaseIterable {
    case firstName, lastName, gender, street, city, zipcode, facebookID, twitterID, email, url
    case avatarUrl, jobTitle, companyName, isTrueName, isAmbassador
  }

  var firstName: String?
  var lastName: String?
  /// `m` or `f` in any case; not checked.
  var gender: String?
  var street: String?
  var city: String?
  var zipcode: String?
  var facebookID: String?
  var twitterID: String?
  var email: String?
  var url: String?
  var avatarUrl: String?
  var jobTitle: String?
  var companyName: String?
  var isTrueName: Bool? = false
  var isAmbassador: Bool? = false

  init() {}

  /// Creates the profile of a test user, from the first two words of the name.
  init(_ user: User) {
    let words = user.name.split(separator: " ", maxSplits: 1)
    firstName = words.first.map { String($0) }
    lastName = words.dropFirst().first.map { String($0) }
    email = user.email
    isTrueName = true
  }

  /// Returns this profile with some members changed; `null` clears a member.
  func changed(by changes: [String: JSON]) throws(OAuthError) -> TruecallerProfile {
    if let name = changes.keys.sorted().first(where: { CodingKeys(stringValue: $0) == nil }) {
      throw OAuthError("invalid_request", "profile.\(name.printable) cannot be set")
    }
    guard case .object(let members)? = try? JSON(encoding: self),
      let changed = try? JSON.object(members.applying(overrides: changes))
        .decoded(as: TruecallerProfile.self)
    else { throw OAuthError("invalid_request", "a member of profile has the wrong type") }
    return changed
  }

  /// The profile as a response to a request with an access token of this number.
  ///
  /// - Throws: Errors of the encoder, which do not occur for a profile.
  func members(
    of number: TruecallerNumber, _ settings: TruecallerBackendSettings, now: Date
  ) throws -> [String: JSON] {
    guard case .object(var members) = try JSON(encoding: self) else { return [:] }
    if settings.emptyMembers == .null {
      for key in CodingKeys.allCases where members[key.rawValue] == nil {
        members[key.rawValue] = .null
      }
    }
    let reported = settings.profileOtherNumber ? number.withOtherLastDigit : number
    members["phoneNumber"] = reported.json(settings.profileNumber)
    members["countryCode"] = .string(number.country)
    members["requestTime"] = .number(now.timeIntervalSince1970)
    return members
  }
}
