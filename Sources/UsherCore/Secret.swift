/// A value that must not be disclosed: a token, a code, a password, a client credential.
///
/// A secret prints as `<secret>`, is not `Codable`, and opens only with ``revealed()``. State that
/// survives a restart stores it as `Sealed<Secret>`. Replies that are meant to hand it out contain
/// it as UsherAPI's `WireSecret`.
public struct Secret: Sendable, Hashable {
  private let text: String

  public init(_ text: String) { self.text = text }

  /// Returns the value itself. A code review should check every call of this method.
  public func revealed() -> String { text }

  public var isEmpty: Bool { text.isEmpty }

  /// Compares two secrets. If their lengths are equal, the duration does not depend on the content;
  /// it may reveal whether the lengths are equal.
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
