import UsherClient

extension String {
  /// JSON in which the characters that ``printable`` replaces are escaped, which does not change
  /// its meaning.
  ///
  /// They occur only within strings: outside, JSON allows only white space, and the lines that are
  /// printed have none there.
  var printableJSON: String {
    guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      if scalar.isUnprintable {
        for unit in String(scalar).utf16 { text += "\\u" + unit.hexadecimal }
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}

extension Int {
  /// The number with a noun, such as `1 flow` or `2 flows`.
  func counting(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}

extension UInt16 {
  /// The number as four lower-case hexadecimal digits.
  var hexadecimal: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 4 - digits.count) + digits
  }
}
