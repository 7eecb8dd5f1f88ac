/// A pattern in which `*` matches any characters, or none.
struct Glob: Hashable, Sendable {
  static let any = Glob(text: "*")

  let text: String

  static func isOne(_ text: String) -> Bool {
    text.consists(upTo: 128) { $0.isWordByte || $0.isOne(of: ".-*") }
  }

  var isLiteral: Bool { !text.contains("*") }

  /// Returns whether the pattern matches a word. If there is no word, only the pattern `*` matches.
  func covers(_ text: String?) -> Bool { text.map(matches) ?? (self == .any) }

  /// Returns whether the pattern matches the word. The time is at most proportional to the product
  /// of their lengths, because after a mismatch only the last star takes more characters.
  func matches(_ word: String) -> Bool {
    let pattern = Array(text.utf8)
    let word = Array(word.utf8)
    let star = UInt8(ascii: "*")
    var (p, w) = (0, 0)
    var retry: (p: Int, w: Int)?
    while w < word.count {
      if p < pattern.count, pattern[p] == star {
        retry = (p + 1, w)
        p += 1
      } else if p < pattern.count, pattern[p] == word[w] {
        (p, w) = (p + 1, w + 1)
      } else if let (next, from) = retry {
        retry = (next, from + 1)
        (p, w) = (next, from + 1)
      } else {
        return false
      }
    }
    return pattern[p...].allSatisfy { $0 == star }
  }
}
