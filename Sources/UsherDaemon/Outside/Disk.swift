import Glibc
package import UsherCore
package import UsherStore
package import UsherSystem

/// The files of the daemon: its database, and what lies beside it. Functions of it block.
package protocol Disk: Sendable {
  func exists(_ path: String) -> Bool

  /// The regular files of a directory; none where it cannot be read.
  ///
  /// - Parameter directory: With its last slash.
  func files(in directory: String) -> [DiskFile]

  /// Removes a file. One that is missing, or that the daemon may not remove, is ignored.
  func remove(_ path: String)

  /// The key of the database: a credential, or else the file in the state directory, which is made
  /// where it is missing.
  ///
  /// - Throws: As ``MasterKeySource/load(stateDirectory:generating:)``.
  func masterKey(
    _ source: MasterKeySource, in stateDirectory: String, generating: () throws -> Bool
  ) throws -> MasterKey

  /// The names of the credentials that systemd handed over, sorted.
  ///
  /// - Throws: As ``CredentialsDirectory/names()``.
  func credentialNames(in directory: CredentialsDirectory) throws -> [String]

  /// - Returns: Nil where there is none of that name.
  /// - Throws: As ``CredentialsDirectory/secret(named:)``.
  func credential(named name: String, in directory: CredentialsDirectory) throws -> Secret?

  /// Whether a recovery key opens a database.
  ///
  /// - Throws: As ``Store/isOpened(at:by:)``.
  func isOpened(_ database: String, by key: RecoveryKey) throws(UsherError) -> Bool

  /// - Throws: As ``Store/open(path:masterKey:recoveryKey:acceptsChanges:keep:clock:entropy:executor:)``.
  func openStore(_ opening: StoreAccess) throws(UsherError) -> Store
}

/// What a database is opened with.
package struct StoreAccess {
  package let path: String
  package let masterKey: UnsafeRawBufferPointer
  /// Asked where the master key does not open the database; nil where there is none.
  package let recoveryKey: () throws(UsherError) -> RecoveryKey?
  /// Whether a database that somebody changed is opened all the same.
  package let acceptsChanges: Bool
  package let clock: any Clock
  package let entropy: any Entropy
  /// Runs the tasks of the store; nil: Swift's global executor.
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
      acceptsChanges: opening.acceptsChanges, keep: LockedBytes.keep, clock: opening.clock,
      entropy: opening.entropy, executor: opening.executor)
  }
}
