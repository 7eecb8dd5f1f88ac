import GRDB
import UsherCore

/// Commits the changes of concurrent callers in one transaction, so that they share one disk sync.
///
/// A unit is the list of operations of one caller. While a transaction is written, further units
/// are queued for the next one. Each unit has its own savepoint, so a failing unit does not affect
/// the others. A caller resumes when the transaction is on disk.
actor GroupCommit {
  typealias Operation = @Sendable (Database) throws -> Void
  typealias Outcome = Result<Void, UsherError>

  /// The kind of a unit, which determines the ``FailPoint`` names of its commit.
  enum Kind: Sendable { case store, audit }

  private struct Waiting {
    let unit: [Operation]
    let kind: Kind
    let caller: CheckedContinuation<Outcome, Never>
  }

  /// The maximum number of units in a transaction. It bounds the time that each caller waits.
  private static let maxGroupSize = 256

  private let database: DatabaseQueue
  private let blocking: any BlockingPool
  private let executor: (any TaskExecutor)?
  private var waiting: [Waiting] = []
  private var isFlushing = false

  /// - Parameters:
  ///   - blocking: Runs the transactions.
  ///   - executor: Runs the tasks that wait for them; nil: Swift's global executor.
  init(
    _ database: DatabaseQueue, blocking: any BlockingPool, on executor: (any TaskExecutor)?
  ) {
    self.database = database
    self.blocking = blocking
    self.executor = executor
  }

  /// Writes the operations, all or none, in a transaction that they may share with other units.
  /// They are written even if the task that called this function is cancelled in the meantime.
  func commit(_ unit: [Operation], as kind: Kind = .store) async throws(UsherError) {
    let outcome = await withCheckedContinuation { caller in
      waiting.append(Waiting(unit: unit, kind: kind, caller: caller))
      guard !isFlushing else { return }
      isFlushing = true
      Task(executorPreference: executor) { await self.flush() }
    }
    try outcome.get()
  }

  private func flush() async {
    while !waiting.isEmpty {
      let group = Array(waiting.prefix(Self.maxGroupSize))
      waiting.removeFirst(group.count)
      let (units, kinds) = (group.map(\.unit), Set(group.map(\.kind)))
      let outcomes = await blocking.run { [database] in
        Self.write(units, as: kinds, to: database)
      }
      for (one, outcome) in zip(group, outcomes) { one.caller.resume(returning: outcome) }
    }
    isFlushing = false
  }

  /// Writes units in one transaction and returns the outcome of each. If the transaction fails, all
  /// outcomes are that failure, because the changes of all units were rolled back. Blocks.
  static func write(
    _ units: [[Operation]], as kinds: Set<Kind> = [.store], to database: DatabaseQueue
  ) -> [Outcome] {
    do {
      return try writeInOneTransaction(units, as: kinds, to: database)
    } catch DatabaseError.SQLITE_FULL where units.count > 1 {
      // If one row does not fit on the disk, SQLite rolls back the whole transaction. The other
      // units may fit.
      var outcomes: [Outcome] = []
      for unit in units { outcomes += write([unit], as: kinds, to: database) }
      return outcomes
    } catch {
      return units.map { _ in .failure(.storage(error)) }
    }
  }

  private static func writeInOneTransaction(
    _ units: [[Operation]], as kinds: Set<Kind>, to database: DatabaseQueue
  ) throws -> [Outcome] {
    try database.writeWithoutTransaction { db in
      var outcomes: [Outcome] = []
      try db.inTransaction(.immediate) {
        for unit in units { outcomes.append(try write(unit, in: db)) }
        if kinds.contains(.store) { FailPoint.reach("store.before-commit") }
        if kinds.contains(.audit) { FailPoint.reach("audit.before-commit") }
        return .commit
      }
      if kinds.contains(.store) { FailPoint.reach("store.after-commit") }
      if kinds.contains(.audit) { FailPoint.reach("audit.after-commit") }
      return outcomes
    }
  }

  /// Writes one unit in its own savepoint of the transaction.
  ///
  /// - Throws: Only if SQLite rolled back the whole transaction, for example on a full disk.
  private static func write(_ unit: [Operation], in db: Database) throws -> Outcome {
    do {
      try db.inSavepoint {
        for operation in unit { try operation(db) }
        return .commit
      }
      return .success(())
    } catch {
      guard db.isInsideTransaction else { throw error }
      return .failure(.storage(error))
    }
  }
}
