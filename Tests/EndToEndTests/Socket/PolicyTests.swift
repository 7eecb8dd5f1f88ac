import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite("Agreement of policy.check with real calls", .mayBlock, .timeLimit(.minutes(10)))
struct PolicyTests {
  private let daemon: DaemonUnderTest

  init() throws {
    daemon = try DaemonUnderTest(
      config: """
        \(SilentProvider.config)
        [[client]]
        name = "first"
        match = { user = \(getuid()) }
        allow = ["consent.list"]

        [[client]]
        name = "second"
        match = { user = \(getuid()), group = \(getgid()) }
        allow = ["account.list", "provider.get silent", "token.get silent"]

        """)
  }

  private func check(_ arguments: [String]) throws -> (status: Int32, reply: JSONValue) {
    let outcome = try daemon.usherctl(["policy", "check"] + arguments + ["--json"])
    return (outcome.status, try JSONValue(parsing: Array(outcome.output.utf8)))
  }

  @Test("usherctl policy check predicts whether a call is allowed, and names the rule that decides")
  func agreement() throws {
    let client = try daemon.client()
    for (call, params, rule) in [
      ("consent.list", [:], "first"), ("account.list", [:], "second"),
      ("provider.get silent", ["provider": "silent"], "second"),
      ("token.get silent", ["provider": "silent"], "second"), ("provider.list", [:], nil),
      ("token.list", [:], nil), ("localAuth.status", [:], nil),
      ("system.status", [:], "(everybody)"),
    ] as [(String, JSONValue, String?)] {
      let words = call.split(separator: " ").map(String.init)
      let (status, said) = try check(["--user", "\(getuid())"] + words)
      let reason = try client.reply(to: words[0], params)["error"]?["data"]?["reason"]
      #expect(said["allowed"] == .bool(rule != nil), "\(call)")
      #expect(said["allowed"] == .bool(reason != "permission_denied"), "\(call)")
      #expect(said["rule"] == .string(rule ?? "first"), "\(call)")
      #expect(said["client"] == "first")
      #expect(status == (rule == nil ? 1 : 0), "\(call)")
    }
  }

  @Test(
    "usherctl policy check takes a unit, client or user; policy methods are on the admin socket only"
  )
  func others() throws {
    let nobody = try check(["--unit", "other.service", "token.get", "silent"])
    #expect(nobody.reply["rule"] == "(no rule)")
    #expect(try check(["--client", "second", "token.list"]).reply["rule"] == "first")
    let stray = try daemon.usherctl(["policy", "check", "--user", "no-such-user", "token.get"])
    #expect(
      stray.errors
        == "usherctl: user names \"no-such-user\", which does not exist on this machine\n")
    for method in ["policy.check", "policy.list"] {
      #expect(try daemon.client().reason(of: method) == "method_not_found")
    }
  }

  @Test(
    "usherctl policy show prints file and line of each rule, with and without asking the daemon")
  func show() throws {
    let outcome = try daemon.usherctl(["policy", "show"])
    let file = daemon.place.file("usherd.toml")
    let lines = outcome.output.split(separator: "\n")
    let text = try String(contentsOfFile: file, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    let starts = text.indices.filter { text[$0] == "[[client]]" }.map { $0 + 1 }
    #expect(starts.count == 2)
    for (name, line) in zip(["first", "second"], starts) {
      #expect(lines.contains { $0 == "rule \(name) (\(file):\(line))" }, "\(outcome.output)")
    }
    #expect(lines.contains("  allow  consent.list"))
    let offline = try daemon.usherctl(["policy", "show", "--config", file])
    #expect(offline.output == outcome.output)
  }
}
