import FoundationEssentials
package import UsherCore

/// The JSON coder for values that are stored encrypted; no other coder accepts `Sealed` values.
///
/// It sorts the keys, so that equal values give equal bytes. The result contains secrets in the
/// clear, so it must only be passed to a ``SealedPayload``.
package enum StoreCoder {
  /// Encodes a value.
  ///
  /// - Parameter userInfo: Additional entries for the encoder's `userInfo`.
  /// - Throws: `internal_error` with the type and the member, but no value, in its cause.
  package static func encode(
    _ value: some Encodable, userInfo: [CodingUserInfoKey: any Sendable] = [:]
  ) throws(UsherError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.userInfo = userInfo
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.userInfo[.sealedStorage] = true
    do {
      return [UInt8](try encoder.encode(value))
    } catch {
      throw UsherError(
        .internalError, "usherd cannot encode a value for its store: please report this fault",
        cause: StoreCodingError(type: "\(type(of: value))", error))
    }
  }

  /// Decodes a value.
  ///
  /// - Parameter userInfo: Additional entries for the decoder's `userInfo`.
  /// - Throws: `internal_error` with the type and the member, but no value, in its cause.
  package static func decode<Value: Decodable>(
    _ type: Value.Type = Value.self, from bytes: [UInt8],
    userInfo: [CodingUserInfoKey: any Sendable] = [:]
  ) throws(UsherError) -> Value {
    let decoder = JSONDecoder()
    decoder.userInfo = userInfo
    decoder.userInfo[.sealedStorage] = true
    do {
      return try decoder.decode(Value.self, from: Data(bytes))
    } catch {
      throw UsherError(
        .internalError, "a stored value is not of the form this usherd expects",
        cause: StoreCodingError(type: "\(Value.self)", error))
    }
  }
}

/// The place at which ``StoreCoder`` failed. The original error is dropped, because it may quote a
/// secret value.
package struct StoreCodingError: Error, Equatable {
  /// The type of the value that was encoded or decoded.
  package let type: String
  /// The dotted path of the member that failed; empty for the value itself.
  package let member: String

  fileprivate init(type: String, _ error: any Error) {
    self.type = type
    let path: [any CodingKey] =
      switch error {
      case EncodingError.invalidValue(_, let context): context.codingPath
      case DecodingError.typeMismatch(_, let context): context.codingPath
      case DecodingError.valueNotFound(_, let context): context.codingPath
      case DecodingError.keyNotFound(let key, let context): context.codingPath + [key]
      case DecodingError.dataCorrupted(let context): context.codingPath
      default: []
      }
    member = path.map(\.stringValue).joined(separator: ".")
  }
}
