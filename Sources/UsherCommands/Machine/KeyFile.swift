import Glibc
import UsherCore

/// The master key as a file in the state directory, for daemons whose key is not a systemd
/// credential.
struct KeyFile {
  let path: String

  init(state: String) { path = "\(state)/master.key" }

  /// Returns the master key; nil if the file does not exist.
  ///
  /// - Throws: ``CommandFailure`` if the file has a fault for which the daemon would refuse it too.
  func read() throws -> MasterKeyBytes? {
    guard let (file, status) = try Durable.openFile(path) else { return nil }
    let owner = try Durable.owner(of: path.parentDirectory)
    guard status.st_uid == owner.user, status.st_mode & 0o077 == 0 else {
      throw CommandFailure(
        "\(path) has the wrong owner or mode: only the daemon's user may have access to it")
    }
    let bytes = try file.read(atMost: MasterKeyBytes.length + 1)
    guard bytes.count == MasterKeyBytes.length, let key = MasterKeyBytes(bytes) else {
      throw CommandFailure(
        "\(path) has \(bytes.count) bytes; it must have \(MasterKeyBytes.length)")
    }
    return key
  }

  func remove() throws { try Durable.remove(path) }
}
