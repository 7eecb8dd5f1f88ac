import CSystemd
import Glibc
package import UsherCore

/// Reserves the highest file descriptor numbers of the process for essential uses.
///
/// The dispatch library opens `/proc/TID/stat` once a second and ends the process if it gets no
/// descriptor. So connections and listeners, which callers can multiply, are refused before the
/// last descriptors are taken.
///
/// The kernel always returns the lowest free number. A use that may only have numbers below a limit
/// can therefore never take the descriptors above that limit, and nothing has to be counted. The
/// database, `/proc` and libraries are not limited.
package struct DescriptorBudget: Sendable {
  /// The purpose of a descriptor. Each case may use all numbers that the cases before it may use,
  /// and some higher numbers.
  package enum Use: Sendable, CaseIterable {
    /// A connection of a local program or a browser, or a loopback listener for a browser. Callers
    /// can cause any number of them.
    case caller
    /// A connection to a provider, or the loopback listener of a sign-in flow that the daemon has
    /// already accepted.
    case provider
    /// A connection to the admin socket, so that an administrator can still connect when callers
    /// have used up their share.
    case administrator
  }

  /// The soft limit `RLIMIT_NOFILE`: one more than the highest possible descriptor number.
  private let limit: Int
  /// Returns the number that the next descriptor would get; nil if none is left.
  private let next: @Sendable () -> CInt?

  /// A budget without a limit: for tests that do not concern descriptors, and if the process's
  /// limit cannot be read.
  package static let unlimited = DescriptorBudget(limit: .max)

  /// - Parameters:
  ///   - limit: The most descriptors that the process may have open.
  ///   - next: Returns the number that the next descriptor would get; nil if none is left.
  package init(
    limit: Int, next: @escaping @Sendable () -> CInt? = { DescriptorBudget.nextOfProcess() }
  ) {
    self.limit = limit
    self.next = next
  }

  /// Returns the budget for the current value of `RLIMIT_NOFILE`.
  package static func ofProcess() -> DescriptorBudget {
    var files = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0 else {
      return .unlimited
    }
    return DescriptorBudget(limit: Int(clamping: files.rlim_cur))
  }

  /// Whether a descriptor that was just opened may be kept for the given use. If not, the caller
  /// must close it at once.
  package func allows(_ descriptor: CInt, for use: Use) -> Bool { descriptor < end(of: use) }

  /// Whether a descriptor that is opened now may be kept for the given use.
  ///
  /// Asked before calling a library that opens the descriptor itself, such as SwiftNIO.
  package func hasRoom(for use: Use) -> Bool {
    guard limit < .max else { return true }
    guard let descriptor = next() else { return false }
    return allows(descriptor, for: use)
  }

  /// Returns the number that the next descriptor of this process would get; nil if none is left.
  /// Opens and closes an eventfd: two system calls that never block.
  package static func nextOfProcess() -> CInt? {
    let probe = usher_eventfd()
    guard probe >= 0 else { return nil }
    close(probe)
    return probe
  }

  /// The lowest descriptor number that the given use may not have.
  func end(of use: Use) -> Int {
    let reserve = min(256, limit / 4)
    return switch use {
    case .caller: limit - reserve
    case .provider: limit - reserve / 2
    case .administrator: limit - reserve / 4
    }
  }

  /// The error for a call that needs a file descriptor when its budget has none left.
  package static let exhausted = UsherError(
    .overloaded,
    "usherd has no file descriptors left; try again, or raise LimitNOFILE= in its unit",
    detail: .init(retryAfterMs: 1000, limit: "LimitNOFILE"))
}
