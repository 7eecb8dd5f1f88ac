import UsherCore

/// The values that the user typed during a verification, which must not appear in the server's
/// texts.
///
/// `HTTPReply.withoutEchoes(of:)` does not mask values as short as a code or a name, nor replies
/// that are not refusals. Here the whole text is removed: a gap in it would reveal the length of a
/// very short value, and masking a name that is an ordinary word would damage other words.
struct TypedValues {
  let number: PhoneNumber
  /// The code that the user typed and that the server's reply is about; nil if it is about none.
  var code: Secret?
  var name: TruecallerName?
  /// The number of digits of a verification code.
  let codeLength: Int

  /// Returns whether a sentence of the server must not be shown: it repeats a value, or has a run
  /// of as many digits as a code, which may be another code.
  func forbids(sentence: String) -> Bool {
    sentence.maxNumberDigits >= codeLength || forbids(sentence)
  }

  /// Returns whether a text repeats the code, the phone number or a name.
  ///
  /// Digits of every script count, whatever separates them, so every notation of the number is
  /// found. Names are compared by their letters, as a whole and word by word. A name of up to three
  /// Latin letters must be a word of the text.
  func forbids(_ text: String) -> Bool {
    let digits = text.decimals
    if digits.contains(number.national) { return true }
    if let code, digits.contains(code.revealed()) { return true }
    guard let name else { return false }
    let text = Words(text)
    return [name.first, name.last].map { $0.unsealed().revealed() }
      .flatMap { [$0] + $0.split(whereSeparator: \.isWhitespace).map { String($0) } }
      .contains { text.contains(Words($0)) }
  }
}

/// A text reduced to its words, for a comparison independent of case, punctuation and white space.
private struct Words {
  private let words: [String]

  init(_ text: String) {
    words = text.lowercased().split { !$0.isLetter && !$0.isNumber }.map { String($0) }
  }

  func contains(_ other: Words) -> Bool {
    let letters = other.words.joined()
    guard !letters.isEmpty else { return false }
    guard letters.count < 4, letters.utf8.allSatisfy({ $0 < 0x80 }) else {
      return words.joined().contains(letters)
    }
    return " \(words.joined(separator: " ")) ".contains(" \(other.words.joined(separator: " ")) ")
  }
}

extension Unicode.Scalar {
  /// The value of a decimal digit in any script; nil for any other character.
  fileprivate var decimal: Int? {
    properties.numericType == .decimal ? properties.numericValue.flatMap(Int.init(exactly:)) : nil
  }
}

extension String {
  /// All decimal digits of the text, in ASCII and without what separates them.
  var decimals: String { unicodeScalars.compactMap { $0.decimal.map { String($0) } }.joined() }

  /// The length of the longest run of decimal digits.
  fileprivate var maxNumberDigits: Int {
    unicodeScalars.split { $0.decimal == nil }.map(\.count).max() ?? 0
  }
}
