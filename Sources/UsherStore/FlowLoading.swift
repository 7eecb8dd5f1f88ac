import FoundationEssentials
import GRDB
package import UsherCore

/// The row of a flow whose encrypted columns have not been decrypted yet.
package struct SealedFlow: Sendable {
  package var id: FlowID { clear.id }
  /// The SQLite rowid of the flow, after which the next page begins.
  fileprivate let place: Int64
  fileprivate let clear: FlowRow
  fileprivate let sealed: Data
}

// Reads flows at start-up, in pages, because there may be a hundred thousand of them.
extension Store {
  /// Returns a page of flows in the order of their rowids.
  ///
  /// - Parameters:
  ///   - last: The last flow of the previous page; nil for the first page.
  ///   - count: The maximum number of flows. A page with fewer flows is the last one.
  package func flows(
    after last: SealedFlow? = nil, atMost count: Int
  ) throws(UsherError) -> [SealedFlow] {
    try load(
      """
      SELECT rowid, \(FlowRow.table.columns) FROM flows WHERE rowid > ? ORDER BY rowid LIMIT ?
      """, [last?.place ?? .min, count]
    ) { columns in
      SealedFlow(
        place: try columns.next(), clear: try FlowRow(clear: &columns), sealed: try columns.next())
    }
  }

  /// Decrypts a flow. Throws `storage_unavailable` with the name of the row if that fails.
  package func open(_ flow: SealedFlow) throws(UsherError) -> FlowRow {
    try sealer.open(flow.sealed, into: flow.clear)
  }

  /// Passes the journal (the transitions) of all flows to `body`, in the order of appending.
  ///
  /// - Parameter body: Must not call the store.
  package func readJournal(_ body: (JournalRow) -> Void) throws(UsherError) {
    _ = try load(
      "SELECT flow, revision, state, status, step_type, at FROM journal ORDER BY sequence"
    ) { columns in
      body(
        JournalRow(
          flow: FlowID(try columns.next()), revision: try columns.next(),
          state: try columns.next(), status: try columns.next(),
          stepType: try columns.nextOrNil(), at: try columns.time()))
    }
  }

  /// Returns all flows in the order of their rowids.
  package func loadFlows() throws(UsherError) -> [FlowRow] {
    var rows: [FlowRow] = []
    var last: SealedFlow?
    repeat {
      let page = try flows(after: last, atMost: Self.page)
      for flow in page { rows.append(try open(flow)) }
      last = page.count == Self.page ? page.last : nil
    } while last != nil
    return rows
  }

  private static let page = 1024
}
