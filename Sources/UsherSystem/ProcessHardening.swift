import CSystemd
import Glibc

/// Restrictions that the process sets for itself before it holds a secret.
package enum ProcessHardening {
  /// Forbids core dumps and ptrace by processes of the same user, and sets a umask that makes new
  /// files accessible to the daemon's user only.
  ///
  /// - Returns: A sentence for each restriction that the kernel refused. The daemon continues
  ///   without it.
  package static func apply() -> [String] {
    var refused: [String] = []
    let dumps = usher_forbid_dumps()
    if dumps < 0 {
      refused.append("the process can be dumped and traced: \(Errno(-dumps).words)")
    }
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    if setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) != 0 {
      refused.append("core files cannot be disabled: \(Errno.last.words)")
    }
    umask(0o077)
    return refused
  }
}
