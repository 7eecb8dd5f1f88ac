import Glibc
package import UsherCore
package import UsherStore
package import UsherSystem

/// The file system for the daemon's database and the files beside it: by default this machine's.
/// All functions block.
package struct Disk: Sendable {
  package var exists: @Sendable (_ path: String) -> Bool = { access($0, F_OK) == 0 }

  /// Returns the regular files of a directory; none if the directory cannot be read. The path must
  /// end with a slash.
  package var files: @Sendable (_ directory: String) -> [DiskFile] = { DiskFile.all(in: $0) }

  /// Removes a file. A file that is missing, or that the daemon may not remove, is ignored.
  package var remove: @Sendable (_ path: String) -> Void = { _ = unlink($0) }

  /// Returns the master key: from a credential, or else from the file in the state directory, which
  /// is created if it is missing. See ``MasterKeySource/load(stateDirectory:generating:)``.
  package var masterKey:
    @Sendable (MasterKeySource, _ stateDirectory: String, _ generating: () throws -> Bool) throws
      -> MasterKey = { source, directory, generating in
        try source.load(stateDirectory: directory, generating: try generating())
      }

  /// Returns the sorted names of the credentials that systemd passed.
  package var credentialNames: @Sendable (CredentialsDirectory) throws -> [String] = {
    try $0.names()
  }

  /// Returns a credential that systemd passed; nil if there is none of this name.
  package var credential: @Sendable (_ name: String, CredentialsDirectory) throws -> Secret? = {
    try $1.secret(named: $0)
  }

  /// Returns the text of a file that another program writes. See ``SecretFile/read(_:user:)``.
  package var secretFile: @Sendable (_ path: String, _ user: UInt32) throws(UsherError) -> Secret =
    {
      path, user throws(UsherError) in
      try SecretFile.read(path, user: user)
    }

  /// Returns whether a recovery key opens a database. See ``Store/isOpened(at:by:)``.
  package var isOpened: @Sendable (_ database: String, RecoveryKey) throws(UsherError) -> Bool = {
    database, key throws(UsherError) in
    try Store.isOpened(at: database, by: key)
  }

  /// Opens or creates the database. See
  /// ``Store/open(path:masterKey:recoveryKey:acceptsChanges:keyStorage:clock:entropy:blocking:executor:)``.
  package var openStore: @Sendable (StoreAccess) throws(UsherError) -> Store = {
    opening throws(UsherError) in
    try Store.open(
      path: opening.path, masterKey: opening.masterKey, recoveryKey: opening.recoveryKey,
      acceptsChanges: opening.acceptsChanges, keyStorage: LockedBytes.keyStorage,
      clock: opening.clock, entropy: opening.entropy, blocking: opening.blocking,
      executor: opening.executor)
  }
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
  /// The threads of the store's transactions.
  package let blocking: any BlockingPool
  /// The executor of the store's tasks; nil for Swift's global executor.
  package let executor: (any TaskExecutor)?
}
