import Glibc
package import UsherCore

/// Reads secrets from files that another program writes anew from time to time, such as the token
/// of a workload.
package enum SecretFile {
  /// The maximum size of such a file in bytes.
  package static let sizeLimit = 65_536

  /// Returns the text of a file without white space at its end.
  ///
  /// Symbolic links are followed, because a program may replace the file by changing a link, as
  /// Kubernetes does. Whoever can write the file decides as whom the daemon acts, so the file must
  /// belong to root or to the daemon's user, and no one else may write it. Never waits for a FIFO
  /// or a device.
  ///
  /// - Parameters:
  ///   - path: An absolute path.
  ///   - user: The uid of the daemon.
  /// - Throws: `internalError` with a sentence that names the file, the cause and what to do.
  package static func read(_ path: String, user: UInt32) throws(UsherError) -> Secret {
    let bytes: [UInt8]
    let status: stat
    do throws(Errno) {
      let file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
      status = try file.status()
      bytes = status.isRegularFile ? try file.read(atMost: sizeLimit + 1) : []
    } catch {
      throw error.explained("the file \(path) cannot be read")
    }
    if let flaw = flaw(of: status, at: path, user: user) {
      throw UsherError(.internalError, "the file \(path) \(flaw)")
    }
    guard bytes.count <= sizeLimit else {
      throw UsherError(.internalError, "the file \(path) is longer than \(sizeLimit) bytes")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw UsherError(.internalError, "the file \(path) is not text in UTF-8")
    }
    let isSpace: (Character) -> Bool = { $0.isASCII && $0.isWhitespace }
    guard let end = text.lastIndex(where: { !isSpace($0) }) else {
      throw UsherError(.internalError, "the file \(path) is empty")
    }
    return Secret(String(text[...end]))
  }

  /// Returns why the file must not be used, as the rest of a sentence that begins with its name;
  /// nil if it may be.
  private static func flaw(of status: stat, at path: String, user: UInt32) -> String? {
    guard status.isRegularFile else { return "is not a regular file" }
    guard status.st_uid == 0 || status.st_uid == user else {
      return "is owned by user \(status.st_uid); only root or user \(user) may own it"
    }
    guard status.permissions & 0o022 == 0 else {
      let mode = String(status.permissions, radix: 8)
      return "has mode \(mode), so that others than its owner can write it; run: chmod go-w \(path)"
    }
    return nil
  }
}
