package import JSONRPC

/// What a provider wrote, made fit for people's eyes and for a terminal.
package enum ProviderText {
  /// The text without control and direction characters, without white space at its ends, and cut to
  /// `limit` Unicode scalars with `…` as the last one.
  ///
  /// Line breaks and tabs become spaces. It may end up empty.
  package static func clean(_ text: String, limit: Int = 200) -> String {
    var kept = String.UnicodeScalarView()
    var count = 0
    for scalar in text.unicodeScalars {
      guard let scalar = shown(scalar) else { continue }
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

  /// The value with every text in it cleaned; nil where it nests deeper than `depth`.
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

  private static func shown(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
    switch scalar {
    case "\n", "\r", "\t": return " "
    // The joiners that Indic and Persian script and emoji need.
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
