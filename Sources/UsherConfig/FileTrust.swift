/// Judges whether only trusted users may change a configuration file or the directory it is in.
///
/// The configuration decides which caller gets which token. It is read only if nobody but root may
/// write it, or in a per-user instance that user.
package struct FileTrust: Sendable {
  /// What `stat(2)` says of a file.
  package struct Status: Sendable {
    package let owner: UInt32
    package let group: UInt32
    /// The permission bits, the sticky bit included.
    package let mode: UInt32

    package init(owner: UInt32, group: UInt32, mode: UInt32) {
      self.owner = owner
      self.group = group
      self.mode = mode
    }
  }

  /// The user besides root who may own the configuration.
  private let user: UInt32?

  /// - Parameter user: The user besides root who may own the configuration; nil for the system's
  ///   instance.
  package init(user: UInt32?) { self.user = user }

  /// Returns what is wrong, with the command that mends it; nil where only trusted users may write.
  ///
  /// - Parameter isShared: Whether the sticky bit makes up for a directory that everybody may write:
  ///   nobody can replace another user's file there, and each file is judged by itself.
  package func problem(with status: Status, at path: String, isShared: Bool = false) -> String? {
    guard status.owner == 0 || status.owner == user else {
      let trusted = user.map { "root or user \($0)" } ?? "root"
      return "it belongs to user \(status.owner), who could change what usherd obeys; "
        + "only \(trusted) may own it; run: chown root \(path)"
    }
    if isShared, status.mode & 0o1000 != 0 { return nil }
    if status.mode & 0o002 != 0 {
      return "every user may write it, and so change what usherd obeys; run: chmod o-w \(path)"
    }
    // With an access control list these bits are its mask (acl(5)): a user may be on it.
    if status.mode & 0o020 != 0 {
      return "group \(status.group), or who is on its access control list, may write it, and so "
        + "change what usherd obeys; run: chmod g-w \(path)"
    }
    return nil
  }
}
