import FoundationEssentials

/// Reads a JSON object member by member and collects errors by member, as Freedom does.
struct FreedomBody {
  private var rest: [String: JSON]
  private(set) var errors: [String: [String]] = [:]

  init(_ call: EndpointCall) throws(FreedomRefusal) {
    guard call.contentType == "application/json" else {
      throw .invalid(["body": ["is not of the type application/json"]], status: 400)
    }
    guard case .object(let members)? = try? JSON(parsing: call.body) else {
      throw .invalid(["body": ["is not a JSON object"]], status: 400)
    }
    rest = members
  }

  mutating func addError(_ name: String, _ what: String) {
    errors[name, default: []].append(what)
  }

  /// Reads a string; nil if it is missing or invalid. An invalid one is an error.
  mutating func text(_ name: String, _ format: FreedomFormat) -> String? {
    guard let value = rest.removeValue(forKey: name) else { return nil }
    guard let text = value.text, format.fits(text) else {
      addError(name, format.violation)
      return nil
    }
    return text
  }

  /// Reads a string; empty if it is missing or invalid, both of which are errors.
  mutating func required(_ name: String, _ format: FreedomFormat) -> String {
    guard rest[name] != nil else {
      addError(name, "is missing")
      return ""
    }
    return text(name, format) ?? ""
  }

  /// Reads a non-empty list of known words, without duplicates.
  mutating func grants(knowing words: [String]) -> [String] {
    guard case .array(let values)? = rest.removeValue(forKey: "grants"), !values.isEmpty else {
      addError("grants", "is not a non-empty array")
      return []
    }
    var grants: [String] = []
    for (index, value) in values.enumerated() {
      if let word = value.text, words.contains(word) {
        if !grants.contains(word) { grants.append(word) }
      } else {
        addError("grants.\(index)", "is not known")
      }
    }
    return grants
  }

  /// Throws if a member was invalid or if there is a member that was not read.
  mutating func finish() throws(FreedomRefusal) {
    for name in rest.keys { addError(name.printable, "is not a known member") }
    guard errors.isEmpty else { throw .invalid(errors) }
  }
}

/// The format of a string member.
enum FreedomFormat {
  case phone, email, uuid, date, time, country, gender, link, text, secret

  var violation: String {
    switch self {
    case .phone: "is not + and 10 to 15 digits"
    case .email: "is not an e-mail address"
    case .uuid: "is not a UUID"
    case .date: "is not a date like 1990-12-31"
    case .time: "is not an RFC 3339 time"
    case .country: "is not three capital letters"
    case .gender: "is not M or F"
    case .link: "is not a URL"
    case .text, .secret: "is not a string of 1 to 256 bytes"
    }
  }

  func fits(_ text: String) -> Bool {
    switch self {
    case .phone:
      text.first == "+" && (11...16).contains(text.utf8.count)
        && text.utf8.dropFirst().allSatisfy(\.isDigit)
    case .email: Self.isAddress(text)
    case .uuid: text.utf8.count == 36 && UUID(uuidString: text) != nil
    case .date: Self.isDay(text)
    case .time: (try? Date(text.withoutFraction, strategy: .iso8601)) != nil
    case .country: text.utf8.count == 3 && text.utf8.allSatisfy { (0x41...0x5A).contains($0) }
    case .gender: ["M", "F"].contains(text)
    case .link: ReturnURL(text) != nil
    case .text, .secret: (1...256).contains(text.utf8.count)
    }
  }

  private static func isAddress(_ text: String) -> Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && text.utf8.count <= 254
      && !text.contains { $0.isWhitespace }
  }

  /// Whether the day exists in the calendar.
  private static func isDay(_ text: String) -> Bool {
    guard text.utf8.count == 10, let day = try? Date("\(text)T00:00:00Z", strategy: .iso8601)
    else { return false }
    return day.formatted(.iso8601).hasPrefix(text)
  }
}

extension String {
  /// The time without its fraction of a second.
  fileprivate var withoutFraction: String {
    guard let dot = firstIndex(of: ".") else { return self }
    return self[..<dot] + String(self[dot...].dropFirst().drop { $0.isASCII && $0.isNumber })
  }
}

extension UInt8 {
  fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
}

extension TokenGenerator {
  /// Returns a random UUID (RFC 9562 §5.4) in lower case.
  func uuid() -> String { Self.uuid(secret(16), version: 4) }

  /// Returns random ASCII letters and digits.
  func alphanumerics(_ count: Int) -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
    return String(secret(count).map { letters[Int($0) % letters.count] })
  }

  static func uuid(_ bytes: [UInt8], version: UInt8) -> String {
    var bytes = Array(bytes.prefix(16))
    bytes[6] = bytes[6] & 0x0F | version << 4
    bytes[8] = bytes[8] & 0x3F | 0x80
    let parts = [bytes[..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10...]]
    return parts.map { Hex.text($0) }.joined(separator: "-")
  }
}
