import CSystemd
import Glibc
package import UsherCore

/// Reserves the last descriptors of the process for what must go on.
///
/// A library that the daemon cannot do without ends the process where it gets no descriptor: the
/// dispatch library opens `/proc/TID/stat` once a second. So whatever a caller can have as many of as
/// it likes is refused before the last descriptors are used.
///
/// The kernel always hands out the lowest free number. A use that is refused from a number on
/// therefore never takes the descriptors above that number, however many there are of it: nothing has
/// to be counted. The database, `/proc` and libraries do not ask, and may have all.
package struct DescriptorBudget: Sendable {
  /// What a descriptor is for. Each may have what the ones before it may have, and some more.
  package enum Use: Sendable, CaseIterable {
    /// A connection of a program or a browser, or a listener for a browser: callers cause as many
    /// as they like.
    case caller
    /// A connection to a provider, or a listener of a flow that was let in.
    case provider
    /// A connection to the admin socket.
    case administrator
  }

  /// One more than the highest number that a descriptor may have.
  private let limit: Int

  /// For tests that are about something else.
  package static let unlimited = DescriptorBudget(limit: .max)

  /// - Parameter limit: The most descriptors that the process may have open.
  package init(limit: Int) { self.limit = limit }

  /// The budget under `RLIMIT_NOFILE`, as it is set when this is called.
  package static func ofProcess() -> DescriptorBudget {
    var files = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0 else {
      return .unlimited
    }
    return DescriptorBudget(limit: Int(clamping: files.rlim_cur))
  }

  /// Whether a descriptor that was just opened may be kept; else it is to be closed at once.
  package func allows(_ descriptor: CInt, for use: Use) -> Bool { descriptor < end(of: use) }

  /// Whether a descriptor that is opened now may be kept.
  ///
  /// For libraries that open descriptors themselves. Costs three system calls and never waits.
  package func hasRoom(for use: Use) -> Bool {
    guard limit < .max else { return true }
    let probe = usher_eventfd()
    guard probe >= 0 else { return false }
    defer { close(probe) }
    return allows(probe, for: use)
  }

  /// The first number that a use may not have.
  private func end(of use: Use) -> Int {
    let reserve = min(256, limit / 4)
    return switch use {
    case .caller: limit - reserve
    case .provider: limit - reserve / 2
    case .administrator: limit - reserve / 4
    }
  }

  /// What a caller gets for whom there is no descriptor.
  package static let exhausted = UsherError(
    .overloaded, "usherd has no file descriptor left: try again, or raise LimitNOFILE= of its unit",
    detail: .init(retryAfterMs: 1000, limit: "LimitNOFILE"))
}
