import FoundationEssentials

/// A request for a code.
struct CreateRequest: Sendable, Hashable {
  var number: TruecallerNumber
  /// The UUID of the app's installation. A number that it has verified needs no further code.
  var deviceID: String

  init(number: TruecallerNumber, deviceID: String) {
    self.number = number
    self.deviceID = deviceID
  }

  /// Parses the request. Members that the contract does not define are refused.
  init(_ call: EndpointCall) throws {
    try call.checkApp()
    var body = try call.postedObject()
    number = try body.number()
    deviceID = try body.requiredText("deviceId")
    guard UUID(uuidString: deviceID) != nil else {
      throw body.invalid("deviceId", "is not a UUID")
    }
    try body.expect("simSerial", [.string(deviceID)], "must be a list with only the deviceId")
    try body.expect("clientId", 16, "must be 16")
    try body.expect("phonePermission", false, "must be false")
    try body.expect("os", "ios", "must be ios")
    _ = try body.requiredText("version")
    guard try body.number("sequence", in: 1...1_000_000) != nil else {
      throw body.invalid("sequence", "is missing")
    }
    try body.finish()
  }
}

/// A code that the user typed.
struct VerifyRequest: Sendable, Hashable {
  var number: TruecallerNumber
  var code: String
  var verificationToken: String

  init(number: TruecallerNumber, code: String, verificationToken: String) {
    self.number = number
    self.code = code
    self.verificationToken = verificationToken
  }

  init(_ call: EndpointCall) throws {
    try call.checkApp()
    var body = try call.postedObject()
    number = try body.number()
    code = try body.requiredText("secretToken")
    verificationToken = try body.requiredText("verificationToken")
    try body.finish()
  }
}

/// A name to store in the profile.
struct TruecallerProfileName: Sendable, Hashable {
  var first: String
  var last: String

  /// - Throws: 4000 if a name is missing or not a string, 4221 if it violates the vendor's rules.
  init(_ call: EndpointCall) throws {
    var body = try call.postedObject()
    guard let first = body.remove("firstName")?.text else {
      throw body.invalid("firstName", "is missing or not a string")
    }
    guard let last = body.remove("lastName")?.text else {
      throw body.invalid("lastName", "is missing or not a string; it may be empty")
    }
    try body.finish()
    guard Self.isName(first), last.isEmpty || Self.isName(last) else {
      throw TruecallerErrorReply.name
    }
    self.first = first
    self.last = last
  }

  /// Whether the text has under 128 UTF-16 code units, a letter and no control characters.
  private static func isName(_ text: String) -> Bool {
    let scalars = text.unicodeScalars
    return text.utf16.count < 128 && !scalars.contains { $0.properties.generalCategory == .control }
      && scalars.contains { isLetter($0.properties.generalCategory) }
  }

  private static func isLetter(_ category: Unicode.GeneralCategory) -> Bool {
    let letters: [Unicode.GeneralCategory] = [
      .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
    ]
    return letters.contains(category)
  }
}

extension EndpointCall {
  /// Throws if the request does not come from the registered app.
  func checkApp() throws(TruecallerErrorReply) {
    guard headers["appkey"] == TruecallerBackend.appKey else { throw .developer("appKey") }
    guard headers["applink"] == TruecallerBackend.appLink else { throw .developer("appLink") }
    guard let version = headers["sdkversion"], !version.isEmpty else {
      throw .invalid("the header sdkVersion is missing")
    }
    guard headers["sdkvariant"] == "native" else {
      throw .invalid("the header sdkVariant is not native")
    }
  }
}

extension ObjectReader {
  /// Reads the members `countryCodeName` and `phoneNumber`.
  fileprivate mutating func number() throws -> TruecallerNumber {
    let country = try requiredText("countryCodeName")
    return try TruecallerNumber(country: country, national: try requiredText("phoneNumber"))
  }

  /// Reads a member that must have the given value.
  fileprivate mutating func expect(
    _ name: String, _ value: JSON, _ complaint: String
  ) throws(OAuthError) {
    guard remove(name) == value else { throw self.invalid(name, complaint) }
  }
}
