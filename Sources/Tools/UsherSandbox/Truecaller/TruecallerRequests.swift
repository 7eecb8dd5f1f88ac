import FoundationEssentials

/// A request for a code.
struct CreateRequest: Sendable, Hashable {
  var number: TruecallerNumber
  /// Of the installation: whoever brings it again is not asked for a code again.
  var deviceID: String

  init(number: TruecallerNumber, deviceID: String) {
    self.number = number
    self.deviceID = deviceID
  }

  /// Reads the whole of it: what the contract does not know is refused too.
  init(_ call: Call) throws {
    try call.checkApp()
    var body = try call.postedObject()
    number = try body.number()
    deviceID = try body.requiredText("deviceId")
    guard UUID(uuidString: deviceID) != nil else { throw body.complaint("deviceId", "is no UUID") }
    try body.expect("simSerial", [.string(deviceID)], "is not a list of just the deviceId")
    try body.expect("clientId", 16, "is not 16")
    try body.expect("phonePermission", false, "is not false")
    try body.expect("os", "ios", "is not ios")
    _ = try body.requiredText("version")
    guard try body.number("sequence", in: 1...1_000_000) != nil else {
      throw body.complaint("sequence", "is missing")
    }
    try body.finish()
  }
}

/// A code that a person has typed.
struct VerifyRequest: Sendable, Hashable {
  var number: TruecallerNumber
  var code: String
  var verificationToken: String

  init(number: TruecallerNumber, code: String, verificationToken: String) {
    self.number = number
    self.code = code
    self.verificationToken = verificationToken
  }

  init(_ call: Call) throws {
    try call.checkApp()
    var body = try call.postedObject()
    number = try body.number()
    code = try body.requiredText("secretToken")
    verificationToken = try body.requiredText("verificationToken")
    try body.finish()
  }
}

/// A name to write.
struct TruecallerName: Sendable, Hashable {
  var first: String
  var last: String

  /// - Throws: 4000 for what is no name at all, 4221 for one against the vendor's rules.
  init(_ call: Call) throws {
    var body = try call.postedObject()
    guard let first = body.take("firstName")?.text else {
      throw body.complaint("firstName", "is missing or no text")
    }
    guard let last = body.take("lastName")?.text else {
      throw body.complaint("lastName", "is missing or no text; it may be empty")
    }
    try body.finish()
    guard Self.isName(first), last.isEmpty || Self.isName(last) else {
      throw TruecallerRefusal.name
    }
    self.first = first
    self.last = last
  }

  /// Less than 128 UTF-16 units, of which one at least is of a letter, and no control characters.
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

extension Call {
  /// Refuses who is not the app that is registered.
  func checkApp() throws(TruecallerRefusal) {
    guard headers["appkey"] == Truecaller.appKey else { throw .developer("appKey") }
    guard headers["applink"] == Truecaller.appLink else { throw .developer("appLink") }
    guard let version = headers["sdkversion"], !version.isEmpty else {
      throw .invalid("the header sdkVersion is missing")
    }
    guard headers["sdkvariant"] == "native" else {
      throw .invalid("the header sdkVariant is not native")
    }
  }

  /// The token of the header Authorization; empty where there is none.
  var bearerToken: String {
    guard let header = headers["authorization"], header.hasPrefix("Bearer ") else { return "" }
    return String(header.dropFirst("Bearer ".count))
  }
}

extension ObjectReader {
  /// `countryCodeName` and `phoneNumber`.
  fileprivate mutating func number() throws -> TruecallerNumber {
    let country = try requiredText("countryCodeName")
    return try TruecallerNumber(country: country, national: try requiredText("phoneNumber"))
  }

  /// A member that is always the same.
  fileprivate mutating func expect(
    _ name: String, _ value: JSON, _ complaint: String
  ) throws(Refusal) {
    guard take(name) == value else { throw self.complaint(name, complaint) }
  }
}
