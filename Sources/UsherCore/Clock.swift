import Glibc

/// The world's time and chance, passed in so that tests choose them.
public protocol Clock: Sendable {
  /// The UTC wall clock: what providers, tokens and stored deadlines speak of.
  func now() -> Timestamp

  /// A clock that nobody sets, beside it; nil where there is none.
  func bootTime() -> BootTime?

  /// A clock that nobody sets, for durations in memory: limits, back-off, time-outs.
  ///
  /// It counts from the start of the machine, with the time it was suspended. What it shows is compared
  /// only with what it has shown before: it is never stored or told to anybody.
  func monotonicNow() -> Timestamp

  /// How far local time is ahead of UTC at a moment, daylight saving included; negative west of Greenwich.
  func utcOffset(at moment: Timestamp) -> Duration
}

extension Clock {
  public func bootTime() -> BootTime? { nil }

  /// A clock without a time zone shows UTC.
  public func utcOffset(at moment: Timestamp) -> Duration { .zero }

  /// The wall clock where there is no other one.
  public func monotonicNow() -> Timestamp {
    bootTime().map { Timestamp(milliseconds: $0.milliseconds) } ?? now()
  }
}

/// A moment on the clock that counts from the start of the machine, with the time it was suspended
/// (`CLOCK_BOOTTIME`). Setting the wall clock does not move it.
public struct BootTime: Sendable, Equatable, Codable {
  /// Which start of the machine it counts from.
  public var boot: String
  public var milliseconds: Int64

  public init(boot: String, milliseconds: Int64) {
    self.boot = boot
    self.milliseconds = milliseconds
  }

  /// The time since another moment; nil where that was of another start of the machine.
  public func elapsed(since earlier: BootTime) -> Duration? {
    boot == earlier.boot ? .milliseconds(milliseconds - earlier.milliseconds) : nil
  }
}

/// Fresh random bytes from a source fit for keys.
public protocol Entropy: Sendable {
  /// - Parameter count: How many; not negative.
  func bytes(_ count: Int) -> [UInt8]
}

/// The machine's own clock.
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

  /// By the time zone of this process (tzset(3)).
  public func utcOffset(at moment: Timestamp) -> Duration {
    var seconds = time_t(moment.milliseconds / 1000)
    var parts = tm()
    localtime_r(&seconds, &parts)
    return .seconds(parts.tm_gmtoff)
  }

  /// random(4): another one after each start of the machine.
  private static let boot: String? = {
    let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 36)
    guard read(file, &bytes, bytes.count) == bytes.count else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }()
}

/// The kernel's generator: getrandom(2), one call for up to 256 bytes.
public struct SystemEntropy: Entropy {
  public init() {}
  public func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var more = [UInt8](repeating: 0, count: min(count - bytes.count, 256))
      guard getentropy(&more, more.count) == 0 else {
        fatalError("the kernel gives no random bytes")
      }
      bytes = bytes.isEmpty ? more : bytes + more
    }
    return bytes
  }
}
