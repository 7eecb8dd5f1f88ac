import Glibc

/// The world's time and chance, passed in so that tests choose them.
public protocol Clock: Sendable {
  /// The UTC wall clock: what providers, tokens and stored deadlines speak of.
  func now() -> Timestamp
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
