import Glibc
import UsherCore

/// Finds the master key, or makes one.
package struct MasterKeySource: Sendable {
  /// The systemd credential that is asked first.
  package static let credentialName = "usherd.master-key"
  /// The file in the state directory that is asked next.
  package static let fileName = "master.key"

  private let credentials: CredentialsDirectory?

  package init(credentials: CredentialsDirectory?) { self.credentials = credentials }

  /// The credential if there is one, else the key file, which is made where it is missing.
  ///
  /// - Parameters:
  ///   - stateDirectory: An existing directory of ours.
  ///   - generating: False where a store already exists: without its key it must not get a new one.
  ///     Asked only where there is no key.
  /// - Throws: `storageUnavailable` with a sentence that says what is wrong with which key;
  ///   `internalError` for a credential that cannot be read. A bad key is never replaced.
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
        "there is a store but no master key: neither \(path) nor a credential; by its recovery key "
          + "it opens: usherctl recover")
    }
    try Self.generate(path, in: stateDirectory)
    guard let key = try Self.read(path) else { throw refusal("\(path) vanished") }
    return key
  }

  private func credential() throws -> MasterKey? {
    // One byte more than the longest form shows that a file is too long.
    var length = 0
    let room = try LockedBytes(count: MasterKeyText.longest + 1) { buffer in
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
  /// Nil where there is no file.
  private static func read(_ path: String) throws -> MasterKey? {
    guard let file = try opened(path) else { return nil }
    if let fault = fault(of: try file.status()) {
      throw refusal("the master key \(path) \(fault)")
    }
    let bytes = try LockedBytes(count: MasterKey.length) { key in
      let count = try file.read(into: key)
      guard count == MasterKey.length else { throw refusal("the master key \(path) is cut short") }
    }
    return MasterKey(bytes: bytes, origin: .keyFile(path))
  }

  private static func opened(_ path: String) throws -> Descriptor? {
    do throws(Errno) {
      return try Descriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    } catch {
      switch error.code {
      case ENOENT: return nil
      case ELOOP: throw refusal("the master key \(path) is a symbolic link, and must be a file")
      default: throw error.explained("the master key \(path) cannot be opened", as: reason)
      }
    }
  }

  /// Why a file is not to be trusted as the key, in words that follow its name.
  private static func fault(of status: stat) -> String? {
    if !status.isRegularFile { return "is not a regular file" }
    if status.st_uid != geteuid() {
      return "belongs to uid \(status.st_uid), and must belong to uid \(geteuid())"
    }
    if status.permissions & 0o077 != 0 {
      let mode = String(status.permissions, radix: 8)
      return "has mode \(mode), and must be readable by its owner only (chmod 600)"
    }
    if status.st_size != MasterKey.length {
      return "has \(status.st_size) bytes, and must have \(MasterKey.length)"
    }
    return nil
  }

  /// Writes a fresh key under another name and gives it its own only when it is on the disk, so
  /// that no half-written key is ever found. Where another process was faster, his key stays.
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
      throw error.explained("a master key cannot be made in \(directory)", as: reason)
    }
  }

  private static func fillWithRandom(_ buffer: UnsafeMutableRawBufferPointer) throws {
    guard let address = buffer.baseAddress, getentropy(address, buffer.count) == 0 else {
      throw Errno.last.explained("the kernel gives no random bytes", as: reason)
    }
  }
}

private let reason = UsherError.Reason.storageUnavailable

private func refusal(_ sentence: String) -> UsherError { UsherError(reason, sentence) }
