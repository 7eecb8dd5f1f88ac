import FoundationEssentials
package import UsherCore

/// The one coder whose output is sealed before it leaves the process: `Sealed` values pass.
///
/// JSON with sorted keys, so that equal values give equal bytes. What it returns holds secrets in
/// the clear: give it to a ``SealedPayload`` and to nothing else.
package enum StoreCoder {
  /// - Parameter userInfo: More for the values' own coding.
  /// - Throws: `internal_error` naming the type and the member, never a value.
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
        .internalError, "a value cannot be written to the store",
        cause: CodingFault(type: "\(type(of: value))", error))
    }
  }

  /// - Parameter userInfo: More for the values' own coding.
  /// - Throws: `internal_error` naming the type and the member, never a value.
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
        cause: CodingFault(type: "\(Value.self)", error))
    }
  }
}

/// Where coding failed. The coders' own errors may quote the value, so they are not kept.
package struct CodingFault: Error, Equatable {
  /// The type that was to be encoded or decoded.
  package let type: String
  /// The member, dotted; empty for the whole.
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
