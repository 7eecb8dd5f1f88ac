/// A cache of bounded size that evicts values that were not used recently.
///
/// It has two generations. A value that is used moves to the young generation. When the young
/// generation holds half of the capacity, it becomes the old generation, and the previous old
/// generation is evicted. So at least the most recently used half of the capacity is present, and
/// each operation takes the same time for any size.
struct LRUCache<Key: Hashable, Value> {
  /// Evicted values, which the caller frees after releasing its lock, because freeing takes time.
  typealias Evicted = [Key: Value]

  private var young: [Key: Value] = [:]
  private var old: [Key: Value] = [:]

  var count: Int { young.count + old.count }

  /// Returns the value for a key and marks it as used.
  ///
  /// - Parameter capacity: The capacity of the cache from now on, at least 2.
  mutating func use(_ key: Key, capacity: Int) -> (value: Value?, evicted: Evicted) {
    if let value = young[key] { return (value, [:]) }
    guard let value = old.removeValue(forKey: key) else { return (nil, [:]) }
    return (value, insertYoung(value, as: key, capacity: capacity))
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
  mutating func insert(_ value: Value, as key: Key, capacity: Int) -> Evicted {
    old[key] = nil
    return insertYoung(value, as: key, capacity: capacity)
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

  private mutating func insertYoung(_ value: Value, as key: Key, capacity: Int) -> Evicted {
    young[key] = value
    guard young.count > max(capacity, 2) / 2 else { return [:] }
    let evicted = old
    young[key] = nil
    old = young
    young = [key: value]
    return evicted
  }
}
