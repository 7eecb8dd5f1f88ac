import FoundationEssentials

/// Counts failed log-ins by name, known or not, and locks a name after too many.
struct FreedomLocks: Sendable {
  private struct Entry: Sendable {
    var failures = 0
    /// The time at which the lock ends; nil if the name is not locked.
    var end: Date?
  }

  /// Seconds after which failures are forgotten.
  private static let memory = 3600.0
  private var entries = ExpiringTable<Entry>()

  /// Throws if the name is locked.
  func check(_ name: LoginIdentifier, now: Date) throws(FreedomRefusal) {
    guard let end = entries.value(name.text, now: now)?.end, end > now else { return }
    throw .locked(until: end, now: now)
  }

  /// Counts a failure; throws if this one locks the name.
  ///
  /// - Returns: The number of attempts left.
  mutating func failed(
    _ name: LoginIdentifier, _ settings: FreedomIDBackendSettings, now: Date
  ) throws(FreedomRefusal) -> Int {
    var entry = entries.value(name.text, now: now) ?? Entry()
    // The count starts again after a lock.
    if entry.end != nil { entry = Entry() }
    entry.failures += 1
    guard entry.failures < settings.attempts else { throw lock(name, settings, now: now) }
    store(entry, name, until: now.addingTimeInterval(Self.memory), now)
    return settings.attempts - entry.failures
  }

  mutating func lock(
    _ name: LoginIdentifier, _ settings: FreedomIDBackendSettings, now: Date
  ) -> FreedomRefusal {
    let end = now.addingTimeInterval(Double(settings.lockSeconds))
    store(Entry(failures: settings.attempts, end: end), name, until: end, now)
    return .locked(until: end, now: now)
  }

  mutating func forget(_ name: LoginIdentifier) { entries.remove(name.text) }

  private mutating func store(_ entry: Entry, _ name: LoginIdentifier, until end: Date, _ now: Date)
  {
    entries.remove(name.text)
    entries.insert(entry, for: name.text, until: end, now: now)
  }
}
