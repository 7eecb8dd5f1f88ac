import Glibc

/// Where the daemon keeps what must last, and where its sockets are when it makes them itself.
package struct Directories: Sendable, Equatable {
  package var state: String
  package var runtime: String

  package init(state: String, runtime: String) {
    self.state = state
    self.runtime = runtime
  }

  /// The places an environment names, in this order: systemd's `$STATE_DIRECTORY` and
  /// `$RUNTIME_DIRECTORY`; for root `/var/lib/usherd` and `/run/usherd`; else those of the XDG Base
  /// Directory Specification. Relative paths there are ignored, as it demands.
  ///
  /// Nothing is created.
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

  /// systemd lists several directories with colons between them.
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
