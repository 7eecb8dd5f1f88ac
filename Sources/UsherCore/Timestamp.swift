/// A moment on the UTC clock in whole milliseconds; RFC 3339 in JSON.
///
/// It lies within the years 0001 to 9999, which RFC 3339 can write. What would lie outside is moved
/// to the nearer end, so arithmetic never traps and every moment survives its way through JSON.
public struct Timestamp: Sendable, Hashable {
  /// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
  public let milliseconds: Int64

  public init(milliseconds: Int64) {
    self.milliseconds = min(max(milliseconds, Self.bounds.lowerBound), Self.bounds.upperBound)
  }

  /// - Parameter seconds: Seconds since 1970, as in a JWT's `exp`; rounded to milliseconds. What is
  ///   no number counts as 0.
  public init(seconds: Double) {
    let milliseconds = (seconds * 1000).rounded()
    let limit = Double(Self.bounds.upperBound)
    self.init(milliseconds: milliseconds.isNaN ? 0 : Int64(min(max(milliseconds, -limit), limit)))
  }

  public var seconds: Double { Double(milliseconds) / 1000 }

  /// 0001-01-01T00:00:00Z.
  public static let earliest = Timestamp(milliseconds: bounds.lowerBound)
  /// 9999-12-31T23:59:59.999Z.
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

  /// The time from `earlier` to `later`; negative when they are the other way round.
  public static func - (later: Timestamp, earlier: Timestamp) -> Duration {
    .milliseconds(later.milliseconds - earlier.milliseconds)
  }

  /// Milliseconds, at most those from one end of time to the other: more makes no difference.
  private static func reach(of duration: Duration) -> Int64 {
    let all = bounds.upperBound - bounds.lowerBound
    return min(max(duration.milliseconds, -all), all)
  }
}

extension Duration {
  /// Whole milliseconds, rounded towards zero; the nearer end of Int64 where they do not fit.
  public var milliseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000_000) }
}
