public import FoundationEssentials
import JSONRPC

/// A person's profile at Truecaller (provider contract §1.3 item 4). Members that Truecaller does
/// not send are nil, or false.
public struct TCTrueProfile: Sendable, Equatable {
  public let firstName: String?
  public let lastName: String?
  /// The phone number with the country's calling code, without `+`: `919876543210`.
  public let phoneNumber: String?
  /// The ISO 3166-1 alpha-2 code of the country.
  public let countryCode: String?
  public let street: String?
  public let city: String?
  public let zipCode: String?
  public let facebookID: String?
  public let twitterID: String?
  public let email: String?
  public let url: String?
  public let avatarURL: String?
  public let jobTitle: String?
  public let companyName: String?
  public let gender: TCTrueSDKGender
  /// Whether Truecaller has verified the name (`isTrueName` in its API).
  public let isVerified: Bool
  public let isAmbassador: Bool
  /// The time of the request by the server's clock.
  public let requestTime: Date?
}

/// The gender in a profile, with the SDK's raw values.
public enum TCTrueSDKGender: Int, Sendable, Equatable, CaseIterable {
  case notSpecified = 0
  case male = 1
  case female = 2
}

extension TCTrueProfile {
  /// Reads a profile from the result of the daemon's flow.
  ///
  /// - Parameter members: The object `result.profile` of the flow.
  init(_ members: JSONValue) {
    firstName = members["firstName"]?.stringValue
    lastName = members["lastName"]?.stringValue
    phoneNumber = members["phoneNumber"]?.stringValue
    countryCode = members["countryCode"]?.stringValue
    street = members["street"]?.stringValue
    city = members["city"]?.stringValue
    zipCode = members["zipcode"]?.stringValue
    facebookID = members["facebookID"]?.stringValue
    twitterID = members["twitterID"]?.stringValue
    email = members["email"]?.stringValue
    url = members["url"]?.stringValue
    avatarURL = members["avatarUrl"]?.stringValue
    jobTitle = members["jobTitle"]?.stringValue
    companyName = members["companyName"]?.stringValue
    gender =
      switch members["gender"]?.stringValue {
      case "male": .male
      case "female": .female
      default: .notSpecified
      }
    isVerified = members["isVerified"]?.boolValue ?? false
    isAmbassador = members["isAmbassador"]?.boolValue ?? false
    requestTime = members["requestTime"]?.numberValue.map { Date(timeIntervalSince1970: $0) }
  }
}
