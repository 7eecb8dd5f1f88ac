package import JSONRPC

/// Cleans text from a provider for display to users and on a terminal.
package enum ProviderText {
  /// Returns the text without control and direction characters, without white space at its ends,
  /// and cut to `limit` Unicode scalars with `…` as the last one.
  ///
  /// Line breaks and tabs become spaces. The result may be empty.
  package static func clean(_ text: String, limit: Int = 200) -> String {
    var kept = String.UnicodeScalarView()
    var count = 0
    for scalar in text.unicodeScalars {
      guard let scalar = printable(scalar) else { continue }
      if kept.isEmpty, scalar == " " { continue }
      if count == limit {
        kept.removeLast()
        kept.append("…")
        break
      }
      kept.append(scalar)
      count += 1
    }
    while kept.last == " " { kept.removeLast() }
    return String(kept)
  }

  /// Returns the text cleaned for display; nil if it is nil or if cleaning leaves nothing.
  static func shown(_ text: String?, limit: Int = 200) -> String? {
    let text = text.map { clean($0, limit: limit) } ?? ""
    return text.isEmpty ? nil : text
  }

  /// Returns the value with all its texts cleaned for display; nil if it nests deeper than `depth`.
  package static func clean(_ value: JSONValue, limit: Int = 1000, depth: Int = 3) -> JSONValue? {
    guard depth > 0 else { return nil }
    switch value {
    case .null, .bool, .integer, .number: return value
    case .string(let text): return .string(clean(text, limit: limit))
    case .array(let values):
      return .array(values.prefix(100).compactMap { clean($0, limit: limit, depth: depth - 1) })
    case .object(let members):
      return .object(members.compactMapValues { clean($0, limit: limit, depth: depth - 1) })
    }
  }

  private static func printable(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
    switch scalar {
    case "\n", "\r", "\t": return " "
    // Indic and Persian scripts and emoji need these joiners.
    case "\u{200C}", "\u{200D}": return scalar
    default: break
    }
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned: return nil
    case .lineSeparator, .paragraphSeparator: return " "
    default: return scalar
    }
  }
}
