import UsherStore
import UsherSystem

extension LockedBytes: HeldKey {}

extension LockedBytes {
  /// Copies each of the store's keys into locked memory of its own.
  static let keyStorage: KeyStorage = { key in
    try LockedBytes(count: key.count) { $0.copyMemory(from: key) }
  }
}
