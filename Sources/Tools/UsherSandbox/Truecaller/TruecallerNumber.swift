/// A phone number as requests contain it: a country and the national number.
struct TruecallerNumber: Sendable, Hashable {
  /// The regional host that stores the profiles of a country.
  enum Host: String, Sendable {
    case eu
    case noneu
  }

  /// The format of a number in a response.
  enum Form: String, Sendable, Codable {
    case number
    case string
    case plus
    case national
  }

  /// The ISO 3166-1 code in upper case.
  let country: String
  /// The national number, without the calling code.
  let national: String
  let host: Host
  private let callingCode: String

  /// - Parameter countryMember: The name of the member that contains the country, for the error
  ///   message.
  /// - Throws: ``TruecallerErrorReply`` 4000 if the country or the number is malformed, 4002 if the
  ///   country gets no codes, 4001 if the number is impossible.
  init(
    country: String, national: String, countryMember: String = "countryCodeName"
  ) throws(TruecallerErrorReply) {
    guard country.isCountryCode else {
      throw .invalid("\(countryMember) is not two upper-case letters")
    }
    guard national.isDigits else {
      throw .invalid("phoneNumber must consist of digits")
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

  /// Creates another number by changing the last digit.
  private init(_ other: TruecallerNumber) {
    country = other.country
    host = other.host
    callingCode = other.callingCode
    national = other.national.dropLast() + (other.national.last == "0" ? "1" : "0")
  }

  /// The number in E.164 format with its plus sign. `GB` and `UK` give the same result.
  var e164: String { "+\(callingCode)\(national)" }

  var withOtherLastDigit: TruecallerNumber { TruecallerNumber(self) }

  func json(_ form: Form) -> JSON {
    let digits = callingCode + national
    return switch form {
    // At most 15 digits (E.164 §6.2), which fit into an Int.
    case .number: Int(digits).map { .integer($0) } ?? .string(digits)
    case .string: .string(digits)
    case .plus: .string("+\(digits)")
    case .national: .string(national)
    }
  }

  /// Whether the number can exist: in India a mobile number of ten digits, elsewhere a number
  /// within the limits of E.164.
  private var isPossible: Bool {
    if country == "IN" {
      return national.count == 10 && national.first.map { "6789".contains($0) } == true
    }
    return national.count >= 4 && callingCode.count + national.count <= 15
  }
}

extension String {
  /// Whether the text is two upper-case ASCII letters.
  var isCountryCode: Bool {
    utf8.count == 2 && utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
  }

  /// Whether the text is one or more ASCII digits.
  var isDigits: Bool {
    !isEmpty && utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// Whether the text is a plus sign and 4 to 15 digits.
  var isE164: Bool {
    hasPrefix("+") && (5...16).contains(utf8.count) && String(dropFirst()).isDigits
  }
}
