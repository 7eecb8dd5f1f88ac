/// A member of a person's profile for which an app can ask (SDK documentation, "DataGrants
/// Structure").
///
/// The raw value is the name that the SDK and the daemon use.
public enum DataGrants: String, Sendable, Equatable, CaseIterable {
  case readDateOfBirth = "read.data_of_birth"
  case readFirstname = "read.firstname"
  case readLastname = "read.lastname"
  case readPatronymic = "read.patronymic"
  case readCountry = "read.country"
  case readNationality = "read.nationality"
  case readGender = "read.gender"
  /// An identifier of the person, such as a citizen's ID.
  case readIdentifier = "read.identifier"
  case readPhone = "read.phone"
  case readEmail = "read.email"
  case readPhones = "read.phones"
  case readEmails = "read.emails"
}
