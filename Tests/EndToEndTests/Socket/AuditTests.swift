import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The audit log holds a row for each audited call, and `usherctl audit verify` finds changed rows.
@Suite("Rows of the audit log and tampering with them", .mayBlock, .timeLimit(.minutes(10)))
struct AuditTests {
  private let sandbox: SandboxUnderTest
  private let clock: MovableClock
  private let daemon: DaemonUnderTest
  private let till: RawClient
  private let admin: RawClient

  init() throws {
    sandbox = try SandboxUnderTest()
    clock = MovableClock()
    daemon = try DaemonUnderTest(
      config: """
        \(sandbox.provider())
        [[client]]
        name = "till"
        match = { user = \(getuid()) }
        allow = [
          "flow.*", "token.get demo", "token.list", "account.get demo", "account.forget demo",
          "provider.*",
        ]
        """, clock: clock)
    till = try daemon.client()
    admin = try daemon.admin()
  }

  /// The columns of an audit row that these tests compare.
  private struct Line: Equatable, CustomTestStringConvertible {
    var method: String
    var outcome = "ok"
    var decision = "allowed"
    var rule = "till"
    var count: Int64 = 1

    var testDescription: String { "\(method) \(decision) by \(rule): \(outcome) ×\(count)" }
  }

  private func rows(_ filter: JSONValue = [:]) throws -> [JSONValue] {
    var params = filter
    params["limit"] = 1000
    return try admin.call("audit.list", params)["rows"]?.arrayValue ?? []
  }

  private func lines(_ rows: [JSONValue]) -> [Line] {
    rows.map { row in
      func text(_ name: String) -> String { row[name]?.stringValue ?? "" }
      return Line(
        method: text("method"), outcome: text("outcome"), decision: text("decision"),
        rule: text("rule"), count: row["count"]?.integerValue ?? 0)
    }
  }

  /// Sets the stopped clock to second 15 of its next minute.
  private func moveToNextMinute() throws {
    let second = Int64(clock.date.timeIntervalSince1970) % 60
    try clock.set(ahead: clock.ahead + 60 + 15 - second)
  }

  @Test(
    "the audit log records audited calls in order, merges repeats within a minute and omits list calls"
  )
  func day() throws {
    clock.stop()
    try moveToNextMinute()
    _ = try admin.call("credential.set", ["name": "spare", "value": "CANARY-value"])
    let flow = try till.signIn()
    let account = try #require(flow["result"]?["account"]?.stringValue)
    let token: JSONValue = ["provider": "demo"]
    for _ in 0..<5 { _ = try till.call("token.get", token) }
    try moveToNextMinute()
    let given = try till.call("token.get", token)
    let revoke = try till.error(of: "token.revoke", ["account": .string(account)])
    let unknown = try till.error(of: "account.get", ["account": "acc_nobody"])
    // Allowed list calls are not audited.
    _ = try till.call("token.list")
    _ = try till.call("provider.list")
    _ = try till.call("flow.list")
    let list = try till.error(of: "consent.list")
    try moveToNextMinute()
    _ = try till.call("account.forget", ["account": .string(account)])
    let gone = try till.error(of: "token.get", token)
    _ = try admin.call("credential.delete", ["name": "spare"])

    let rows = try rows()
    let expected = [
      Line(method: "credential.set", rule: "(admin)"),
      Line(method: "flow.start"),
      Line(method: "token.get"),
      Line(method: "token.get", count: 4),
      Line(method: "token.get"),
      Line(method: "token.revoke", outcome: "permission_denied", decision: "denied"),
      Line(method: "account.get", outcome: "not_found"),
      Line(method: "consent.list", outcome: "permission_denied", decision: "denied"),
      Line(method: "account.forget"),
      Line(method: "token.get", outcome: gone["data"]?["reason"]?.stringValue ?? ""),
      Line(method: "credential.delete", rule: "(admin)"),
    ]
    #expect(lines(rows) == expected)
    #expect(rows.map { $0["n"]?.integerValue } == (1...Int64(rows.count)).map { $0 })
    try #require(rows.count == expected.count)
    for row in rows {
      #expect(row["uid"] == .integer(Int64(getuid())))
      #expect(row["pid"] == .integer(Int64(getpid())))
    }
    #expect(rows[1]["flow"] == flow["id"])
    #expect(rows[1]["kind"] == "authorize")
    #expect(rows[2]["account"] == .string(account))
    #expect(rows[2]["scope"] == given["scope"])
    #expect(rows[2]["client"] == "till")
    for (row, error) in [(5, revoke), (6, unknown), (7, list), (9, gone)] {
      #expect(rows[row]["correlationId"] != nil)
      #expect(rows[row]["correlationId"] == error["data"]?["correlationId"])
    }
    #expect(rows[5]["account"] == .string(account))
    let times = rows.compactMap { $0["at"]?.stringValue }
    #expect(times == times.sorted())
    for file in daemon.place.everything() where file.name.hasPrefix("state/") {
      #expect(file.bytes.range(of: Data("token.revoke".utf8)) == nil, "\(file.name)")
    }
  }

  @Test("usherctl audit lists rows and filters them; the app socket has no audit methods")
  func usherctl() throws {
    try till.signIn()
    _ = try till.error(of: "token.revoke", ["provider": "demo"])
    let all = try daemon.usherctl(["audit", "--since", "1h"])
    #expect(all.status == 0)
    #expect(all.output.split(separator: "\n").count == 3)
    let denied = try daemon.usherctl(["audit", "--since", "1h", "--denied", "--client", "till"])
    #expect(denied.output.split(separator: "\n").count == 2)
    #expect(denied.output.contains("token.revoke"))
    #expect(denied.output.contains("permission_denied"))
    let nothing = try daemon.usherctl(["audit", "--until", "1h"])
    #expect(nothing.errors == "no such calls\n")
    #expect(try till.reason(of: "audit.list") == "method_not_found")
    #expect(try till.reason(of: "audit.verify") == "method_not_found")
  }

  // MARK: Tampering with the database

  /// Writes ten rows of denied calls, and expects that they verify.
  private func tenRows() throws {
    for _ in 0..<10 { _ = try till.error(of: "consent.list") }
    #expect(try rows().count == 10)
    try expectWhole(rows: "1 to 10")
  }

  private func tamper(_ sql: String) throws {
    let done = try run(
      "/usr/bin/sqlite3", ["-cmd", ".timeout 5000", "\(daemon.statePath)/usherd.db", sql])
    try #require(done.status == 0, "\(done.errors)")
  }

  private func expectWhole(rows: String? = nil) throws {
    let verified = try daemon.usherctl(["audit", "verify"])
    #expect(verified.status == 0, "\(verified.output) \(verified.errors)")
    #expect(verified.output.hasPrefix("ok: "))
    if let rows { #expect(verified.output.contains("rows \(rows),")) }
  }

  private func expectFinding(_ words: String, at location: SourceLocation = #_sourceLocation) throws
  {
    let verified = try daemon.usherctl(["audit", "verify"])
    #expect(verified.status == 1, sourceLocation: location)
    let lines = verified.output.split(separator: "\n")
    #expect(lines.count == 2 && lines.first == words[...], "\(verified.output)")
    #expect(verified.output.contains("FAILED: "), sourceLocation: location)
  }

  @Test(
    "usherctl audit verify finds a deleted, altered, copied or cut-off row, before and after a restart",
    arguments: [
      ("DELETE FROM audit WHERE n = 5", "row 5 is missing"),
      (
        "DELETE FROM audit WHERE n > 8",
        "rows 9 to 10 are missing, and the end of the log is cut off"
      ),
      (
        "UPDATE audit SET sealed = (SELECT sealed FROM audit WHERE n = 4) WHERE n = 5",
        "row 5 was altered: it cannot be decrypted"
      ),
      (
        "UPDATE audit SET at = at - 3600000 WHERE n = 5",
        "row 5 was altered: it cannot be decrypted"
      ),
    ])
  func tampered(_ sql: String, finding: String) throws {
    try tenRows()
    try tamper(sql)
    try expectFinding(finding)
    try daemon.restart()
    try expectFinding(finding)
  }
}
