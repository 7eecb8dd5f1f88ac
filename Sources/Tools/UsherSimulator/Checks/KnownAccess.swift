import UsherCore

/// What the daemon permits: whether it is locked, and which configuration is in effect.
///
/// While it changes, or after the daemon was killed during a change, both states are possible, and
/// nothing is checked.
final class KnownAccess {
  /// A state that is certain since a time, or not certain.
  struct Known<Value> {
    private var value: Value?
    private var since: UInt64 = 0

    private var changes = 0

    /// Records that a change is asked for.
    ///
    /// - Returns: The number of the change.
    mutating func change() -> Int {
      value = nil
      changes += 1
      return changes
    }

    /// Records that a change was made, unless another one was asked for since.
    mutating func become(_ value: Value, at time: UInt64, by change: Int = 0) {
      guard change == changes else { return }
      self.value = value
      since = time
    }

    /// Returns the state if it was certain since a time.
    func since(_ time: UInt64) -> Value? { since <= time ? value : nil }
  }

  var isLocked = Known<Bool>()
  /// The users who may get no tokens.
  var denied = Known<Set<UInt32>>()
}
