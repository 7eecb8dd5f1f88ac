import Glibc
import UsherCore

/// Loads the master key of the database, or generates it.
package struct MasterKeySource: Sendable {
  /// The name of the systemd credential with the key. It takes precedence over the key file.
  package static let credentialName = "usherd.master-key"
  /// The name of the file in the state directory that contains the master key, if systemd passes no
  /// credential with it.
  package static let fileName = "master.key"

  private let credentials: CredentialsDirectory?

  package init(credentials: CredentialsDirectory?) { self.credentials = credentials }

  /// Loads the key from the systemd credential or else from the key file, which is generated if it
  /// is missing.
  ///
  /// - Parameters:
  ///   - stateDirectory: An existing directory that belongs to the daemon's user.
  ///   - generating: Whether a key may be generated. False if a database exists, because a new key
  ///     cannot open it. Evaluated only if there is no key.
  /// - Throws: `storageUnavailable` with a sentence that names the key and the cause, or
  ///   `internalError` if the credential cannot be read. An invalid key is never replaced.
  package func load(
    stateDirectory: String, generating: @autoclosure () throws -> Bool = true
  ) throws -> MasterKey {
    if let key = try credential() { return key }
    let path = "\(stateDirectory)/\(Self.fileName)"
    do {
      return try keyFile(path, in: stateDirectory, generating: generating)
    } catch let error as Errno {
      throw error.explained("the master key \(path) cannot be read", as: reason)
    }
  }

  private func keyFile(
    _ path: String, in stateDirectory: String, generating: () throws -> Bool
  ) throws -> MasterKey {
    if let key = try Self.read(path) { return key }
    guard try generating() else {
      throw refusal(
        "the database has no master key: neither \(path) nor a credential exists; to open it with "
          + "its recovery key, run: usherctl recover")
    }
    try Self.generate(path, in: stateDirectory)
    guard let key = try Self.read(path) else { throw refusal("\(path) disappeared") }
    return key
  }

  private func credential() throws -> MasterKey? {
    // The buffer has one byte more than the longest encoding, so that a file that is too long is
    // not taken for a valid key.
    var length = 0
    let room = try LockedBytes(count: MasterKeyText.maxLength + 1) { buffer in
      let count = try credentials?.withFile(named: Self.credentialName) { file, _ throws(Errno) in
        try file.read(into: buffer)
      }
      length = count ?? -1
    }
    guard length >= 0 else { return nil }
    let bytes = try LockedBytes(count: MasterKey.length) { key in
      let isKey = room.withUnsafeBytes {
        MasterKeyText.decode(UnsafeRawBufferPointer(rebasing: $0.prefix(length)), into: key)
      }
      guard isKey else {
        throw refusal(
          "the credential \(Self.credentialName) is not 32 raw bytes, 64 hexadecimal digits "
            + "or Base64 of 32 bytes")
      }
    }
    return MasterKey(bytes: bytes, origin: .systemdCredential)
  }
}

// MARK: - The key file

extension MasterKeySource {
  /// Returns the key in the key file, or nil if there is no file.
  private static func read(_ path: String) throws -> MasterKey? {
    guard let file = try opened(path) else { return nil }
    if let fault = fault(of: try file.status()) {
      throw refusal("the master key \(path) \(fault)")
    }
    let bytes = try LockedBytes(count: MasterKey.length) { key in
      let count = try file.read(into: key)
      guard count == MasterKey.length else { throw refusal("the master key \(path) is truncated") }
    }
    return MasterKey(bytes: bytes, origin: .keyFile(path))
  }

  private static func opened(_ path: String) throws -> Descriptor? {
    do throws(Errno) {
      return try Descriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    } catch {
      switch error.code {
      case ENOENT: return nil
      case ELOOP:
        throw refusal("the master key \(path) is a symbolic link; it must be a regular file")
      default: throw error.explained("the master key \(path) cannot be opened", as: reason)
      }
    }
  }

  /// Returns why the file must not be trusted as the key, as the rest of a sentence that begins
  /// with its name. Nil if it can be trusted.
  private static func fault(of status: stat) -> String? {
    if !status.isRegularFile { return "is not a regular file" }
    if status.st_uid != geteuid() {
      return "is owned by uid \(status.st_uid); it must be owned by uid \(geteuid())"
    }
    if status.permissions & 0o077 != 0 {
      let mode = String(status.permissions, radix: 8)
      return "has mode \(mode); it must be readable by its owner only (chmod 600)"
    }
    if status.st_size != MasterKey.length {
      return "has \(status.st_size) bytes; it must have \(MasterKey.length)"
    }
    return nil
  }

  /// Generates the key file under a temporary name and links it to its final name after it is on
  /// disk, so that a partial key is never read. If another process creates the file first, that
  /// process's key is kept.
  private static func generate(_ path: String, in directory: String) throws {
    let key = try LockedBytes(count: MasterKey.length) { try fillWithRandom($0) }
    let draft = "\(path).\(UInt64.random(in: .min ... .max))"
    do throws(Errno) {
      let file = try Descriptor.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      defer { unlink(draft) }
      guard fchmod(file.raw, 0o600) == 0 else { throw .last }
      try key.withUnsafeBytes { bytes throws(Errno) in try file.write(bytes) }
      try file.sync()
      guard link(draft, path) == 0 || errno == EEXIST else { throw .last }
      try Descriptor.open(directory, O_RDONLY | O_DIRECTORY).sync()
    } catch {
      throw error.explained("a master key cannot be created in \(directory)", as: reason)
    }
  }

  private static func fillWithRandom(_ buffer: UnsafeMutableRawBufferPointer) throws {
    guard let address = buffer.baseAddress, getentropy(address, buffer.count) == 0 else {
      throw Errno.last.explained("the kernel returned no random bytes", as: reason)
    }
  }
}

private let reason = UsherError.Reason.storageUnavailable

private func refusal(_ sentence: String) -> UsherError { UsherError(reason, sentence) }
