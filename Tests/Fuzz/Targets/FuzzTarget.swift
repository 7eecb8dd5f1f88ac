import UsherConfig

/// A property that must hold for any bytes.
///
/// `Packaging/fuzz` searches for bytes that violate it. The test suite checks the bytes in
/// `Tests/Fuzz/Corpora/<name>`: typical ones, and those that once violated the property.
package struct FuzzTarget: Sendable {
  package let name: String
  /// The maximum number of bytes that the fuzzer tries.
  package let maxBytes: Int
  /// Folders, relative to `Sources`. The fuzzer inserts the string literals of their files, such as
  /// the member names of a format, into its inputs.
  package let words: [String]
  /// Checks the property.
  ///
  /// - Throws: ``PropertyViolation`` if the property does not hold.
  package let check: @Sendable ([UInt8]) throws -> Void

  init(
    _ name: String, maxBytes: Int = 4096, words: [String] = [],
    check: @escaping @Sendable ([UInt8]) throws -> Void
  ) {
    self.name = name
    self.maxBytes = maxBytes
    self.words = words
    self.check = check
  }

  /// All targets. A new target needs a line here and a folder in `Tests/Fuzz/Corpora`.
  package static let all: [FuzzTarget] =
    [
      .lineSplitter, .json, .jsonTime, .replyCache, .toml, .config, .redirect, .challenge, .idToken,
      .encryptedToken, .signedResponse, .tokenReply, .exchangeReply, .backchannelReply,
      .pushedReply, .registrationReply, .dpopNonce, .certificate, .secretMask, .storedFlow,
      .sealedRow, .auditRows, .backup, .bus, .resourceMetadata, .agentConfig, .helper,
    ] + ProviderType.configurable.map { .providerAnswers($0) }
}

/// Why an input violates the property of a target, as a sentence.
package struct PropertyViolation: Error, CustomStringConvertible {
  package let description: String
}

/// Checks a part of a target's property.
///
/// - Parameter violation: A sentence that says what is wrong if the condition is false.
func require(_ condition: Bool, _ violation: @autoclosure () -> String) throws(PropertyViolation) {
  guard !condition else { return }
  throw PropertyViolation(description: violation())
}

/// Checks that a text for people has no control characters, which a terminal would interpret, and
/// none of the secrets.
func requireShowable(
  _ text: String?, without secrets: [String] = [], _ name: String
) throws(PropertyViolation) {
  guard let text else { return }
  try require(
    text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control },
    "\(name) has a control character: \(text.debugDescription)")
  if let secret = secrets.first(where: { text.contains($0) }) {
    throw PropertyViolation(description: "\(name) shows the secret \(secret): \(text)")
  }
}

extension [UInt8] {
  var text: String { String(decoding: self, as: UTF8.self) }

  /// The lines without their ends, including a last line without an end.
  var lines: [[UInt8]] {
    split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
  }
}
