import Crypto
import FoundationEssentials
import UsherCore

@testable import UsherStore

extension FuzzTarget {
  /// A sealed row opens only unchanged, and the decrypted columns that are accepted are those that
  /// encode to the same bytes.
  ///
  /// An input is both: decrypted columns, and changes of the sealed row, three bytes for each.
  static let sealedRow = FuzzTarget("sealed-row", maxBytes: 512) { input in
    let sealer = try SampleRows.sealer()
    let sealed = try sealer.seal(SampleRows.flow)
    let changed = sealed.changed(by: input)
    let opened = try? sealer.open(Data(changed), into: SampleRows.flow)
    try require((opened != nil) == (changed == [UInt8](sealed)), "a changed row opens")
    try require(
      (try? sealer.open(Data(input), into: SampleRows.account)) == nil, "a foreign row opens")
    var flow = SampleRows.flow
    if flow.restore(from: input) {
      // Times are limited to years that RFC 3339 can express, and follow the state.
      let times = 8 + flow.state.utf8.count..<24 + flow.state.utf8.count
      var expected = input
      expected.replaceSubrange(times, with: flow.plaintext[times])
      try require(flow.plaintext == expected, "the columns of a flow have a second form")
    }
    var account = SampleRows.account
    if account.restore(from: input) {
      try require(account.plaintext == input, "the columns of an account have a second form")
    }
  }

  /// The verification of the audit log finds every change of its rows, and nothing in an unchanged
  /// log.
  ///
  /// Each change has three bytes: its kind, a row and a value.
  static let auditRows = FuzzTarget("audit-rows", maxBytes: 96) { input in
    let log = try SampleLog()
    var rows = log.rows
    var changes = input[...]
    while changes.count >= 3, !rows.isEmpty {
      let change = Array(changes.prefix(3))
      changes = changes.dropFirst(3)
      SampleLog.change(&rows, change[0], at: Int(change[1]) % rows.count, change[2])
    }
    // The number is the primary key of the table, so the last row with a number replaces others.
    let byNumber = Dictionary(rows.map { ($0.n, $0) }) { _, last in last }
    let stored = byNumber.values.sorted { $0.n < $1.n }
    let report = log.verified(stored)
    let isUnchanged = stored.map(\.hash) == log.rows.map(\.hash)
    try require(
      report.findings.isEmpty == isUnchanged,
      isUnchanged ? "findings in an unchanged log: \(report)" : "a change is not found")
    for finding in report.findings { try requireShowable(finding.message, "the finding") }
  }
}

/// Rows of the store, and a sealer with a fixed key.
enum SampleRows {
  static let now = Timestamp(milliseconds: 1_700_000_000_123)
  static let owner = Owner(realm: "host", uid: 1000, client: "till")

  static let flow = FlowRow(
    id: FlowID("flw_1"), owner: owner, provider: ProviderName("work"), kind: "login",
    status: "active", revision: 3, state: "challenged", createdAt: now, updatedAt: now,
    expiresAt: now, requestID: "req-1", key: nil, payload: SealedPayload(Array("flow".utf8)))

  static let account = AccountRow(
    id: AccountID("acc_1"), owner: owner, provider: ProviderName("work"), subject: "person-1",
    payload: SealedPayload(Array("account".utf8)))

  static let token = TokenRow(
    account: account.id, audience: "", scope: "openid", expiresAt: now, status: "live",
    payload: SealedPayload(Array("token".utf8)))

  static func sealer() throws -> Sealer {
    try Sealer(
      dataKey: SymmetricKey(data: Array(repeating: 7 as UInt8, count: 32)),
      keyStorage: { FixedKey(bytes: Array($0)) }, entropy: CountedEntropy())
  }
}

/// A key in ordinary memory.
struct FixedKey: HeldKey {
  let bytes: [UInt8]

  func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.span.bytes.withUnsafeBytes(body)
  }
}

extension Collection<UInt8> {
  /// Returns the bytes after the changes, three bytes for each: the position and the new byte.
  func changed(by changes: [UInt8]) -> [UInt8] {
    var changed = Array(self)
    for start in stride(from: 0, to: changes.count - changes.count % 3, by: 3) {
      let place = Int(changes[start]) << 8 | Int(changes[start + 1])
      changed[place % changed.count] = changes[start + 2]
    }
    return changed
  }
}

/// A short audit log, whose rows can be changed as something other than usherd could.
private struct SampleLog {
  let rows: [StoredAuditRow]
  private let head: AuditHead
  private let sealer: Sealer

  init() throws {
    sealer = try SampleRows.sealer()
    var head = AuditHead(begunAt: SampleRows.now)
    var rows: [StoredAuditRow] = []
    for number in 1...5 as ClosedRange<Int64> {
      let row = ChainedRow(
        n: number, at: SampleRows.now, before: head.hash,
        payload: SealedPayload(Array("row \(number)".utf8)))
      let stored = try StoredAuditRow(row, by: sealer)
      (head.last, head.hash) = (number, stored.hash)
      rows.append(stored)
    }
    self.rows = rows
    self.head = head
  }

  static func change(_ rows: inout [StoredAuditRow], _ kind: UInt8, at index: Int, _ value: UInt8) {
    let row = rows[index]
    func replace(
      n: Int64? = nil, at: Timestamp? = nil, sealed: Data? = nil, before: Data? = nil
    ) -> StoredAuditRow {
      StoredAuditRow(
        n: n ?? row.n, at: at ?? row.at, sealed: sealed ?? row.sealed, before: before ?? row.before)
    }
    let changes = [value >> 4, value, value]
    switch kind % 7 {
    case 0: rows.remove(at: index)
    case 1: rows[index] = replace(n: Int64(value) - 4)
    case 2: rows[index] = replace(at: SampleRows.now + .milliseconds(Int(value)))
    case 3: rows[index] = replace(sealed: Data(row.sealed.changed(by: changes)))
    case 4: rows[index] = replace(before: Data(row.before.changed(by: changes)))
    case 5:
      let other = rows[Int(value) % rows.count]
      rows[index] = replace(at: other.at, sealed: other.sealed, before: other.before)
    default: rows.append(replace(n: Int64(value) - 4))
    }
  }

  /// Verifies the rows as the audit log does, with several reads.
  func verified(_ stored: [StoredAuditRow]) -> AuditReport {
    let state = AuditVerifier.StoredState(
      head: .head(head), earlier: stored.map(\.n).filter { $0 < head.first },
      later: stored.map(\.n).filter { $0 > head.last })
    var verifier = AuditVerifier(head, sealer, state)
    while let span = verifier.remaining {
      verifier.process(Array(stored.filter { span.contains($0.n) }.prefix(2)))
    }
    return verifier.report
  }
}
