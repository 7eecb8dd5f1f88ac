package import FoundationEssentials

/// Values by a key, each until a time, and never more than so many: the oldest go first.
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
    if entries.count >= limit { makeRoom(now) }
    added += 1
    entries[key] = Entry(value: value, issued: now, expires: expires, number: added)
  }

  /// What is there, expired or not, oldest first.
  package var values: [Value] { ordered.map(\.value.value) }

  /// The same with keys and times.
  package var listing: [(key: String, value: Value, issued: Date, expires: Date)] {
    ordered.map { ($0.key, $0.value.value, $0.value.issued, $0.value.expires) }
  }

  private var ordered: [(key: String, value: Entry)] {
    entries.sorted { $0.value.number < $1.value.number }
  }

  /// Nil for what was never there, is removed or has expired.
  package func value(_ key: String, now: Date) -> Value? {
    guard let entry = entries[key], entry.expires > now else { return nil }
    return entry.value
  }

  /// Whether the key is there though its time has passed.
  package func isExpired(_ key: String, now: Date) -> Bool {
    entries[key].map { $0.expires <= now } ?? false
  }

  /// Changes a value in its place; does nothing where there is none.
  package mutating func update(_ key: String, _ change: (inout Value) -> Void) {
    guard var entry = entries[key] else { return }
    change(&entry.value)
    entries[key] = entry
  }

  @discardableResult
  package mutating func remove(_ key: String) -> Value? {
    entries.removeValue(forKey: key)?.value
  }

  package mutating func updateAll(_ change: (inout Value) -> Void) {
    entries = entries.mapValues { entry in
      var entry = entry
      change(&entry.value)
      return entry
    }
  }

  /// The first key whose value fits.
  package func key(where fits: (Value) -> Bool) -> String? {
    entries.first { fits($0.value.value) }?.key
  }

  /// Drops what has expired, then the oldest tenth if that was not enough.
  private mutating func makeRoom(_ now: Date) {
    entries = entries.filter { $0.value.expires > now }
    guard entries.count >= limit else { return }
    for entry in ordered.prefix(max(1, limit / 10)) { entries[entry.key] = nil }
  }
}
