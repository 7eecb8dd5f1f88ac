import Glibc

/// The directories for the daemon's persistent state and for the sockets that it creates itself.
package struct Directories: Sendable, Equatable {
  package var state: String
  package var runtime: String

  /// Returns the directories for an environment, without creating them.
  ///
  /// In order of precedence: systemd's `$STATE_DIRECTORY` and `$RUNTIME_DIRECTORY`; for root
  /// `/var/lib/usherd` and `/run/usherd`; otherwise those of the XDG Base Directory Specification.
  /// Relative paths are ignored, as that specification requires.
  package static func defaults(environment: [String: String], uid: UInt32) -> Directories {
    let isRoot = uid == 0
    let home = absolute(environment["HOME"]) ?? "/"
    let xdgState = absolute(environment["XDG_STATE_HOME"]) ?? join(home, ".local/state")
    let xdgRuntime = absolute(environment["XDG_RUNTIME_DIR"]) ?? "/run/user/\(uid)"
    return Directories(
      state: first(environment["STATE_DIRECTORY"])
        ?? (isRoot ? "/var/lib/usherd" : join(xdgState, "usherd")),
      runtime: first(environment["RUNTIME_DIRECTORY"])
        ?? (isRoot ? "/run/usherd" : join(xdgRuntime, "usherd")))
  }

  /// Returns the first directory of a colon-separated list: systemd sets `$STATE_DIRECTORY` and
  /// `$RUNTIME_DIRECTORY` to such lists.
  private static func first(_ list: String?) -> String? {
    absolute(list?.split(separator: ":").first.map(String.init))
  }

  private static func absolute(_ path: String?) -> String? {
    path.flatMap { $0.hasPrefix("/") ? $0 : nil }
  }

  private static func join(_ directory: String, _ name: String) -> String {
    directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
  }
}
