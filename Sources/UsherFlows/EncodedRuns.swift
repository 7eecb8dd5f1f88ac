/// Finds runs of Base64, Base32 and hexadecimal digits (RFC 4648) in a text and decodes them, so
/// that encoded secrets are found.
enum EncodedRuns {
  /// Returns the decoded runs of the text. Each run is decoded from every offset within a group of
  /// digits, because the encoding may begin at any of them.
  static func decoded(_ text: [UInt8]) -> [[UInt8]] {
    Alphabet.all.flatMap { alphabet in
      let runs = alphabet.runs(in: text)
      return runs.isEmpty
        ? [] : (0..<alphabet.group).map { alphabet.decode(text, runs, from: $0) }
    }
  }
}

private struct Alphabet {
  /// The number of digits in the shortest run that is decoded.
  private static let minRunLength = 16
  private static let none: UInt8 = 0xFF

  /// The supported encodings: Base64 with the standard and the URL-safe digits, Base32 and
  /// hexadecimal.
  static let all = [
    Alphabet(
      bits: 6, group: 4,
      ["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"]
        + ["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"]),
    Alphabet(
      bits: 5, group: 8,
      ["ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "abcdefghijklmnopqrstuvwxyz234567"]),
    Alphabet(bits: 4, group: 2, ["0123456789ABCDEF", "0123456789abcdef"]),
  ]

  private let bits: UInt32
  /// The number of digits that encode whole bytes: after so many digits a byte begins again.
  let group: Int
  /// The value of each byte as a digit; `none` if the byte is not a digit.
  private let values: [UInt8]

  private init(bits: UInt32, group: Int, _ digits: [String]) {
    self.bits = bits
    self.group = group
    var values = [UInt8](repeating: Self.none, count: 256)
    for digits in digits {
      for (value, digit) in digits.utf8.enumerated() { values[Int(digit)] = UInt8(value) }
    }
    self.values = values
  }

  func runs(in text: [UInt8]) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var start = 0
    for index in 0...text.count
    where index == text.count || values[Int(text[index])] == Self.none {
      if index - start >= Self.minRunLength { runs.append(start..<index) }
      start = index + 1
    }
    return runs
  }

  /// Returns the decoded bytes of all runs, with a line feed after each run.
  func decode(_ text: [UInt8], _ runs: [Range<Int>], from offset: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    for run in runs {
      var rest: UInt32 = 0
      var count: UInt32 = 0
      for index in (run.lowerBound + offset)..<run.upperBound {
        rest = (rest << bits | UInt32(values[Int(text[index])])) & 0xFFFF
        count += bits
        guard count >= 8 else { continue }
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: rest >> count))
      }
      bytes.append(UInt8(ascii: "\n"))
    }
    return bytes
  }
}
