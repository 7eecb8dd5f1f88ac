import JSONRPC
import UsherAPI

/// What a person has granted of their profile (seed, "GrantedProfile Structure").
///
/// The vendor publishes no members; they are one for each of ``DataGrants``. A member is nil where
/// it was not granted, and where it was granted and Freedom ID knows nothing: ``granted`` tells
/// which. It prints without the person's data.
public struct GrantedProfile: Sendable, Equatable {
  /// As Freedom ID writes it: `1990-05-17`.
  public let dateOfBirth: String?
  public let firstname: String?
  public let lastname: String?
  public let patronymic: String?
  public let country: String?
  public let nationality: String?
  public let gender: String?
  /// A citizen's ID, for example.
  public let identifier: String?
  public let phone: String?
  public let email: String?
  public let phones: [String]?
  public let emails: [String]?
  /// Our own: what was asked for and is granted, also at an earlier time.
  public let granted: Set<DataGrants>
  /// Our own: the daemon's name of the person's account, `acc_…`.
  public let account: String?
}

extension GrantedProfile {
  /// - Throws: ``KitError`` when the flow has failed, ``FreedomIDError/parsingError`` when it has
  ///   succeeded with a result that is no profile.
  init(_ flow: Flow) throws {
    let result = try flow.unfailed().result
    guard let profile = result?["profile"], case .object = profile,
      let words = result?["granted"]?.arrayValue
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
    granted = Set(words.compactMap { $0.stringValue.flatMap { DataGrants(rawValue: $0) } })
    account = result?["account"]?.stringValue
  }
}

extension JSONValue {
  /// Nil where it is absent or null.
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
