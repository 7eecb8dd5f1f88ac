import Glibc

/// The source of the current time. It is passed to the code that needs it, so that tests control
/// the time.
public protocol Clock: Sendable {
  /// Returns the UTC wall-clock time, which providers, tokens and stored deadlines refer to.
  func now() -> Timestamp

  /// Returns the time of a clock that cannot be set; nil if the machine has no such clock.
  func bootTime() -> BootTime?

  /// Returns the time of a clock that cannot be set, for durations in memory: limits, back-off,
  /// timeouts.
  ///
  /// The clock counts from the boot of the machine and includes the time in suspend. Compare its
  /// values only with each other: they must not be stored or sent.
  func monotonicNow() -> Timestamp

  /// Returns the offset of local time from UTC at a time, daylight saving included; negative west
  /// of Greenwich.
  func utcOffset(at moment: Timestamp) -> Duration
}

extension Clock {
  public func bootTime() -> BootTime? { nil }

  /// Returns zero, because a clock without a time zone uses UTC.
  public func utcOffset(at moment: Timestamp) -> Duration { .zero }

  /// Returns the time of ``bootTime()``, or the wall-clock time if the machine has no such clock.
  public func monotonicNow() -> Timestamp {
    bootTime().map { Timestamp(milliseconds: $0.milliseconds) } ?? now()
  }
}

/// A time on the clock that counts from the boot of the machine and includes the time in suspend
/// (`CLOCK_BOOTTIME`). Setting the wall clock does not change it.
public struct BootTime: Sendable, Equatable, Codable {
  /// The id of the boot from which the time counts.
  public var boot: String
  public var milliseconds: Int64

  public init(boot: String, milliseconds: Int64) {
    self.boot = boot
    self.milliseconds = milliseconds
  }

  /// Returns the time since an earlier one; nil if the earlier time belongs to another boot of the
  /// machine.
  public func elapsed(since earlier: BootTime) -> Duration? {
    boot == earlier.boot ? .milliseconds(milliseconds - earlier.milliseconds) : nil
  }
}

/// A source of random bytes that are suitable for keys.
public protocol Entropy: Sendable {
  /// Returns random bytes.
  ///
  /// - Parameter count: The number of bytes; not negative.
  func bytes(_ count: Int) -> [UInt8]
}

/// The clocks of this machine.
public struct SystemClock: Clock {
  public init() {}
  public func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  public func bootTime() -> BootTime? {
    guard let boot = Self.boot else { return nil }
    return BootTime(boot: boot, milliseconds: monotonicNow().milliseconds)
  }

  public func monotonicNow() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  /// Returns the offset of the time zone that this process uses (tzset(3)).
  public func utcOffset(at moment: Timestamp) -> Duration {
    var seconds = time_t(moment.milliseconds / 1000)
    var parts = tm()
    localtime_r(&seconds, &parts)
    return .seconds(parts.tm_gmtoff)
  }

  /// The boot id (random(4)), which is different after each boot of the machine; nil if it cannot
  /// be read.
  private static let boot: String? = {
    let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 36)
    guard read(file, &bytes, bytes.count) == bytes.count else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }()
}

/// The kernel's random generator, read with getentropy(3) in calls of up to 256 bytes.
public struct SystemEntropy: Entropy {
  public init() {}
  public func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var more = [UInt8](repeating: 0, count: min(count - bytes.count, 256))
      guard getentropy(&more, more.count) == 0 else {
        fatalError("the kernel returned no random bytes")
      }
      bytes = bytes.isEmpty ? more : bytes + more
    }
    return bytes
  }
}
