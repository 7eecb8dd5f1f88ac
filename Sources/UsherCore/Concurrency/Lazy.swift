import Synchronization

/// A value that is created at its first use.
package final class Lazy<Value: Sendable>: Sendable {
  private let make: @Sendable () -> Value
  private let made = Mutex<Value?>(nil)

  package init(_ make: @escaping @Sendable () -> Value) { self.make = make }

  package var value: Value {
    made.withLock { made in
      if let made { return made }
      let value = make()
      made = value
      return value
    }
  }

  /// The value if it exists already; nil before and during its creation. The property never waits.
  package var existing: Value? { made.withLockIfAvailable { $0 } ?? nil }
}
