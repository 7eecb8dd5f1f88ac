import JSONRPC
import Testing
import UsherCommands
import UsherCore

@Suite("usherctl audit", .timeLimit(.minutes(10)))
struct AuditVerbTests {
  private static let row = #"""
    {"n":7,"at":"2030-01-01T00:00:00Z","method":"token.get","provider":"work","account":"acc_1",\#
    "scope":"openid","decision":"allowed","rule":"till","conditions":{"local_auth":true,\#
    "confirm":false},"outcome":"interaction_required","client":"till","uid":1000,"gid":1000,\#
    "pid":42,"count":3}
    """#
  private static let other = #"""
    {"n":8,"at":"2030-01-01T00:01:00Z","method":"account.get","decision":"denied",\#
    "fields":["email","phone"],"rule":"(user)\u001b[2J","outcome":"not_found","client":"(user)",\#
    "uid":1001,"gid":1001,"pid":43,"count":1}
    """#

  private func audit(_ line: String, asking exchanges: [Exchange]) async throws -> Outcome {
    try await usherctl(
      line, asking: exchanges, sockets: ["USHER_SOCKET", "USHER_ADMIN_SOCKET"])
  }

  @Test(
    "usherctl audit prints a table without control characters", arguments: ["audit", "audit list"])
  func list(_ line: String) async throws {
    let outcome = try await audit(
      line,
      asking: [
        .ask("audit.list", ["limit": 1000], #"{"rows":[\#(Self.row),\#(Self.other)]}"#)
      ])
    #expect(
      outcome.output == """
        ROW  AT                    CLIENT  UID   PID  METHOD       ABOUT       GIVEN        DECISION  BY                             OUTCOME               CALLS
        7    2030-01-01T00:00:00Z  till    1000  42   token.get    work acc_1  openid       allowed   till, not confirm, local_auth  interaction_required  3
        8    2030-01-01T00:01:00Z  (user)  1001  43   account.get  -           email,phone  denied    (user)\u{FFFD}[2J                     not_found             1

        """)
    #expect(outcome.error == "")
    #expect(outcome.status == 0)
  }

  @Test("usherctl audit sends its filters to the daemon and fetches every page")
  func filters() async throws {
    let params: JSONValue = [
      "since": "2030-01-01T08:00:00Z", "until": "2030-01-01T10:00:00Z", "denied": true,
      "client": "till", "uid": 1000, "account": "acc_1", "method": "token.get",
      "provider": "work", "limit": 1000,
    ]
    var second = params
    second["after"] = 7
    let outcome = try await audit(
      "audit --since 2030-01-01T08:00:00Z --until 2030-01-01T10:00:00Z --denied --client till "
        + "--uid 1000 --account acc_1 --method token.get --provider work",
      asking: [
        .ask("audit.list", params, #"{"rows":[\#(Self.row)],"next":7}"#),
        .ask("audit.list", second, #"{"rows":[]}"#),
      ])
    #expect(outcome.output.contains("interaction_required"))
    #expect(outcome.error == "")
  }

  @Test(
    "usherctl audit --since accepts an age in seconds, minutes, hours, days or weeks",
    arguments: [("90s", 90), ("15m", 900), ("1h", 3600), ("2d", 172_800), ("1w", 604_800)])
  func ago(_ since: String, seconds: Int64) async throws {
    let time = TestTime()
    let moment = time.now() - Duration.seconds(seconds)
    let outcome = try await usherctl(
      "audit --since \(since)", time: time,
      asking: [
        .ask(
          "audit.list",
          ["since": .string("\(moment)"), "limit": 1000],
          #"{"rows":[]}"#)
      ], sockets: ["USHER_ADMIN_SOCKET"])
    #expect(outcome.error == "no such calls\n")
    #expect(outcome.output == "")
    #expect(outcome.status == 0)
  }

  @Test("usherctl audit --limit ends the list after that many rows, across several pages")
  func limit() async throws {
    let outcome = try await audit(
      "audit --limit 2",
      asking: [
        .ask("audit.list", ["limit": 2], #"{"rows":[\#(Self.row)],"next":7}"#),
        .ask("audit.list", ["limit": 1, "after": 7], #"{"rows":[\#(Self.other)],"next":8}"#),
      ])
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("not_found"))
  }

  @Test("usherctl audit --json prints each reply of the daemon as one line")
  func json() async throws {
    let first = #"{"rows":[\#(Self.row)],"next":7}"#
    let outcome = try await audit(
      "audit --json",
      asking: [
        .ask("audit.list", ["limit": 1000], first),
        .ask("audit.list", ["limit": 1000, "after": 7], #"{"rows":[]}"#),
      ])
    #expect(outcome.output == first + "\n" + #"{"rows":[]}"# + "\n")
    #expect(outcome.error == "")
  }

  @Test("usherctl audit names the rows that cannot be decrypted")
  func unreadable() async throws {
    let outcome = try await audit(
      "audit",
      asking: [
        .ask("audit.list", ["limit": 1000], #"{"rows":[\#(Self.row)],"unreadable":[8]}"#)
      ])
    #expect(outcome.error == "row 8 cannot be decrypted; run: usherctl audit verify\n")
  }

  @Test(
    "usherctl audit exits with 64 for an invalid time or number of rows",
    arguments: [
      "audit --since yesterday", "audit --since 1", "audit --since -1h", "audit --since 1y",
      "audit --until h", "audit --since 99999999999s", "audit --limit 0", "audit --limit -3",
    ])
  func mistakes(_ line: String) async {
    #expect(await usherctl(line).status == 64)
  }

  @Test("usherctl audit verify reports an intact log with its first and last row")
  func whole() async throws {
    let outcome = try await audit(
      "audit verify",
      asking: [
        .ask(
          "audit.verify",
          #"""
          {"whole":true,"first":3,"last":9,"begunAt":"2030-01-01T00:00:00Z","findings":[]}
          """#)
      ])
    #expect(outcome.output == "ok: rows 3 to 9, begun at 2030-01-01T00:00:00Z\n")
    #expect(outcome.status == 0)
  }

  @Test("usherctl audit verify exits with 1 and lists the faults of a damaged log")
  func broken() async throws {
    let reply = #"""
      {"whole":false,"begunAt":"2030-01-01T00:00:00Z","findings":[{"n":4,\#
      "message":"row 4 is missing"},{"message":"the log's end record is missing"}]}
      """#
    let outcome = try await audit("audit verify", asking: [.ask("audit.verify", reply)])
    #expect(
      outcome.output == """
        row 4 is missing
        the log's end record is missing
        FAILED: no rows, begun at 2030-01-01T00:00:00Z

        """)
    #expect(outcome.status == 1)
    let json = try await audit("audit verify --json", asking: [.ask("audit.verify", reply)])
    #expect(json.output == reply + "\n")
    #expect(json.status == 1)
  }
}
