import UsherCore

/// Validates text that callers pass in a flow's parameters.
enum ParamsValidation {
  /// Returns the text if it can be sent to the provider; nil for nil.
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

  /// Returns the error for a parameter.
  ///
  /// - Parameter what: The end of the sentence: `must be …`.
  static func wrong(_ name: String, _ what: String) -> UsherError {
    UsherError(.invalidParams, "params.\(name) \(what)", detail: .init(field: "params.\(name)"))
  }
}
