import GRDB
import Testing
import UsherCore
import UsherTestKit

@testable import UsherStore

/// Group commit with 200 orders of the callers' steps and of the transactions, each order twice.
@Suite("Interleavings of group commits", .mayBlock, .timeLimit(.minutes(10)))
struct GroupCommitInterleavingTests {
  /// What the callers of one run have seen. They run on one thread.
  private final class Log: @unchecked Sendable {
    var entries: [String] = []
  }

  private let fixture: StoreFixture

  init() throws { fixture = try StoreFixture() }

  @Test("whatever the order, a commit returns when its rows are stored, and fails without a row")
  func rows() throws {
    let store = try fixture.open()
    let database = store.database
    let orders = try SeededExecutor.explore { executor in
      let commits = GroupCommit(database, blocking: executor, on: executor)
      let log = Log()
      await withTaskGroup { group in
        for number in 1...8 {
          group.addTask {
            do {
              // Four and eight insert a row that the commit before them inserts too.
              let name = number.isMultiple(of: 4) ? number - 1 : number
              try await commits.commit([Self.insert("own \(number)"), Self.insert("\(name)")])
              let names = try Self.names(in: database)
              log.entries.append("stored \(number)")
              guard names.isSuperset(of: ["own \(number)", "\(name)"]) else {
                return log.entries.append("a row of \(number) is missing")
              }
            } catch {
              log.entries.append("failed \(number)")
            }
          }
        }
      }
      let names = try Self.names(in: database)
      let stored = log.entries.filter { $0.hasPrefix("stored") }
      // If two commits have the same row, one of them fails and stores no row.
      guard log.entries.count == 8, stored.count == 6, names.count == 12 else {
        throw TestError("\(log.entries), stored: \(names.sorted())")
      }
      try Self.deleteRows(of: database)
    }
    #expect(orders > 100)
    try store.close()
  }

  private static func insert(_ name: String) -> GroupCommit.Operation {
    { try $0.execute(sql: "INSERT INTO credentials VALUES (?, x'')", arguments: [name]) }
  }

  private static func deleteRows(of database: DatabaseQueue) throws {
    try database.writeWithoutTransaction { try $0.execute(sql: "DELETE FROM credentials") }
  }

  private static func names(in database: DatabaseQueue) throws -> Set<String> {
    try database.read { try Set(String.fetchAll($0, sql: "SELECT name FROM credentials")) }
  }
}
