/// A member of a person's profile that an app may ask for (seed, "DataGrants Structure").
///
/// The raw value is the SDK's word, and the daemon's.
public enum DataGrants: String, Sendable, Equatable, CaseIterable {
  case readDateOfBirth = "read.data_of_birth"
  case readFirstname = "read.firstname"
  case readLastname = "read.lastname"
  case readPatronymic = "read.patronymic"
  case readCountry = "read.country"
  case readNationality = "read.nationality"
  case readGender = "read.gender"
  /// A citizen's ID, for example.
  case readIdentifier = "read.identifier"
  case readPhone = "read.phone"
  case readEmail = "read.email"
  case readPhones = "read.phones"
  case readEmails = "read.emails"
}
