import UsherCore

/// A cache of bounded size that evicts values that were not used recently.
///
/// It has two generations. A value that is used moves to the young generation. When the young
/// generation holds half of the capacity, it becomes the old generation, and the previous old
/// generation is evicted. So at least the most recently used half of the capacity is present, and
/// each operation takes the same time for any size.
struct LRUCache<Key: Hashable, Value> {
  private var young: [Key: Value] = [:]
  private var old: [Key: Value] = [:]
  private var evicted: [[Key: Value]] = []

  var count: Int { young.count + old.count }

  /// Returns the value for a key and marks it as used.
  ///
  /// - Parameter capacity: The capacity of the cache from now on, at least 2.
  mutating func use(_ key: Key, capacity: Int) -> Value? {
    if let value = young[key] { return value }
    guard let value = old.removeValue(forKey: key) else { return nil }
    insertYoung(value, as: key, capacity: capacity)
    return value
  }

  /// Returns the value for a key without marking it as used.
  func peek(_ key: Key) -> Value? { young[key] ?? old[key] }

  /// Whether the key has a value for which `body` returns true. Does not mark the value as used.
  ///
  /// The value is passed in place, which makes a hit as fast as a miss; `body` must not change it.
  mutating func contains(_ key: Key, where body: (inout Value) -> Bool) -> Bool {
    if let index = young.index(forKey: key) { return body(&young.values[index]) }
    if let index = old.index(forKey: key) { return body(&old.values[index]) }
    return false
  }

  /// Stores a value and marks it as used.
  mutating func insert(_ value: Value, as key: Key, capacity: Int) {
    old[key] = nil
    insertYoung(value, as: key, capacity: capacity)
  }

  /// Changes the value for a key, if present, without marking it as used.
  mutating func change(_ key: Key, _ body: (inout Value) -> Void) {
    if let index = young.index(forKey: key) {
      body(&young.values[index])
    } else if let index = old.index(forKey: key) {
      body(&old.values[index])
    }
  }

  mutating func remove(_ key: Key) {
    young[key] = nil
    old[key] = nil
  }

  /// Returns the values that were evicted since the last call. The caller frees them after
  /// releasing its lock, because freeing takes time.
  mutating func takeEvicted() -> [[Key: Value]] { exchange(&evicted, with: []) }

  private mutating func insertYoung(_ value: Value, as key: Key, capacity: Int) {
    young[key] = value
    guard young.count > max(capacity, 2) / 2 else { return }
    evicted.append(old)
    young[key] = nil
    old = young
    young = [key: value]
  }
}
