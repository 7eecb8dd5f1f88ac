import UsherAPI
import UsherCore
import UsherStore

/// Implementation of `audit.list` and `audit.verify`.
struct AuditService: Sendable {
  static let defaultLimit = 100
  static let maxRows = 1000

  let log: AuditLog
  let repository: AuditRecorder
  /// The number of rows after which a call of `audit.list` stops; it may read a few hundred more.
  var maxScanned = 10_000

  func list(_ call: AuditList) async throws(UsherError) -> AuditList.Reply {
    let limit = call.limit ?? Self.defaultLimit
    guard (1...Self.maxRows).contains(limit) else {
      throw UsherError(.invalidParams, "limit must be from 1 to \(Self.maxRows)", field: "limit")
    }
    let since = call.since ?? .earliest
    guard since <= call.until ?? .latest else { return .init(rows: []) }
    let times = since...(call.until ?? .latest)
    await repository.flush()
    guard let span = try await log.span(of: times) else { return .init(rows: []) }
    var page = AuditPage(call, limit: limit, of: span)
    var scanned = 0
    while let remaining = page.remaining, scanned < maxScanned {
      let slice = try await log.slice(of: remaining, at: times)
      page.append(slice)
      scanned += slice.scanned
    }
    return page.reply
  }

  func verify(_: AuditVerify = .init()) async throws(UsherError) -> AuditVerify.Reply {
    await repository.flush()
    let report = try await log.verify()
    return .init(
      whole: report.findings.isEmpty, first: report.rows.map { Int($0.lowerBound) },
      last: report.rows.map { Int($0.upperBound) }, begunAt: report.begunAt,
      findings: report.findings.map { .init(n: $0.n.flatMap(Self.exact), message: $0.message) })
  }

  /// Returns the number; nil if JSON cannot represent it exactly, which is possible in a row that
  /// something other than the daemon wrote.
  private static func exact(_ n: Int64) -> Int? { n.magnitude < 1 << 53 ? Int(n) : nil }
}

/// The reply to `audit.list` while it is being filled.
private struct AuditPage {
  private let call: AuditList
  private let limit: Int
  private let last: Int64
  private var scanned: Int64
  private var rows: [AuditList.Entry] = []
  private var unreadable: [Int] = []

  init(_ call: AuditList, limit: Int, of span: ClosedRange<Int64>) {
    self.call = call
    self.limit = limit
    last = span.upperBound
    scanned = max(span.lowerBound - 1, Int64(clamping: call.after ?? 0))
  }

  /// The numbers of the rows to read next; nil if the page is full or no rows are left.
  var remaining: ClosedRange<Int64>? {
    rows.count < limit && scanned < last ? scanned + 1...last : nil
  }

  var reply: AuditList.Reply {
    .init(
      rows: rows, unreadable: unreadable.isEmpty ? nil : unreadable,
      next: scanned < last ? Int(scanned) : nil)
  }

  mutating func append(_ slice: AuditSlice) {
    for row in slice.rows {
      // A row that decrypts was written by the daemon, but perhaps by a later version.
      guard let entry = try? AuditList.Entry(row) else {
        unreadable.append(Int(row.n))
        continue
      }
      guard call.matches(entry) else { continue }
      rows.append(entry)
      scanned = row.n
      if rows.count == limit { break }
    }
    if rows.count < limit { scanned = slice.end ?? last }
    unreadable += slice.unreadable.map { Int($0) }.filter { $0 <= scanned }
  }
}

extension AuditList {
  fileprivate func matches(_ entry: Entry) -> Bool {
    func fits<Value: Equatable>(_ asked: Value?, _ value: Value?) -> Bool {
      asked == nil || asked == value
    }
    return fits(client, entry.client) && fits(uid, entry.uid) && fits(account, entry.account)
      && fits(method, entry.method) && fits(provider, entry.provider)
      && fits(denied, entry.decision == .denied)
  }
}
