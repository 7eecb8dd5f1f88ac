/// A phone number as the wire has it: a country, and the number within it.
struct TruecallerNumber: Sendable, Hashable {
  /// Where the profiles of a country's people are.
  enum Host: String, Sendable {
    case eu
    case noneu
  }

  /// How an answer writes a number.
  enum Form: String, Sendable, Codable {
    case number
    case string
    case plus
    case national
  }

  /// ISO 3166 in upper case.
  let country: String
  /// Without the calling code.
  let national: String
  let host: Host
  private let callingCode: String

  /// - Parameter countryMember: What the country is called where it comes from, for a complaint.
  /// - Throws: ``TruecallerRefusal`` 4000 for what is no country or number at all, 4002 for a
  ///   country that has no codes sent to it, 4001 for a number that nobody can have.
  init(
    country: String, national: String, countryMember: String = "countryCodeName"
  ) throws(TruecallerRefusal) {
    guard country.isCountryCode else {
      throw .invalid("\(countryMember) is not two upper-case letters")
    }
    guard national.isDigits else {
      throw .invalid("phoneNumber is not made of digits")
    }
    if let code = CallingCodes.europe[country] {
      (host, callingCode) = (.eu, code)
    } else if let code = CallingCodes.elsewhere[country] {
      (host, callingCode) = (.noneu, code)
    } else {
      throw .unserved
    }
    self.country = country
    self.national = national
    guard isPossible else { throw .uncallable }
  }

  /// The number with another last digit, for an answer that speaks of somebody else.
  private init(_ other: TruecallerNumber) {
    country = other.country
    host = other.host
    callingCode = other.callingCode
    national = other.national.dropLast() + (other.national.last == "0" ? "1" : "0")
  }

  /// E.164 with its plus: the same for the same telephone, whatever its country is called.
  var e164: String { "+\(callingCode)\(national)" }

  var somebodyElses: TruecallerNumber { TruecallerNumber(self) }

  func json(_ form: Form) -> JSON {
    let digits = callingCode + national
    return switch form {
    // At most 15 digits (E.164 §6.2), which every Int has room for.
    case .number: Int(digits).map { .integer($0) } ?? .string(digits)
    case .string: .string(digits)
    case .plus: .string("+\(digits)")
    case .national: .string(national)
    }
  }

  /// India's mobile numbers have ten digits; of other countries only the limits of E.164 are known.
  private var isPossible: Bool {
    if country == "IN" {
      return national.count == 10 && national.first.map { "6789".contains($0) } == true
    }
    return national.count >= 4 && callingCode.count + national.count <= 15
  }
}

extension String {
  /// Two upper-case letters.
  var isCountryCode: Bool {
    utf8.count == 2 && utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
  }

  /// At least one, all ASCII.
  var isDigits: Bool {
    !isEmpty && utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// A plus and 4 to 15 digits.
  var isE164: Bool {
    hasPrefix("+") && (5...16).contains(utf8.count) && String(dropFirst()).isDigits
  }
}
