import FoundationEssentials
import JSONRPC

/// Replaces secrets with ``HTTPReply/echo`` in text from a provider.
///
/// A secret of 8 bytes or more is masked in each of these spellings, in any case: plain, escaped,
/// form-encoded, percent-encoded, Base64. The whole text is replaced in two cases: if it still
/// contains a secret of 6 bytes or more after decoding and after removal of invisible characters
/// and blanks, in any case; or if a run of 16 or more Base64, Base32 or hexadecimal digits decodes
/// to one. Shorter secrets, and secrets of 6 or 7 letters, are not masked, because that would
/// damage ordinary words.
struct SecretMask {
  /// The number of nested levels of escapes that are decoded. A text with more levels is replaced
  /// as a whole.
  private static let maxDecodings = 4
  /// The number of nested levels of encoded runs that are decoded, for example Base64 in Base64.
  private static let maxRunDepth = 2
  /// The minimum length in bytes of a secret that is masked within a text.
  private static let minMaskedBytes = 8
  /// The minimum length in bytes of a secret because of which a whole text is replaced. A secret of
  /// 6 or 7 letters is exempt.
  private static let minDroppedBytes = 6

  /// The forms of the secrets that are masked, as bytes with ASCII letters in lower case; the
  /// longest first.
  private let spellings: [[UInt8]]
  /// The secrets and their decodings, reduced to visible characters by ``read(_:)``.
  private let readings: [[UInt8]]
  /// The secrets as bytes, with ASCII letters in lower case.
  private let plain: [[UInt8]]

  init(_ secrets: [String]) {
    let spellings = secrets.filter { $0.utf8.count >= Self.minMaskedBytes }
      .flatMap { Self.spellings(of: $0) }
    self.spellings = Set(spellings.map { $0.utf8.map(\.asciiLowercased) })
      .sorted { ($1.count, $0.first ?? 0) < ($0.count, $1.first ?? 0) }
    let hidden = secrets.filter { secret in
      secret.utf8.count >= Self.minMaskedBytes
        || secret.utf8.count >= Self.minDroppedBytes && !secret.utf8.allSatisfy(\.isLetter)
    }
    plain = hidden.map { $0.utf8.map(\.asciiLowercased) }
    let readings = hidden.flatMap { secret in
      Self.decodings(of: Array(secret.utf8)).texts.map { Self.read($0) }
    }
    self.readings = Array(Set(readings).filter { $0.count >= Self.minDroppedBytes })
  }

  private static func spellings(of secret: String) -> [String] {
    let form = FormEncoding.encode(secret)
    let base64 = Data(secret.utf8).base64EncodedString().prefix { $0 != "=" }
    let urlSafe = base64.replacing("+", with: "-").replacing("/", with: "_")
    return [
      secret, secret.replacing("/", with: "\\/"), form, form.replacing("+", with: "%20"),
      String(base64), String(urlSafe),
    ]
  }

  /// Returns the JSON value with secrets masked, also in the names of members. A number that
  /// contains a secret becomes a string.
  func hide(in value: JSONValue) -> JSONValue {
    switch value {
    case .null, .bool: value
    case .integer, .number: isRevealing(value.encoded()) ? .string(HTTPReply.echo) : value
    case .string(let text): .string(hide(in: text))
    case .array(let elements): .array(elements.map { hide(in: $0) })
    case .object(let members):
      .object(
        Dictionary(members.map { (hide(in: $0.key), hide(in: $0.value)) }) { first, _ in first })
    }
  }

  func hide(in text: String) -> String {
    guard !readings.isEmpty else { return text }
    let masked = masked(text)
    guard isRevealing(Array(masked.utf8)) else { return masked }
    // Text is shown without control characters, so a secret interrupted by them must be found too.
    let cleaned = self.masked(ProviderText.clean(masked, limit: .max))
    return isRevealing(Array(cleaned.utf8)) ? HTTPReply.echo : cleaned
  }

  private func masked(_ text: String) -> String {
    var bytes = Array(text.utf8)
    var lowercased = bytes.map(\.asciiLowercased)
    for spelling in spellings {
      var end = 0
      var result: [UInt8] = []
      while let place = lowercased.firstIndex(of: spelling, from: end) {
        result += bytes[end..<place] + Array(HTTPReply.echo.utf8)
        end = place + spelling.count
      }
      guard end > 0 else { continue }
      bytes = result + bytes[end...]
      lowercased = bytes.map(\.asciiLowercased)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns whether a text still contains a secret after decoding, or has too many levels of
  /// escapes to be decoded.
  private func isRevealing(_ text: [UInt8]) -> Bool {
    guard !readings.isEmpty else { return false }
    let (texts, isComplete) = Self.decodings(of: text)
    return !isComplete
      || texts.contains { text in
        let read = Self.read(text)
        return readings.contains { read.firstIndex(of: $0, from: 0) != nil }
          || isEncoded(in: text, maxDepth: Self.maxRunDepth)
      }
  }

  private func isEncoded(in text: [UInt8], maxDepth: Int) -> Bool {
    EncodedRuns.decoded(text).contains { bytes in
      let lowercased = bytes.map(\.asciiLowercased)
      return plain.contains { lowercased.firstIndex(of: $0, from: 0) != nil }
        || maxDepth > 1 && isEncoded(in: bytes, maxDepth: maxDepth - 1)
    }
  }

  /// Returns the text, and the results of decoding its escapes once, twice and so on.
  /// `isComplete` is false if there are more levels than ``maxDecodings``.
  private static func decodings(of text: [UInt8]) -> (texts: [[UInt8]], isComplete: Bool) {
    var texts = [text]
    var current = text
    for _ in 0..<maxDecodings {
      var decoder = EscapeDecoder(current)
      let next = decoder.decoded()
      guard next != current else { return (texts, true) }
      texts.append(next)
      current = next
    }
    return (texts, false)
  }

  /// Returns the text in lower case, without blanks, `+` (a blank in forms) and invisible
  /// characters, so that a secret is found however it is separated.
  private static func read(_ text: [UInt8]) -> [UInt8] {
    var visible = String.UnicodeScalarView()
    for scalar in String(decoding: text, as: UTF8.self).unicodeScalars where scalar.isRead {
      visible.append(scalar)
    }
    return Array(String(visible).lowercased().utf8)
  }
}

extension Unicode.Scalar {
  fileprivate var isRead: Bool {
    if isASCII { return value > 0x20 && value != 0x7F && self != "+" }
    if properties.isDefaultIgnorableCodePoint || properties.isWhitespace { return false }
    switch properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned: return false
    default: return true
    }
  }
}

extension UInt8 {
  fileprivate var asciiLowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}

extension [UInt8] {
  /// Returns the first place at or after `start` where the part begins; nil if there is none.
  ///
  /// The time is proportional to the sum of the lengths, whatever the bytes (Knuth, Morris, Pratt):
  /// a provider chooses both the text and, as tokens, the secrets.
  fileprivate func firstIndex(of part: [UInt8], from start: Int) -> Int? {
    guard !part.isEmpty, count - start >= part.count else { return nil }
    let borders = part.borders
    var matched = 0
    for place in start..<count {
      while matched > 0, self[place] != part[matched] { matched = borders[matched - 1] }
      if self[place] == part[matched] { matched += 1 }
      if matched == part.count { return place - matched + 1 }
    }
    return nil
  }

  /// For each prefix, the length of the longest shorter prefix that is also its end.
  private var borders: [Int] {
    var borders = [Int](repeating: 0, count: count)
    var length = 0
    for place in indices.dropFirst() {
      while length > 0, self[place] != self[length] { length = borders[length - 1] }
      if self[place] == self[length] { length += 1 }
      borders[place] = length
    }
    return borders
  }
}
