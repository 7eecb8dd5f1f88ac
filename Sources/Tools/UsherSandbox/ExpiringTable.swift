package import FoundationEssentials

/// A bounded table of expiring entries. If it is full, it drops expired entries, then the oldest.
package struct ExpiringTable<Value: Sendable>: Sendable {
  private struct Entry: Sendable {
    var value: Value
    let issued: Date
    let expires: Date
    let number: Int
  }

  private let limit: Int
  private var entries: [String: Entry] = [:]
  private var added = 0

  package init(limit: Int = 10_000) {
    self.limit = limit
  }

  package var count: Int { entries.count }

  package mutating func insert(
    _ value: Value, for key: String, until expires: Date, now: Date
  ) {
    if entries.count >= limit { evict(now) }
    added += 1
    entries[key] = Entry(value: value, issued: now, expires: expires, number: added)
  }

  /// All values, including expired ones, oldest first.
  package var values: [Value] { ordered.map(\.value.value) }

  /// All entries with their keys and times, including expired ones, oldest first.
  package var listing: [(key: String, value: Value, issued: Date, expires: Date)] {
    ordered.map { ($0.key, $0.value.value, $0.value.issued, $0.value.expires) }
  }

  private var ordered: [(key: String, value: Entry)] {
    entries.sorted { $0.value.number < $1.value.number }
  }

  /// Returns the value, or nil if the key is unknown, was removed or has expired.
  package func value(_ key: String, now: Date) -> Value? {
    guard let entry = entries[key], entry.expires > now else { return nil }
    return entry.value
  }

  /// Whether the table still has an entry for the key that has expired.
  package func isExpired(_ key: String, now: Date) -> Bool {
    entries[key].map { $0.expires <= now } ?? false
  }

  /// Changes the value of a key in place; does nothing if the key is unknown.
  package mutating func update(_ key: String, _ change: (inout Value) -> Void) {
    guard var entry = entries[key] else { return }
    change(&entry.value)
    entries[key] = entry
  }

  @discardableResult
  package mutating func remove(_ key: String) -> Value? {
    entries.removeValue(forKey: key)?.value
  }

  package mutating func removeAll(where fits: (Value) -> Bool) {
    entries = entries.filter { !fits($0.value.value) }
  }

  package mutating func updateAll(_ change: (inout Value) -> Void) {
    entries = entries.mapValues { entry in
      var entry = entry
      change(&entry.value)
      return entry
    }
  }

  /// Returns the key of some entry that satisfies the predicate, expired or not.
  package func key(where fits: (Value) -> Bool) -> String? {
    entries.first { fits($0.value.value) }?.key
  }

  /// Drops expired entries. If the table is still full, drops the oldest tenth as well.
  private mutating func evict(_ now: Date) {
    entries = entries.filter { $0.value.expires > now }
    guard entries.count >= limit else { return }
    for entry in ordered.prefix(max(1, limit / 10)) { entries[entry.key] = nil }
  }
}
