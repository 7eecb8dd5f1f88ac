import GRDB
package import UsherCore

/// Reading of flows: one row at a time, for there may be very many. As all that is read at start-up.
extension Store {
  /// Hands over every flow, in no particular order.
  ///
  /// - Parameter take: Must not ask the store for anything.
  package func readFlows(_ take: (FlowRow) -> Void) throws(UsherError) {
    _ = try load(
      """
      SELECT id, realm, uid, client, provider, kind, status, revision, expires_at, sealed
      FROM flows
      """, [], from: database
    ) { columns in
      let row = FlowRow(
        id: FlowID(try columns.next()), owner: try columns.owner(),
        provider: ProviderName(try columns.next()), kind: try columns.next(),
        status: try columns.next(), revision: try columns.next(), state: "",
        createdAt: Timestamp(milliseconds: 0), updatedAt: Timestamp(milliseconds: 0),
        expiresAt: try columns.time(), payload: SealedPayload([]))
      take(try self.sealer.open(columns.next(), into: row))
    }
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

  /// Every flow, in no particular order.
  package func loadFlows() throws(UsherError) -> [FlowRow] {
    var rows: [FlowRow] = []
    try readFlows { rows.append($0) }
    return rows
  }

  /// Every flow's transitions, each flow's in the order they were appended.
  package func loadJournal() throws(UsherError) -> [JournalRow] {
    var rows: [JournalRow] = []
    try readJournal { rows.append($0) }
    return rows
  }
}
