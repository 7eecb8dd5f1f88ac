import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Access rules under a booted systemd", .mayBlock, .timeLimit(.minutes(10)), .serialized,
  .enabled(
    if: BootedSystem.obstacle == nil,
    "NOT TESTED: no systemd can be booted here: \(BootedSystem.obstacle ?? "")"))
struct AccessTests {
  @Test(
    "a caller gets the answer that Access.md states, by the rule that it states",
    arguments: AccessPage.rows,
    AccessFixture.Kernel.allCases)
  func row(row: AccessPage.Row, kernel: AccessFixture.Kernel) throws {
    let fixture = try AccessFixture.on(kernel)
    let (method, params) = try fixture.parameters(of: row.call)
    let caller = try fixture.client(row.who)
    let before = try fixture.lastAudited()
    let answer = try caller.answer(to: method, params)
    #expect(answer == row.answer)
    let isAudited = ["token.get", "flow.start", "account.get", "account.forget"].contains(method)
    if isAudited || answer == "permission_denied" {
      try fixture.awaitAudit(of: method, rule: row.rule, after: before)
    }
  }

  @Test(
    "an audit row names the caller's unit, invocation id, process and executable",
    arguments: AccessFixture.Kernel.allCases)
  func audited(kernel: AccessFixture.Kernel) throws {
    let fixture = try AccessFixture.on(kernel)
    var starts: [String] = []
    for attempt in 1...2 {
      let unit = "audited.service"
      let caller = try fixture.service(
        unit, "--uid=usherd", program: AccessFixture.tools + "tool")()
      let before = try fixture.lastAudited()
      #expect(try caller.answer(to: "flow.list", [:]) == "permission_denied")
      try fixture.awaitAudit(of: "flow.list", rule: "tool", after: before)
      let row = try #require(try fixture.audited(after: before).last)
      #expect(row["unit"] == .string(unit), "\(attempt)")
      #expect(row["executable"] == .string(AccessFixture.tools + "tool"))
      #expect(row["pid"] == .integer(Int64(try fixture.mainProcess(of: unit))))
      let start = try fixture.system.property("InvocationID", of: unit)
      #expect(row["invocation"] == .string(start))
      starts.append(start)
      try fixture.system.run("systemctl", "stop", unit)
    }
    #expect(starts[0] != starts[1] && starts[0].count == 32)
  }

  @Test("an account of another owner gets the same error as an account that does not exist")
  func sameWords() throws {
    let fixture = try AccessFixture.on(.current)
    let stranger = try fixture.client("stranger.service")
    let desks = try fixture.desksAccount()
    for method in ["account.get", "account.forget", "token.get", "token.revoke"] {
      let said = try [desks, AccessFixture.nobodysAccount].map { id in
        var error = try stranger.error(of: method, ["account": .string(id)])
        error["data"]?["correlationId"] = nil
        return String(decoding: error.encoded(), as: UTF8.self).replacing(id, with: "ID")
      }
      #expect(said[0] == said[1])
      #expect(said[0].contains("not_found"), "\(method)")
    }
  }

  @Test("Access.md has a table of callers, and a rule for each rule name in the table")
  func page() {
    #expect(AccessPage.rows.count > 30)
    for row in AccessPage.rows where !row.rule.hasPrefix("(") {
      #expect(AccessPage.config.contains("name = \"\(row.rule)\""), "\(row.rule)")
    }
  }

  @Test("system.status tells whether usherd identifies callers by pid or by pidfd")
  func status() throws {
    let old = try AccessFixture.on(.older).admin().call("system.status")
    #expect(old["peerIdentity"] == "pid")
    let current = try AccessFixture.on(.current).admin().call("system.status")
    #expect(["pid", "pidfd"].contains(current["peerIdentity"]?.stringValue))
  }

  @Test(
    "a connection of an ended process does not get the rule of the process that reuses its number",
    .enabled(
      if: Self.kernelKnowsPeers, "NOT TESTED: this kernel does not hand out who connected"))
  func sameUser() throws {
    let fixture = try AccessFixture.on(.current)
    let left = try fixture.leftConnection(of: "till", successor: "till.service", user: "till")()
    #expect(try left.answer(to: "account.list", [:]) == "permission_denied")
    #expect(try fixture.client("till.service").answer(to: "account.list", [:]) == "ok")
  }

  private static let kernelKnowsPeers: Bool = {
    let status = try? AccessFixture.on(.current).admin().call("system.status")
    return status?["peerIdentity"] == "pidfd"
  }()
}

extension RawClient {
  /// Returns the daemon's answer in the words of Access.md.
  fileprivate func answer(to method: String, _ params: JSONValue) throws -> String {
    let reply = try reply(to: method, params)
    guard let data = reply["error"]?["data"] else {
      let members = reply["result"]?["account"]?["profile"]?.objectValue?.map(\.key) ?? []
      let known = members.filter { ["email", "name"].contains($0) }.sorted()
      return known.isEmpty ? "ok" : "ok, with \(known.joined(separator: ", "))"
    }
    let reason = data["reason"]?.stringValue ?? "no reason"
    if data["confirmation"] != nil { return "\(reason), a question" }
    guard let next = data["next"]?["params"], let provider = next["provider"]?.stringValue,
      let kind = next["kind"]?.stringValue
    else { return reason }
    return "\(reason), \(provider)/\(kind)"
  }
}

extension AccessFixture {
  /// Returns the number of the last audit row.
  fileprivate func lastAudited() throws -> Int64 {
    var last: Int64 = 0
    while let n = try audited(after: last).last?["n"]?.integerValue { last = n }
    return last
  }

  /// Waits for the audit row of a call that this rule has decided.
  fileprivate func awaitAudit(of method: String, rule: String, after row: Int64) throws {
    var rows: [JSONValue] = []
    do {
      try eventually("") {
        rows = try audited(after: row)
        return rows.contains {
          $0["method"] == .string(method) && $0["rule"] == .string(rule)
        }
      }
    } catch {
      let known = rows.map { String(decoding: $0.encoded(), as: UTF8.self) }
      Issue.record("the audit log has no \(method) by rule \(rule): \(known)")
    }
  }

  fileprivate func audited(after row: Int64) throws -> [JSONValue] {
    try admin().call("audit.list", ["after": .integer(row), "limit": 1000])["rows"]?.arrayValue
      ?? []
  }
}
