import UsherCore
import UsherStore
import UsherSystem

extension Launch {
  /// Implements `usherd --check-store`: opens the database as ``run()`` does, reads every row and
  /// closes the database, without serving. A database of an older schema is migrated, and a
  /// database that only the recovery key opens is encrypted under the master key.
  ///
  /// Ends the process with a message and status 1 if the database or a row cannot be opened.
  package func checkStore() {
    do {
      _ = ProcessHardening.apply()
      let store = try StoreBootstrap(try setting([:]), mayBeNew: false).store
      try store.check()
      try store.close()
    } catch {
      fail(error)
    }
  }
}
