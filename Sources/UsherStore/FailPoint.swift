import Glibc
import Synchronization

/// Points in the code at which a test can kill the process, to check which stored state survives.
///
/// The environment variable `USHER_FAILPOINT=name:n` sends SIGKILL to the process when the point
/// `name` is reached for the nth time, counted from 1. A malformed value is ignored. Release builds
/// have no fail points.
package enum FailPoint {
  /// Kills the process if the test has armed this point.
  ///
  /// - Parameter name: `module.place`, as in `store.before-commit`.
  package static func reach(_ name: StaticString) {
    #if DEBUG
      armed?.reach(name.description)
    #endif
  }
}

#if DEBUG
  private let armed: ArmedPoint? = getenv("USHER_FAILPOINT").flatMap {
    ArmedPoint(String(cString: $0))
  }

  private final class ArmedPoint: Sendable {
    private let name: Substring
    private let left: Mutex<Int>

    init?(_ setting: String) {
      let parts = setting.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, let count = Int(parts[1]), count > 0 else { return nil }
      name = parts[0]
      left = Mutex(count)
    }

    func reach(_ point: String) {
      guard point == name else { return }
      let isLast = left.withLock { left in
        left -= 1
        return left == 0
      }
      if isLast { kill(getpid(), SIGKILL) }
    }
  }
#endif
