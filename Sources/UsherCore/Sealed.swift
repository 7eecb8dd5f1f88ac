/// A secret inside a state that is stored.
///
/// It encodes and decodes only under the coder of UsherStore, which seals what it encodes and says
/// so by ``sealedStorage`` in `userInfo`. Under any other coder it throws, so that a secret cannot
/// reach a log line, a reply or a file by way of `Codable`.
public struct Sealed<Value: SealedValue>: Sendable, Hashable {
  private let value: Value

  public init(_ value: Value) { self.value = value }

  public func unsealed() -> Value { value }
}

/// What may stand in a ``Sealed``: a type that opens to a string and is made from one.
public protocol SealedValue: Sendable, Hashable {
  init(_ text: String)
  func revealed() -> String
}

extension Secret: SealedValue {}

extension CodingUserInfoKey {
  /// Set to `true` by the one coder whose output is sealed before it leaves the process.
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
