package import UsherAPI
import UsherCore

/// The default paths of the daemon's sockets.
package enum SocketPath {
  /// Returns the path of the socket of the daemon that serves this user.
  ///
  /// The first that applies:
  /// 1. `$USHER_SOCKET` (`$USHER_ADMIN_SOCKET` for the admin socket), unless it is empty;
  /// 2. the system socket under `/run/usherd`, if the user is root or the socket exists;
  /// 3. the user's socket under `$XDG_RUNTIME_DIR/usherd`, unless that variable is unset or empty;
  /// 4. the system socket, so that the error names a path that the user can look for.
  package static func standard(
    _ access: Access, environment: [String: String], userID: UInt32, exists: (String) -> Bool
  ) -> String {
    let (variable, file) =
      switch access {
      case .app: ("USHER_SOCKET", "usherd.sock")
      case .admin: ("USHER_ADMIN_SOCKET", "usherd-admin.sock")
      }
    if let path = environment[variable], !path.isEmpty { return path }
    let system = "/run/usherd/\(file)"
    if userID == 0 || exists(system) { return system }
    guard let runtime = environment["XDG_RUNTIME_DIR"], !runtime.isEmpty else { return system }
    return "\(runtime)/usherd/\(file)"
  }
}
