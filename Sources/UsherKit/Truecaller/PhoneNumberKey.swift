import Crypto
import UsherClient

/// The key of a `verifyPhone` flow, by which the flow of a phone number is found again (page
/// Truecaller in Usher.docc).
struct PhoneNumberKey: Sendable, Equatable {
  private let callingCode: Substring
  private let salt: [UInt8]
  private let hash: [UInt8]

  /// Reads the key of a flow; nil if it has none, or one of another form.
  init?(_ flow: Flow) {
    let parts = flow.key?.split(separator: ".") ?? []
    guard parts.count == 3, let salt = [UInt8](hexadecimal: parts[1]),
      let hash = [UInt8](hexadecimal: parts[2])
    else { return nil }
    callingCode = parts[0]
    self.salt = salt
    self.hash = hash
  }

  /// Returns whether the flow verifies the number of a request, in whatever notation.
  func isKey(of request: PhoneRequest) -> Bool {
    let written = request.phone.filter { !" -.()[]/".contains($0) }
    let international = ["+", "00"].map { $0 + callingCode }.first(where: written.hasPrefix)
    let candidates = [written[...]] + (international.map { [written.dropFirst($0.count)] } ?? [])
    return candidates.contains {
      isKey(ofE164: "+\(callingCode)\($0)", country: request.countryCode.uppercased())
    }
  }

  /// Returns whether the flow verifies the number of an account at the same provider.
  func isKey(of account: Account) -> Bool {
    let country = account.attributes["countryCode"]?.stringValue ?? ""
    return isKey(ofE164: account.subject, country: country)
  }

  private func isKey(ofE164 number: String, country: String) -> Bool {
    HMAC<SHA256>.isValidAuthenticationCode(
      hash, authenticating: Array("\(country) \(number)".utf8), using: SymmetricKey(data: salt))
  }
}

extension [UInt8] {
  /// Reads two hexadecimal digits for each byte; nil if the text has another form.
  fileprivate init?(hexadecimal text: Substring) {
    let digits = text.compactMap(\.hexDigitValue)
    guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
    self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
  }
}
