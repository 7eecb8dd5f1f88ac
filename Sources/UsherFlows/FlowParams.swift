import UsherCore

/// What callers may write into a flow's parameters, checked.
enum FlowParams {
  /// Text as it goes to the provider.
  ///
  /// - Throws: `invalidParams` for white space alone, for control characters and for more than 1024
  ///   bytes.
  static func text(_ text: String?, _ name: String) throws(UsherError) -> String? {
    guard let text else { return nil }
    let isPlain = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    guard isPlain, text.utf8.count <= 1024, !text.allSatisfy(\.isWhitespace) else {
      throw wrong(name, "must be text of at most 1024 bytes without control characters")
    }
    return text
  }

  /// - Parameter what: The sentence's end: `must be …`.
  static func wrong(_ name: String, _ what: String) -> UsherError {
    UsherError(.invalidParams, "params.\(name) \(what)", detail: .init(field: "params.\(name)"))
  }
}
