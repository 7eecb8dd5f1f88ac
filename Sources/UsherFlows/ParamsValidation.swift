import UsherConfig
import UsherCore

/// Why a value from outside the daemon is not valid: a sentence, or the end of one, that contains
/// nothing of the value.
package struct InvalidValue: Error, Equatable {
  package let message: String

  init(_ message: String) { self.message = message }
}

/// Validates text that callers pass in a flow's parameters.
enum ParamsValidation {
  /// Returns the text if it can be sent to the provider; nil if the text is nil.
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

  /// Returns a URL as it is registered at the provider: https, or http on the loopback, without a
  /// fragment (RFC 6749 §3.1.2); nil for nil.
  static func url(_ text: String?, _ name: String) throws(UsherError) -> String? {
    guard let text else { return nil }
    do throws(SettingError) {
      return try ProviderURL(setting: text).text
    } catch {
      throw wrong(name, error.message)
    }
  }

  /// Returns the text if it has the syntax of a language tag (RFC 5646 §2.1); nil for nil. Whether
  /// the language exists is not checked: the provider decides that.
  static func languageTag(
    _ text: String?, _ name: String, upTo limit: Int, such examples: String
  ) throws(UsherError) -> String? {
    guard let text else { return nil }
    let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    let isTag = parts.allSatisfy { part in
      (1...8).contains(part.count) && part.allSatisfy { $0.isLetter || $0.isDigit }
    }
    let hasLanguage = parts[0].count > 1 && parts[0].allSatisfy(\.isLetter)
    guard isTag, hasLanguage, text.utf8.count <= limit else {
      throw wrong(name, "must be a language tag such as \(examples)")
    }
    return text
  }

  /// Returns the id of the account that the flow requires: the one that `params.account` names, or
  /// else the caller's only account at the provider.
  ///
  /// - Throws: `invalidParams` if there is none.
  static func account<Settings>(_ context: FlowContext<Settings>) throws(UsherError) -> AccountID {
    guard let account = context.account?.id else { throw wrong("account", "is missing") }
    return account
  }

  /// Returns the error for an invalid member of the `params` of `flow.start`.
  ///
  /// - Parameter fault: What follows the member's name in the message: `must be …` or `is missing`.
  static func wrong(_ name: String, _ fault: String) -> UsherError {
    UsherError(.invalidParams, "params.\(name) \(fault)", detail: .init(field: "params.\(name)"))
  }
}
