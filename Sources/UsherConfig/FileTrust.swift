/// Decides whether only trusted users can change a configuration file or its directory.
///
/// The configuration decides which caller gets which token. The daemon reads it only if no user
/// except root can write it; the daemon of one user accepts that user, too.
package struct FileTrust: Sendable {
  /// The result of `stat(2)` for a file or directory, as far as it is needed.
  package struct Status: Sendable {
    package let owner: UInt32
    package let group: UInt32
    /// The permission bits of the file, including the sticky bit.
    package let mode: UInt32

    package init(owner: UInt32, group: UInt32, mode: UInt32) {
      self.owner = owner
      self.group = group
      self.mode = mode
    }
  }

  private let user: UInt32?

  /// Creates the check.
  ///
  /// - Parameter user: The user besides root who may own the configuration; nil for the daemon of
  ///   the system.
  package init(user: UInt32?) { self.user = user }

  /// Returns what is wrong with the permissions, and the command that corrects them; nil if only
  /// trusted users can write.
  ///
  /// - Parameter isShared: Whether a world-writable directory is accepted if it has the sticky bit.
  ///   With that bit, users cannot replace each other's files, and each file is checked by itself.
  package func problem(with status: Status, at path: String, isShared: Bool = false) -> String? {
    guard status.owner == 0 || status.owner == user else {
      let trusted = user.map { "root or user \($0)" } ?? "root"
      return "it is owned by user \(status.owner), who could change usherd's configuration; "
        + "only \(trusted) may own it; run: chown root \(path)"
    }
    if isShared, status.mode & 0o1000 != 0 { return nil }
    if status.mode & 0o002 != 0 {
      return "every user can write it and so change usherd's configuration; run: chmod o-w \(path)"
    }
    // If the file has an access control list, these bits are the mask of the list (acl(5)), so a
    // named user may be able to write.
    if status.mode & 0o020 != 0 {
      return "group \(status.group), or users on its access control list, can write it and so "
        + "change usherd's configuration; run: chmod g-w \(path)"
    }
    return nil
  }
}
