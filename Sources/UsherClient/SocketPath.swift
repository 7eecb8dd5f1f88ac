package import UsherAPI
import UsherCore

/// Where the daemon is found when nobody says.
package enum SocketPath {
  /// The socket of the daemon that serves this user.
  ///
  /// In this order: `$USHER_SOCKET` (`$USHER_ADMIN_SOCKET` for the admin socket) unless it is empty;
  /// the system's under `/run/usherd`, for root or when it is there; the user's own under
  /// `$XDG_RUNTIME_DIR/usherd`; the system's, so that an error names a path one can look for.
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
