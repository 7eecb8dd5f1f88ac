import UsherCore
import UsherStore
import UsherSystem

extension Launch {
  /// Opens the database as ``run()`` does, reads every row of it, and closes it: a database of an
  /// older schema is brought to this one, and one that only the recovery key opens is put under the
  /// master key. Nobody is served.
  ///
  /// Ends the process with a sentence and status 1 where it or a row of it does not open.
  package func checkStore() {
    do {
      _ = ProcessHardening.apply()
      let store = try StoreBootstrap(try setting([:]), mayBeNew: false).store
      try store.check()
      try store.close()
    } catch let error as UsherError {
      fail(error.message, cause: error.cause)
    } catch {
      fail(String(describing: error), cause: nil)
    }
  }
}
