import GRDB
import UsherCore

/// Commits what many callers bring together, so that they share one sync of the disk.
///
/// While one transaction is being written the next ones gather. Each unit has a savepoint: one
/// that fails spares its neighbours. Callers hear of it after the transaction is on disk.
actor GroupCommit {
  typealias Operation = @Sendable (Database) throws -> Void
  typealias Outcome = Result<Void, UsherError>

  /// Whose fail points a unit's commit passes.
  enum Kind: Sendable { case store, audit }

  private struct Waiting {
    let unit: [Operation]
    let kind: Kind
    let caller: CheckedContinuation<Outcome, Never>
  }

  /// Bounds how long the first of many callers waits for the last.
  private static let largestGroup = 256

  private let database: DatabaseQueue
  private let executor: (any TaskExecutor)?
  private var waiting: [Waiting] = []
  private var isFlushing = false

  init(_ database: DatabaseQueue, on executor: (any TaskExecutor)?) {
    self.database = database
    self.executor = executor
  }

  /// Once it is called the unit is written, even if the caller's task is cancelled.
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
      let group = Array(waiting.prefix(Self.largestGroup))
      waiting.removeFirst(group.count)
      let outcomes = await Self.write(
        group.map(\.unit), as: Set(group.map(\.kind)), to: database)
      for (one, outcome) in zip(group, outcomes) { one.caller.resume(returning: outcome) }
    }
    isFlushing = false
  }

  /// - Returns: One outcome a unit. When the transaction fails, all of them are its failure: an
  ///   outcome found beside changes that were rolled back means nothing.
  static func write(
    _ units: [[Operation]], as kinds: Set<Kind> = [.store], to database: DatabaseQueue
  ) async -> [Outcome] {
    do {
      return try await writeTogether(units, as: kinds, to: database)
    } catch DatabaseError.SQLITE_FULL where units.count > 1 {
      // SQLite gives up all of a transaction over one row that does not fit; the others may.
      var outcomes: [Outcome] = []
      for unit in units { outcomes += await write([unit], as: kinds, to: database) }
      return outcomes
    } catch {
      return units.map { _ in .failure(.storage(error)) }
    }
  }

  private static func writeTogether(
    _ units: [[Operation]], as kinds: Set<Kind>, to database: DatabaseQueue
  ) async throws -> [Outcome] {
    try await database.writeWithoutTransaction { db in
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

  /// - Throws: Only when SQLite gave up the whole transaction, as it may on a full disk.
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
