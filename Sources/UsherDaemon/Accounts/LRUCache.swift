/// Values by their keys, no more than there is room for: those that were not used lately go.
///
/// Of the last used, half as many as there is room for are there for certain. What is used is in the
/// young generation; when that has half of the room it becomes the old one, and what was left there
/// goes. So using and keeping cost the same however many there are.
struct LRUCache<Key: Hashable, Value> {
  /// What went to make room. Freeing it takes a while: not under a lock.
  typealias Gone = [Key: Value]

  private var young: [Key: Value] = [:]
  private var old: [Key: Value] = [:]

  var count: Int { young.count + old.count }

  /// Uses it.
  ///
  /// - Parameter room: For how many there is room, as from now on; at least 2.
  mutating func use(_ key: Key, room: Int) -> (value: Value?, gone: Gone) {
    if let value = young[key] { return (value, [:]) }
    guard let value = old.removeValue(forKey: key) else { return (nil, [:]) }
    return (value, put(value, as: key, room: room))
  }

  /// Looks at it, which is no use of it.
  func peek(_ key: Key) -> Value? { young[key] ?? old[key] }

  /// Returns whether there is a value for the key and `body` holds for it; no use of it.
  ///
  /// The value is handed over in place, so that a look at a value takes no longer than a look at none:
  /// `body` changes nothing.
  mutating func contains(_ key: Key, where body: (inout Value) -> Bool) -> Bool {
    if let index = young.index(forKey: key) { return body(&young.values[index]) }
    if let index = old.index(forKey: key) { return body(&old.values[index]) }
    return false
  }

  /// Keeps it, which uses it.
  mutating func keep(_ value: Value, as key: Key, room: Int) -> Gone {
    old[key] = nil
    return put(value, as: key, room: room)
  }

  /// Changes it, where it is there; that is no use of it.
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

  private mutating func put(_ value: Value, as key: Key, room: Int) -> Gone {
    young[key] = value
    guard young.count > max(room, 2) / 2 else { return [:] }
    let gone = old
    young[key] = nil
    old = young
    young = [key: value]
    return gone
  }
}
