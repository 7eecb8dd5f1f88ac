/// A value that must not be seen: a token, a code, a password, a client credential.
///
/// It prints as `<secret>` whatever you do with it, is not `Codable`, and opens only with
/// ``revealed()``. In a state that must survive a restart it is `Sealed<Secret>`; on the socket,
/// where leaving is its purpose, it is UsherAPI's `WireSecret`.
public struct Secret: Sendable, Hashable {
  private let text: String

  public init(_ text: String) { self.text = text }

  /// The value itself. Every call of this is a place to look at in a review.
  public func revealed() -> String { text }

  public var isEmpty: Bool { text.isEmpty }

  /// Compares without telling by its duration where the first difference is.
  ///
  /// The length may be told.
  public static func == (left: Secret, right: Secret) -> Bool {
    let a = left.text.utf8
    let b = right.text.utf8
    guard a.count == b.count else { return false }
    return zip(a, b).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "<secret>" }
  public var debugDescription: String { "<secret>" }
  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}
