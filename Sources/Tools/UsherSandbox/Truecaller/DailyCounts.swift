import FoundationEssentials

/// Counts events per key within the last 24 hours.
struct DailyCounts: Sendable {
  private static let day = 86_400.0

  private var times = ExpiringTable<[Date]>()

  func count(_ key: String, now: Date) -> Int { recent(key, now).count }

  mutating func add(_ key: String, now: Date) {
    times.insert(
      recent(key, now) + [now], for: key, until: now.addingTimeInterval(Self.day), now: now)
  }

  private func recent(_ key: String, _ now: Date) -> [Date] {
    let start = now.addingTimeInterval(-Self.day)
    return (times.value(key, now: now) ?? []).filter { $0 > start }
  }
}
