import Glibc
package import UsherCore

/// The credentials that systemd decrypted for this service: one file each in the directory
/// `$CREDENTIALS_DIRECTORY`, systemd.exec(5).
package struct CredentialsDirectory: Sendable {
  /// The maximum size of a credential in bytes, which is systemd's own limit.
  package static let sizeLimit = 1 << 20

  package let path: String

  package init(path: String) { self.path = path }

  /// Creates the directory that `$CREDENTIALS_DIRECTORY` names. Returns nil if the variable is not
  /// set or not an absolute path.
  package init?(environment: [String: String]) {
    guard let path = environment["CREDENTIALS_DIRECTORY"], path.hasPrefix("/") else { return nil }
    self.path = path
  }

  /// Returns the sorted names of all credentials in the directory.
  package func names() throws -> [String] {
    guard let directory = opendir(path) else {
      throw Errno.last.explained("the credentials directory cannot be read")
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if Self.isPlain(name), !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  /// Returns a credential as text without one trailing newline, or nil if it does not exist.
  ///
  /// - Throws: `invalidParams` if the name is not a plain file name, `internalError` if the file
  ///   cannot be read, is too long or is not UTF-8.
  package func secret(named name: String) throws -> Secret? {
    guard var bytes = try bytes(named: name) else { return nil }
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw UsherError(.internalError, "the credential \(name) is not text in UTF-8")
    }
    return Secret(text)
  }

  /// Returns the bytes of a credential, or nil if it does not exist. Throws the same errors as
  /// ``secret(named:)``, except the error about UTF-8.
  package func bytes(named name: String) throws -> [UInt8]? {
    try withFile(named: name) { file, size throws(Errno) in try file.read(atMost: size) }
  }

  /// Calls `body` with the open file of a credential and its size in bytes. Returns nil if there is
  /// no such credential.
  func withFile<Result>(
    named name: String, _ body: (borrowing Descriptor, Int) throws(Errno) -> Result
  ) throws -> Result? {
    guard Self.isPlain(name) else {
      throw UsherError(.invalidParams, "a credential's name must be a plain file name")
    }
    do throws(Errno) {
      let file = try Descriptor.open("\(path)/\(name)", O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      let status = try file.status()
      guard status.isRegularFile else { throw Errno(EINVAL) }
      guard status.st_size <= Self.sizeLimit else { throw Errno(EFBIG) }
      return try body(file, Int(status.st_size))
    } catch {
      switch error.code {
      case ENOENT: return nil
      case EFBIG: throw UsherError(.internalError, "the credential \(name) is longer than 1 MiB")
      case ELOOP: throw UsherError(.internalError, "the credential \(name) is a symbolic link")
      case EINVAL: throw UsherError(.internalError, "the credential \(name) is not a file")
      default: throw error.explained("the credential \(name) cannot be read")
      }
    }
  }

  /// Whether the name is a single path component of printable ASCII, so that it cannot leave the
  /// directory.
  private static func isPlain(_ name: String) -> Bool {
    name != "." && name != ".." && (1...255).contains(name.utf8.count)
      && name.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "/") }
  }
}
