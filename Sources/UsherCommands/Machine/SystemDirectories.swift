/// The directories of systemd's credentials and of the daemon's state.
package struct SystemDirectories: Sendable {
  /// The directory from which systemd reads sealed credentials, on disk.
  package var sealed = "/etc/credstore.encrypted"
  /// The directory from which systemd reads plain credentials, in memory.
  package var transientCredentials = "/run/credstore"
  /// The state directory of the system's daemon.
  package var state = "/var/lib/usherd"
  /// The state directory of the user's own daemon.
  package var userState: String
  /// A directory in memory in which the user may create files.
  package var memory: String

  package init(environment: [String: String]) {
    func absolute(_ name: String) -> String? {
      environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
    let home = absolute("HOME") ?? "/"
    userState = (absolute("XDG_STATE_HOME") ?? "\(home)/.local/state") + "/usherd"
    memory = absolute("XDG_RUNTIME_DIR") ?? "/dev/shm"
  }
}
