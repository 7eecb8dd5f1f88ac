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
