import UsherCore

/// What a person has typed into a verification, as the server's texts for people may repeat it.
///
/// `HTTPReply.withoutEchoes(of:)` leaves values as short as a code or a name, and answers that are no
/// refusal. Here the whole text goes: a gap in it would tell how long a very short value is, and a
/// name that is an ordinary word would tear other words.
struct TypedValues {
  let number: PhoneNumber
  /// The one that the answer is about, where it is about one.
  var code: Secret?
  var name: TruecallerName?
  /// How many digits a code has.
  let codeLength: Int

  /// Whether a sentence must not be shown: it repeats something, or has a run of as many digits as a
  /// code, which may be another code, typed before or never.
  func forbids(sentence: String) -> Bool {
    sentence.longestNumber >= codeLength || forbids(sentence)
  }

  /// Whether a text repeats the code, the number or a name.
  ///
  /// Of the digits every script's count, whatever stands between them, so that the number is found in
  /// each way to write it. Names are looked for by their letters, also word by word; one of up to
  /// three Latin letters must be a word of the text.
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

/// A text by what of it does not depend on how it is written: case, punctuation, white space.
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
  /// 0 to 9, in whatever script.
  fileprivate var decimal: Int? {
    properties.numericType == .decimal ? properties.numericValue.flatMap(Int.init(exactly:)) : nil
  }
}

extension String {
  /// All digits of a text, in ASCII.
  var decimals: String {
    unicodeScalars.compactMap { $0.decimal.map { String($0) } }.joined()
  }

  /// How many digits stand side by side at most.
  fileprivate var longestNumber: Int {
    unicodeScalars.split { $0.decimal == nil }.map(\.count).max() ?? 0
  }
}
