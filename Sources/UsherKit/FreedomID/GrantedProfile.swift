import UsherClient

/// The granted members of a person's profile (SDK documentation, "GrantedProfile Structure").
///
/// The vendor does not document the members; there is one for each of ``DataGrants``. A member is
/// nil if it was not granted, or if Freedom ID has no value: ``granted`` tells which. The
/// description omits the person's data.
public struct GrantedProfile: Sendable, Equatable {
  /// The date of birth in the format of Freedom ID, such as `1990-05-17`.
  public let dateOfBirth: String?
  public let firstname: String?
  public let lastname: String?
  public let patronymic: String?
  public let country: String?
  public let nationality: String?
  public let gender: String?
  /// An identifier of the person, such as a citizen's ID.
  public let identifier: String?
  public let phone: String?
  public let email: String?
  public let phones: [String]?
  public let emails: [String]?
  /// The requested grants that the app has after the call, including earlier ones. Not in the SDK.
  public let granted: Set<DataGrants>
  /// The daemon's id of the person's account, `acc_…`. Not in the SDK.
  public let account: String?
  /// Whether the members are claims of OpenID Connect.
  let isOfClaims: Bool
}

extension GrantedProfile {
  /// Creates the profile from the result of the daemon's flow.
  ///
  /// - Throws: ``KitError`` if the flow has ended without success; ``FreedomIDError/parsingError``
  ///   if its result is not a profile.
  init(_ flow: Flow) throws {
    let result = try flow.requireNoFailure().result
    guard let profile = result?["profile"], case .object = profile,
      let grantIDs = result?["granted"]?.arrayValue
    else { throw FreedomIDError.parsingError }
    dateOfBirth = try profile.text("dateOfBirth")
    firstname = try profile.text("firstname")
    lastname = try profile.text("lastname")
    patronymic = try profile.text("patronymic")
    country = try profile.text("country")
    nationality = try profile.text("nationality")
    gender = try profile.text("gender")
    identifier = try profile.text("identifier")
    phone = try profile.text("phone")
    email = try profile.text("email")
    phones = try profile.texts("phones")
    emails = try profile.texts("emails")
    granted = Set(grantIDs.compactMap { $0.stringValue.flatMap { DataGrants(rawValue: $0) } })
    account = result?["account"]?.stringValue
    isOfClaims = false
  }

  /// Creates the profile from the claims of OpenID Connect Core, §5.1, of an account of mode
  /// `oidc`. A grant counts as granted if the provider sent its claim.
  ///
  /// - Parameter grants: The requested grants; other claims are not passed on.
  /// - Throws: ``FreedomIDError/parsingError`` if a claim is of another type.
  init(
    claims: [String: JSONValue], of account: String, _ grants: [DataGrants]
  ) throws(FreedomIDError) {
    var members: [DataGrants: JSONValue] = [:]
    for grant in grants { members[grant] = grant.claim(in: claims) }
    let profile = members
    func text(_ grant: DataGrants) throws(FreedomIDError) -> String? {
      guard let value = profile[grant] else { return nil }
      guard let text = value.stringValue else { throw .parsingError }
      return text
    }
    dateOfBirth = try text(.readDateOfBirth)
    firstname = try text(.readFirstname)
    lastname = try text(.readLastname)
    patronymic = try text(.readPatronymic)
    country = try text(.readCountry)
    nationality = nil
    gender = try text(.readGender)
    identifier = nil
    phone = try text(.readPhone)
    email = try text(.readEmail)
    phones = try text(.readPhones).map { [$0] }
    emails = try text(.readEmails).map { [$0] }
    granted = Set(profile.keys)
    self.account = account
    isOfClaims = true
  }
}

extension DataGrants {
  /// Returns the claim of OpenID Connect that corresponds to the grant; nil if the claims do not
  /// have it. Nationality and identifier have no standard claim.
  fileprivate func claim(in claims: [String: JSONValue]) -> JSONValue? {
    let claim: JSONValue? =
      switch self {
      case .readDateOfBirth: claims["birthdate"]
      case .readFirstname: claims["given_name"]
      case .readLastname: claims["family_name"]
      case .readPatronymic: claims["middle_name"]
      case .readCountry: claims["address"]?["country"]
      case .readGender: claims["gender"]
      case .readPhone, .readPhones: claims["phone_number"]
      case .readEmail, .readEmails: claims["email"]
      case .readNationality, .readIdentifier: nil
      }
    guard let claim, !claim.isNull else { return nil }
    return claim
  }
}

extension JSONValue {
  /// Returns a member of the profile as a string; nil if it is absent or null.
  fileprivate func text(_ member: String) throws(FreedomIDError) -> String? {
    guard let value = self[member], !value.isNull else { return nil }
    guard let text = value.stringValue else { throw .parsingError }
    return text
  }

  fileprivate func texts(_ member: String) throws(FreedomIDError) -> [String]? {
    guard let value = self[member], !value.isNull else { return nil }
    guard let texts = value.arrayValue?.map(\.stringValue), !texts.contains(nil) else {
      throw .parsingError
    }
    return texts.compactMap(\.self)
  }
}

extension GrantedProfile: CustomStringConvertible, CustomReflectable {
  public var description: String {
    "granted: \(granted.map(\.rawValue).sorted().joined(separator: ", "))"
  }

  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}
