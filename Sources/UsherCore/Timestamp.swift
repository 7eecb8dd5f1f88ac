/// A time on the UTC clock in whole milliseconds. In JSON it is an RFC 3339 text.
///
/// The time is within the years 0001 to 9999, the range of RFC 3339. A time outside is clamped to
/// the range, so that arithmetic never traps and every value can be encoded and decoded as JSON.
public struct Timestamp: Sendable, Hashable {
  /// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
  public let milliseconds: Int64

  public init(milliseconds: Int64) {
    self.milliseconds = min(max(milliseconds, Self.bounds.lowerBound), Self.bounds.upperBound)
  }

  /// Creates a time.
  ///
  /// - Parameter seconds: Seconds since 1970, as in a JWT's `exp`; rounded to milliseconds. NaN
  ///   counts as 0.
  public init(seconds: Double) {
    let milliseconds = (seconds * 1000).rounded()
    let limit = Double(Self.bounds.upperBound)
    self.init(milliseconds: milliseconds.isNaN ? 0 : Int64(min(max(milliseconds, -limit), limit)))
  }

  public var seconds: Double { Double(milliseconds) / 1000 }

  /// The earliest time that can be represented: 0001-01-01T00:00:00Z.
  public static let earliest = Timestamp(milliseconds: bounds.lowerBound)
  /// The latest time that can be represented: 9999-12-31T23:59:59.999Z.
  public static let latest = Timestamp(milliseconds: bounds.upperBound)

  static let bounds: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999
}

extension Timestamp: Comparable {
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.milliseconds < right.milliseconds
  }

  public static func + (time: Timestamp, duration: Duration) -> Timestamp {
    Timestamp(milliseconds: time.milliseconds + reach(of: duration))
  }

  public static func - (time: Timestamp, duration: Duration) -> Timestamp {
    Timestamp(milliseconds: time.milliseconds - reach(of: duration))
  }

  /// Returns the time from `earlier` to `later`; negative if `later` is before `earlier`.
  public static func - (later: Timestamp, earlier: Timestamp) -> Duration {
    .milliseconds(later.milliseconds - earlier.milliseconds)
  }

  /// Returns a duration in milliseconds, clamped to the length of the whole range of timestamps.
  private static func reach(of duration: Duration) -> Int64 {
    let all = bounds.upperBound - bounds.lowerBound
    return min(max(duration.milliseconds, -all), all)
  }
}

extension Duration {
  /// The duration in whole milliseconds, rounded towards zero and clamped to `Int64`.
  public var milliseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000_000) }
}
