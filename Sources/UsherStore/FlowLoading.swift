import FoundationEssentials
import GRDB
package import UsherCore

/// A flow as it was written, not opened yet.
package struct SealedFlow: Sendable {
  package var id: FlowID { clear.id }
  /// Where it stands in the table.
  fileprivate let place: Int64
  fileprivate let clear: FlowRow
  fileprivate let sealed: Data
}

/// Reading of flows: a page at a time, for there may be very many. As all that is read at start-up.
extension Store {
  /// The flows in the order of the table.
  ///
  /// - Parameters:
  ///   - last: The last one of the page before; nil: from the first on.
  ///   - count: How many at most; fewer are the last ones.
  package func flows(
    after last: SealedFlow? = nil, atMost count: Int
  ) throws(UsherError) -> [SealedFlow] {
    try load(
      """
      SELECT rowid, id, realm, uid, client, provider, kind, status, revision, expires_at, sealed
      FROM flows WHERE rowid > ? ORDER BY rowid LIMIT ?
      """, [last?.place ?? .min, count], from: database
    ) { columns in
      SealedFlow(
        place: try columns.next(),
        clear: FlowRow(
          id: FlowID(try columns.next()), owner: try columns.owner(),
          provider: ProviderName(try columns.next()), kind: try columns.next(),
          status: try columns.next(), revision: try columns.next(), state: "",
          createdAt: Timestamp(milliseconds: 0), updatedAt: Timestamp(milliseconds: 0),
          expiresAt: try columns.time(), payload: SealedPayload([])),
        sealed: try columns.next())
    }
  }

  /// - Throws: The row that does not open is named.
  package func open(_ flow: SealedFlow) throws(UsherError) -> FlowRow {
    try sealer.open(flow.sealed, into: flow.clear)
  }

  /// Hands over every flow's transitions, each flow's in the order they were appended.
  ///
  /// - Parameter take: Must not ask the store for anything.
  package func readJournal(_ take: (JournalRow) -> Void) throws(UsherError) {
    _ = try load(
      "SELECT flow, revision, state, status, step_type, at FROM journal ORDER BY sequence", [],
      from: database
    ) { columns in
      take(
        JournalRow(
          flow: FlowID(try columns.next()), revision: try columns.next(),
          state: try columns.next(), status: try columns.next(),
          stepType: try columns.nextOrNil(), at: try columns.time()))
    }
  }

  /// Every flow, in the order of the table.
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

  /// Every flow's transitions, each flow's in the order they were appended.
  package func loadJournal() throws(UsherError) -> [JournalRow] {
    var rows: [JournalRow] = []
    try readJournal { rows.append($0) }
    return rows
  }
}
