import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// A connection may repeat a cached reply only while a first call would get the same reply.
@Suite("Cached replies", .timeLimit(.minutes(10)))
struct CachedReplyTests {
  private let staged: ConnectionHarness

  init() async throws { staged = try await ConnectionHarness() }

  private static let call = CallLine.line("token.get", #"{"provider":"work"}"#)

  private func reason(_ answer: String) throws -> String {
    let reply = try JSONValue(parsing: answer.replacing(",}", with: "}").replacing("{,", with: "{"))
    return reply["error"]?["data"]?["reason"]?.stringValue
      ?? reply["result"]?["accessToken"]?.stringValue ?? "none"
  }

  /// A connection that has received its token ten times.
  private func warm() async throws -> HarnessConnection {
    let connection = try await staged.connect()
    for _ in 1...10 { _ = try await connection.answer(Self.call) }
    return connection
  }

  // MARK: Expiry

  @Test(
    "token.get returns a cached token without refresh token until it expires, to the millisecond")
  func lastMoment() async throws {
    let end = staged.clock.now() + .seconds(1000)
    try await staged.signIn(.sample(tokens: .sample(refreshToken: nil, expiresAt: end)))
    let connection = try await warm()
    let lines = [86_400, 400, 60, 0].map {
      CallLine.line("token.get", #"{"provider":"work","minValidSeconds":\#($0)}"#)
    }
    for _ in 1...2 {
      // The second round repeats the calls after the clock is set back.
      for left in [1000, 500, 400, 60] {
        staged.clock.time = end - .seconds(left)
        for line in lines { #expect(try reason(await connection.answer(line)) == "access-1") }
      }
      staged.clock.time = end - .milliseconds(1)
      for line in lines { #expect(try reason(await connection.answer(line)) == "access-1") }
      staged.clock.time = end
      #expect(try reason(await connection.answer(lines[3])) == "access-1")
      staged.clock.time = end + .milliseconds(1)
      for line in lines {
        #expect(try reason(await connection.answer(line)) == "reauthentication_required")
      }
    }
    await staged.end()
  }

  @Test("a cached reply ends with the consent, to the millisecond, although the token is valid")
  func consent() async throws {
    let end = staged.clock.now() + .seconds(100)
    try await staged.signIn(
      .consented(
        ["email": "a@x.example"], until: end, tokens: .sample(scope: "read.email")))
    let connection = try await warm()
    staged.clock.time = end - .milliseconds(1)
    #expect(try reason(await connection.answer(Self.call)) == "access-1")
    staged.clock.time = end
    #expect(try reason(await connection.answer(Self.call)) == "consent_required")
    staged.clock.time = end - .milliseconds(1)
    #expect(try reason(await connection.answer(Self.call)) == "access-1")
    _ = try await staged.lockController.services().consents.revoke(
      ConsentRevoke(provider: .work), .program())
    #expect(try reason(await connection.answer(Self.call)) == "consent_required")
    await staged.end()
  }

  @Test("the hours of a client rule apply to the minute, also on a connection with cached replies")
  func hours() async throws {
    try await staged.signIn()
    // 2027-01-15T08:00:00Z in any local time zone.
    let now = WeekMinute(staged.clock.now(), by: staged.clock)
    let minutes = (0...2).map { now.minute % 1440 + $0 * 60 }.map { $0 % 1440 }
    let times = minutes.map { minute in
      let digits = [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
      return digits.joined(separator: ":")
    }
    try staged.rule {
      $0.hours = [try OpeningHours(setting: "Mon-Sun \(times[0])-\(times[1])")]
    }
    let connection = try await warm()
    #expect(try reason(await connection.answer(Self.call)) == "access-1")
    staged.clock.advance(by: .seconds(3600) - .milliseconds(1))
    #expect(try reason(await connection.answer(Self.call)) == "access-1")
    staged.clock.advance(by: .milliseconds(1))
    #expect(try reason(await connection.answer(Self.call)) == "permission_denied")
    staged.clock.advance(by: .seconds(23 * 3600))
    #expect(try reason(await connection.answer(Self.call)) == "access-1")
    await staged.end()
  }

  // MARK: Audit

  @Test("cached replies are refused while the audit is full, and returned again once it is written")
  func auditIsFull() async throws {
    try await staged.signIn()
    let connection = try await warm()
    let audit = try staged.lockController.services().audit
    for user in 0..<70 {
      let caller = AuditedCaller(client: "(user)", uid: UInt32(5000 + user), gid: 0, pid: 1)
      for _ in 0..<60 { audit.record(.denied("flow.list"), by: caller) }
    }
    for _ in 1...3 {
      #expect(try reason(await connection.answer(Self.call)) == "storage_unavailable")
    }
    // The first `audited()` writes the waiting rows; the second one counts the calls of the minute.
    _ = try await staged.audited()
    #expect(try await staged.audited() == 10, "refused calls are not counted")
    #expect(try reason(await connection.answer(Self.call)) == "access-1")
    #expect(try await staged.audited() == 11)
    await staged.end()
  }

  @Test("1000 pipelined calls around the end of a minute are counted completely in the audit rows")
  func thousand() async throws {
    try await staged.signIn()
    let connections = [
      try await staged.connect(), try await staged.connect(), try await staged.connect(),
    ]
    // Eight seconds before the end of the minute.
    staged.clock.advance(by: .seconds(52))
    for (number, count) in [100, 250, 150].enumerated() {
      let calls = [UInt8](String(repeating: Self.call + "\n", count: count).utf8)
      #expect(try await connections[number].answers(count, to: [calls]).count == count)
    }
    let calls = [UInt8](String(repeating: Self.call + "\n", count: 50).utf8)
    for _ in 1...10 {
      staged.clock.advance(by: .seconds(1))
      #expect(try await connections[0].answers(50, to: [calls]).count == 50)
    }
    #expect(try await staged.audited() == 1000)
    let rows = try await staged.lockController.services().audits.list(
      AuditList(method: TokenGet.name)
    ).rows
    #expect(rows.map(\.count) == [1, 499 + 7 * 50, 1, 3 * 50 - 1], "\(rows)")
    await staged.end()
  }

  @Test("a stopping daemon answers shutting_down instead of a cached reply")
  func draining() async throws {
    try await staged.signIn()
    let connection = try await warm()
    staged.service.drain()
    #expect(try reason(await connection.answer(Self.call)) == "shutting_down")
    #expect(try await staged.audited() == 10)
    await staged.end()
  }
}
