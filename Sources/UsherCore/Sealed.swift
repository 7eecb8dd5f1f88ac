/// A secret inside stored state.
///
/// A sealed value encodes and decodes only with the coder of UsherStore, which encrypts its output
/// and sets ``sealedStorage`` in `userInfo`. With any other coder it throws, so that `Codable`
/// cannot bring a secret into a log message, a reply or a file.
public struct Sealed<Value: SealedValue>: Sendable, Hashable {
  private let value: Value

  public init(_ value: Value) { self.value = value }

  public func unsealed() -> Value { value }
}

/// A type of secret that ``Sealed`` can hold: it can be converted to a string and back.
public protocol SealedValue: Sendable, Hashable {
  init(_ text: String)
  func revealed() -> String
}

extension Secret: SealedValue {}

extension CodingUserInfoKey {
  /// The key in a coder's `userInfo` that only the coder of sealed storage sets to `true`.
  public static let sealedStorage = CodingUserInfoKey(rawValue: "usher.sealedStorage")!
}

extension Sealed: Codable {
  public init(from decoder: any Decoder) throws {
    guard decoder.userInfo[.sealedStorage] as? Bool == true else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "a secret outside sealed storage"))
    }
    value = Value(try decoder.singleValueContainer().decode(String.self))
  }

  public func encode(to encoder: any Encoder) throws {
    guard encoder.userInfo[.sealedStorage] as? Bool == true else {
      throw EncodingError.invalidValue(
        "<secret>",
        .init(codingPath: encoder.codingPath, debugDescription: "a secret outside sealed storage"))
    }
    var container = encoder.singleValueContainer()
    try container.encode(value.revealed())
  }
}

extension Sealed: CustomStringConvertible, CustomReflectable {
  public var description: String { "<secret>" }
  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}
