import FoundationEssentials
import JSONRPC
import UsherCore

/// A user's profile: all members of the SDK's TCTrueProfile (provider contract §1.3 item 4).
struct TrueProfile: Equatable {
  /// The members under the names that the flow's result uses. All are present; one that Truecaller
  /// does not know is null.
  let members: [String: JSONValue]

  init(_ wire: [String: JSONValue]) {
    var members = Dictionary(uniqueKeysWithValues: Self.texts.map { ($0, Self.text(wire[$0])) })
    members["gender"] = .string(Self.gender(wire["gender"]))
    members["isVerified"] = .bool(wire["isTrueName"]?.boolValue ?? false)
    members["isAmbassador"] = .bool(wire["isAmbassador"]?.boolValue ?? false)
    members["phoneNumber"] = members["phoneNumber"] == "" ? .null : members["phoneNumber"]
    members["requestTime"] = wire["requestTime"].flatMap { $0.isExact ? $0 : nil } ?? .null
    self.members = members
  }

  /// The full name for display; nil if Truecaller does not know the name.
  var name: String? {
    let parts = ["firstName", "lastName"].compactMap { members[$0]?.stringValue }
    return ProviderText.shown(parts.filter { !$0.isEmpty }.joined(separator: " "))
  }

  private static let texts = [
    "firstName", "lastName", "phoneNumber", "countryCode", "street", "city", "zipcode",
    "facebookID", "twitterID", "email", "url", "avatarUrl", "jobTitle", "companyName",
  ]

  /// Returns the value as text. Truecaller may send a phone number or zip code as a JSON number.
  private static func text(_ value: JSONValue?) -> JSONValue {
    switch value {
    case .string(let text): .string(ProviderText.clean(text, limit: 1000))
    case .integer(let number): .string(String(number))
    case .number(let number): Int64(exactly: number).map { .string(String($0)) } ?? .null
    case nil, .null, .bool, .array, .object: .null
    }
  }

  private static func gender(_ value: JSONValue?) -> String {
    switch value?.stringValue?.lowercased() {
    case "m": "male"
    case "f": "female"
    default: "notSpecified"
    }
  }
}

extension JSONValue {
  /// Whether the value is a number that every JSON parser reads alike (RFC 8259 §6).
  fileprivate var isExact: Bool {
    switch self {
    case .integer(let number): number.magnitude <= 1 << 53
    case .number(let number): number.magnitude <= 0x1p53
    case .null, .bool, .string, .array, .object: false
    }
  }
}

/// A profile that Truecaller has signed (provider contract §1.3 item 8).
struct SignedProfile: Codable, Sendable, Equatable {
  let text: SignedText

  /// Reads a signed profile from a reply; nil if the profile is not signed.
  ///
  /// - Throws: `UnusableReply` if the signature is malformed or of an unsupported algorithm.
  init?(_ wire: [String: JSONValue]) throws(UnusableReply) {
    guard let payload = wire["payload"], !payload.isNull else { return nil }
    guard let text = payload.stringValue, !text.isEmpty,
      let signature = wire["signature"]?.stringValue.flatMap({ Data(base64Encoded: $0) }),
      !signature.isEmpty
    else { throw UnusableReply("the profile's signature is missing or cannot be read") }
    let algorithm = wire["signatureAlgorithm"]?.stringValue ?? Self.algorithm
    guard algorithm == Self.algorithm else {
      throw UnusableReply("the profile's signature is not by \(Self.algorithm)")
    }
    self.text = SignedText(text: text, signature: Array(signature))
  }

  private static let algorithm = "SHA512withRSA"

  /// The decoded members of the profile; nil if they cannot be decoded. The signature covers the
  /// Base64 text from which they are decoded.
  var members: [String: JSONValue]? {
    Data(base64Encoded: text.text).flatMap { try? JSONValue(parsing: Array($0)).objectValue }
  }
}
