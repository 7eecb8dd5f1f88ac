import Glibc
package import UsherCore
package import UsherStore
package import UsherSystem

/// The file system for the daemon's database and the files beside it. All functions block.
package protocol Disk: Sendable {
  func exists(_ path: String) -> Bool

  /// Returns the regular files of a directory; none if the directory cannot be read.
  ///
  /// - Parameter directory: The path with its trailing slash.
  func files(in directory: String) -> [DiskFile]

  /// Removes a file. A file that is missing, or that the daemon may not remove, is ignored.
  func remove(_ path: String)

  /// Returns the master key: from a credential, or else from the file in the state directory, which
  /// is created if it is missing.
  ///
  /// - Throws: The errors of ``MasterKeySource/load(stateDirectory:generating:)``.
  func masterKey(
    _ source: MasterKeySource, in stateDirectory: String, generating: () throws -> Bool
  ) throws -> MasterKey

  /// Returns the sorted names of the credentials that systemd passed.
  ///
  /// - Throws: The errors of ``CredentialsDirectory/names()``.
  func credentialNames(in directory: CredentialsDirectory) throws -> [String]

  /// Returns a credential that systemd passed; nil if there is none of this name.
  ///
  /// - Throws: The errors of ``CredentialsDirectory/secret(named:)``.
  func credential(named name: String, in directory: CredentialsDirectory) throws -> Secret?

  /// Returns whether a recovery key opens a database.
  ///
  /// - Throws: The errors of ``Store/isOpened(at:by:)``.
  func isOpened(_ database: String, by key: RecoveryKey) throws(UsherError) -> Bool

  /// Opens or creates the database.
  ///
  /// Throws the errors of
  /// ``Store/open(path:masterKey:recoveryKey:acceptsChanges:keyStorage:clock:entropy:executor:)``.
  func openStore(_ opening: StoreAccess) throws(UsherError) -> Store
}

/// Parameters for opening a database.
package struct StoreAccess {
  package let path: String
  package let masterKey: UnsafeRawBufferPointer
  /// Returns the recovery key, if any. Called only if the master key does not open the database.
  package let recoveryKey: () throws(UsherError) -> RecoveryKey?
  /// Whether to open a database even if something other than usherd changed it.
  package let acceptsChanges: Bool
  package let clock: any Clock
  package let entropy: any Entropy
  /// The executor of the store's tasks; nil for Swift's global executor.
  package let executor: (any TaskExecutor)?
}

/// The file system of this machine.
struct LocalDisk: Disk {
  func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  func files(in directory: String) -> [DiskFile] { DiskFile.all(in: directory) }

  func remove(_ path: String) { unlink(path) }

  func masterKey(
    _ source: MasterKeySource, in stateDirectory: String, generating: () throws -> Bool
  ) throws -> MasterKey {
    try source.load(stateDirectory: stateDirectory, generating: try generating())
  }

  func credentialNames(in directory: CredentialsDirectory) throws -> [String] {
    try directory.names()
  }

  func credential(named name: String, in directory: CredentialsDirectory) throws -> Secret? {
    try directory.secret(named: name)
  }

  func isOpened(_ database: String, by key: RecoveryKey) throws(UsherError) -> Bool {
    try Store.isOpened(at: database, by: key)
  }

  func openStore(_ opening: StoreAccess) throws(UsherError) -> Store {
    try Store.open(
      path: opening.path, masterKey: opening.masterKey, recoveryKey: opening.recoveryKey,
      acceptsChanges: opening.acceptsChanges, keyStorage: LockedBytes.keyStorage,
      clock: opening.clock, entropy: opening.entropy, executor: opening.executor)
  }
}
