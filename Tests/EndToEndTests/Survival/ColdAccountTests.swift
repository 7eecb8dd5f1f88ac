import JSONRPC
import Testing
import UsherTestKit

/// Calls for accounts after a start, when no account is in memory.
@Suite("Accounts after a restart", .mayBlock, .timeLimit(.minutes(10)))
struct ColdAccountTests {
  private let sandbox: SandboxUnderTest
  private let clock = MovableClock()
  private let daemon: DaemonUnderTest

  init() throws {
    sandbox = try SandboxUnderTest(clock: clock)
    daemon = try DaemonUnderTest(
      config: """
        [limits]
        accounts_in_memory = 16

        \(sandbox.provider())
        """, clock: clock)
  }

  private func signedIn(_ user: String = "alice") throws -> JSONValue {
    let end = try daemon.client().signIn(user: user)
    guard let account = end["result"]?["account"] else {
      throw TestError("the flow's result has no account: \(end.text)")
    }
    return ["account": account]
  }

  @Test("after a restart the account and token methods return the same replies as before")
  func found() throws {
    let account = try signedIn()
    let calls: [(String, JSONValue?)] = [
      ("token.get", account), ("token.get", ["provider": "demo"]), ("account.get", account),
      ("account.list", [:]), ("account.list", ["provider": "demo"]), ("token.list", account),
      ("token.list", ["provider": "demo"]), ("consent.list", account),
    ]
    let client = try daemon.client()
    let before = try calls.map { try client.call($0, $1) }
    for (index, call) in calls.enumerated() {
      try daemon.restart()
      let (method, params) = call
      let client = try daemon.client()
      // The first call reads the account from the store, the second one from memory.
      for _ in 0..<2 { #expect(try client.call(method, params) == before[index], "\(method)") }
    }
  }

  @Test("after a restart 20 simultaneous token.get calls refresh an expired token only once")
  func refreshed() throws {
    try sandbox.control("POST", "settings", ["accessTokenSeconds": 300])
    let account = try signedIn()
    try clock.advance(by: 301)
    try daemon.restart()
    let before = try sandbox.requests("token", grantType: "refresh_token")
    let clients = try (0..<20).map { _ in try daemon.client() }
    let tokens = try atOnce(0..<20) { try clients[$0].call("token.get", account)["accessToken"] }
    #expect(Set(tokens.map { $0?.stringValue }).count == 1 && tokens.first != nil)
    #expect(try sandbox.requests("token", grantType: "refresh_token") == before + 1)
  }

  @Test(
    "errors, the log and --check-store name a damaged account row, and other accounts still work")
  func damaged() throws {
    let (alice, bob) = (try signedIn(), try signedIn("bob"))
    let id = try #require(alice["account"]?.stringValue)
    #expect(try daemon.stop() == 0)
    let script = """
      import sqlite3, sys
      database = sqlite3.connect(sys.argv[1])
      database.execute("UPDATE accounts SET sealed = zeroblob(64) WHERE id = ?", (sys.argv[2],))
      database.commit()
      """
    let done = try run(
      "/usr/bin/python3", ["-c", script, "\(daemon.statePath)/usherd.db", id])
    #expect(done.status == 0, "\(done.errors)")
    try daemon.start()
    let client = try daemon.client()
    #expect(try client.call("token.get", bob)["accessToken"] != nil)
    let error = try client.error(of: "token.get", alice)
    #expect(error["data"]?["reason"] == "storage_unavailable")
    #expect(error["message"]?.stringValue?.contains("accounts/\(id)") == true)
    #expect(daemon.log.contains("accounts/\(id)"))
    #expect(try daemon.stop() == 0)
    let command = daemon.commandLine + ["--check-store"]
    let check = try run(command[0], Array(command.dropFirst()))
    #expect(check.status == 1 && check.errors.contains("accounts/\(id)"), "\(check)")
  }
}
