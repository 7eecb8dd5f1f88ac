/// The path of the daemon's socket, in the same order as in UsherClient, whose library a helper
/// does not load.
package enum DaemonSocket {
  package static let system = "/run/usherd/usherd.sock"

  /// Returns the first path that applies:
  /// 1. `explicitPath`, the value of `USHER_SOCKET`;
  /// 2. the system's socket, if the user is root or the socket exists;
  /// 3. the user's socket in `runtimeDirectory`, the value of `XDG_RUNTIME_DIR`;
  /// 4. the system's socket, so that an error names a path.
  ///
  /// An empty text counts as nil.
  package static func path(
    explicitPath: String?, runtimeDirectory: String?, isRoot: Bool,
    systemExists: Bool
  ) -> String {
    if let explicitPath, !explicitPath.isEmpty { return explicitPath }
    if isRoot || systemExists { return system }
    guard let runtimeDirectory, !runtimeDirectory.isEmpty else { return system }
    return "\(runtimeDirectory)/usherd/usherd.sock"
  }
}
