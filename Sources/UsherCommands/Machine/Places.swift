/// Where systemd's credentials and the daemon's state are on this machine.
package struct Places: Sendable {
  /// Sealed ones, which last.
  package var sealed = "/etc/credstore.encrypted"
  /// Plain ones, in memory.
  package var passing = "/run/credstore"
  /// Of the system's daemon.
  package var state = "/var/lib/usherd"
  /// Of a user's own.
  package var userState: String
  /// A directory in memory in which the person may make files.
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
