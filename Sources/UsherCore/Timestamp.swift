import FoundationEssentials

/// A moment on the UTC clock in whole milliseconds; RFC 3339 in JSON.
///
/// 2^53 ms are 285,000 years, so every value fits a JSON number too.
public struct Timestamp: Sendable, Hashable, Comparable {
  /// Milliseconds since 1970-01-01T00:00:00Z.
  public let milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// - Parameter seconds: Seconds since 1970, as in a JWT's `exp`. Values beyond ±2^40 are clamped.
  public init(seconds: Double) {
    let limit = 1_099_511_627_776.0
    let bounded = seconds.isNaN ? 0 : min(max(seconds, -limit), limit)
    milliseconds = Int64((bounded * 1000).rounded())
  }

  public var seconds: Double { Double(milliseconds) / 1000 }

  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.milliseconds < right.milliseconds
  }

  public static func + (time: Timestamp, duration: Duration) -> Timestamp {
    Timestamp(milliseconds: time.milliseconds + duration.milliseconds)
  }

  public static func - (time: Timestamp, duration: Duration) -> Timestamp {
    Timestamp(milliseconds: time.milliseconds - duration.milliseconds)
  }

  /// The time from `earlier` to `later`; negative when they are the other way round.
  public static func - (later: Timestamp, earlier: Timestamp) -> Duration {
    .milliseconds(later.milliseconds - earlier.milliseconds)
  }
}

extension Duration {
  /// Whole milliseconds, rounded towards zero.
  public var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }
}

extension Timestamp: Codable, CustomStringConvertible {
  /// RFC 3339 in UTC, with milliseconds only where they are not zero.
  public var description: String {
    let date = Date(timeIntervalSince1970: seconds)
    return date.formatted(
      Date.ISO8601FormatStyle(includingFractionalSeconds: milliseconds % 1000 != 0))
  }

  /// Reads RFC 3339 with or without a fraction; nil for anything else.
  public init?(rfc3339 text: String) {
    let plain = Date.ISO8601FormatStyle(includingFractionalSeconds: false)
    let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    guard let date = (try? plain.parse(text)) ?? (try? fractional.parse(text)) else { return nil }
    self.init(seconds: date.timeIntervalSince1970)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let time = Timestamp(rfc3339: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not an RFC 3339 time")
    }
    self = time
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
