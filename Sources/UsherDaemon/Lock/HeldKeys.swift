import UsherStore
import UsherSystem

extension LockedBytes: HeldKey {}

extension LockedBytes {
  /// Keeps the store's keys in memory of their own.
  static let keep: KeyKeeper = { key in
    try LockedBytes(count: key.count) { $0.copyMemory(from: key) }
  }
}
