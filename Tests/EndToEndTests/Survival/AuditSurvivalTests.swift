import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The audit log verifies wherever the daemon dies, and no token is returned without an audit row.
@Suite(
  "Audit log across deaths and a full disk", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct AuditSurvivalTests {
  private let rule = """
    [[client]]
    name = "till"
    match = { user = \(getuid()) }
    allow = ["flow.*", "token.get"]

    """

  private func rows(_ daemon: DaemonUnderTest) throws -> [JSONValue] {
    let admin = try daemon.admin()
    var rows: [JSONValue] = []
    var after: Int64? = 0
    while let number = after {
      let reply = try admin.call("audit.list", ["after": .integer(number), "limit": 1000])
      rows += reply["rows"]?.arrayValue ?? []
      after = reply["next"]?.integerValue
    }
    return rows
  }

  private func checkWhole(_ daemon: DaemonUnderTest) throws {
    let verified = try daemon.usherctl(["audit", "verify"])
    try must(verified.status == 0, "\(verified.output) \(verified.errors)")
  }

  @Test("repeated kill -9 between calls leaves no gap in the audit log and loses no known row")
  func killed() throws {
    let daemon = try DaemonUnderTest(config: rule)
    var known: Int64 = 0
    for round in 1...8 {
      let client = try daemon.client()
      for number in 0..<50 * round {
        try client.send(#"{"jsonrpc":"2.0","id":\#(number),"method":"consent.list"}"#)
      }
      try eventually("the daemon answers a call") { try client.receive() != nil }
      try daemon.restart()
      try checkWhole(daemon)
      let rows = try rows(daemon)
      let numbers = rows.compactMap { $0["n"]?.integerValue }
      try must(
        numbers == (0..<rows.count).map { Int64($0 + 1) },
        "the audit rows are not numbered without gaps: \(numbers)")
      try must(
        Int64(rows.count) >= known, "audit rows were lost: \(rows.count) instead of \(known)")
      known = Int64(rows.count)
    }
  }

  @Test(
    "the audit log verifies and continues after usherd died just before or after committing a row",
    arguments: [("audit.before-commit", 1), ("audit.after-commit", 2)])
  func failPoint(_ point: String, rows expected: Int) throws {
    let daemon = try DaemonUnderTest(config: rule)
    _ = try daemon.client().error(of: "consent.list")
    #expect(try rows(daemon).count == 1)
    try daemon.restart(environment: ["USHER_FAILPOINT": "\(point):1"])
    _ = try? daemon.client().error(of: "consent.list")
    #expect(try daemon.exitStatus() == -SIGKILL)
    try daemon.start(environment: ["USHER_FAILPOINT": ""])
    try checkWhole(daemon)
    #expect(try rows(daemon).count == expected)
    _ = try daemon.client().error(of: "consent.list")
    #expect(try rows(daemon).count == expected + 1)
    try checkWhole(daemon)
  }

  @Test(
    "on a full disk token.get works until 4096 audit rows wait; with room again all are written")
  func fullDisk() throws {
    let sandbox = try SandboxUnderTest()
    try sandbox.control("POST", "settings", ["accessTokenSeconds": 86_400])
    let clock = MovableClock()
    let place = try TemporaryDirectory()
    let disk = try SmallDisk(in: place, megabytes: 32)
    let daemon = try DaemonUnderTest(
      config: rule + sandbox.provider(), clock: clock, launcher: disk.launcher,
      at: place)
    let client = try daemon.client()
    try client.signIn()
    let token = try client.call("token.get", ["provider": "demo"])
    try disk.fill()
    #expect(try client.call("token.get", ["provider": "demo"]) == token)
    // A user's first 60 failures a minute get a row each: make them until 4096 rows wait.
    var denied: Int64 = 0
    for minute in 1...70 {
      try clock.set(ahead: Int64(minute) * 60)
      for _ in 0..<60 {
        #expect(try client.reason(of: "consent.list") == "permission_denied")
        denied += 1
      }
    }
    let error = try client.error(of: "token.get", ["provider": "demo"])
    #expect(error["data"]?["reason"] == "storage_unavailable")
    #expect(error["data"]?["retryable"] == true)
    #expect(
      error["message"] == "the audit log cannot be written, so the call is refused")
    // Calls that are audited only if they are denied still succeed.
    #expect(try client.call("flow.list")["flows"]?.arrayValue?.count == 1)
    #expect(daemon.log.contains("the audit log cannot be written"))
    try disk.empty()
    try eventually("token.get succeeds after space on the disk was freed") {
      try client.reply(to: "token.get", ["provider": "demo"])["result"] == token
    }
    try daemon.stop()
    try daemon.start()
    try checkWhole(daemon)
    let counts = try rows(daemon).filter { $0["method"] == "consent.list" }
      .compactMap { $0["count"]?.integerValue }
    #expect(counts.reduce(0, +) == denied)
  }
}
