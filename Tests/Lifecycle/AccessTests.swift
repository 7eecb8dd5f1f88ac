import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "who gets what, under a booted systemd", .serialized,
  .enabled(
    if: BootedSystem.obstacle == nil,
    "NOT TESTED: no systemd can be booted here: \(BootedSystem.obstacle ?? "")"))
struct AccessTests {
  @Test(
    "each row of the page's table is true", arguments: AccessPage.rows,
    AccessScene.Kernel.allCases)
  func row(row: AccessPage.Row, kernel: AccessScene.Kernel) throws {
    let scene = try AccessScene.on(kernel)
    let answer = try scene.client(row.who).answer(to: row.call)
    #expect(answer == row.answer, "\(scene.system.journal(of: "usherd.service").suffix(2000))")
  }

  @Test("the page has a table, and a rule for each of the names in it")
  func page() {
    #expect(AccessPage.rows.count > 30)
    for row in AccessPage.rows where !row.rule.hasPrefix("(") {
      #expect(AccessPage.config.contains("name = \"\(row.rule)\""), "\(row.rule)")
    }
  }

  @Test("status says how the daemon learns which process calls")
  func status() throws {
    let old = try AccessScene.on(.older).admin().call("system.status")
    #expect(old["peerIdentity"] == "pid")
    let current = try AccessScene.on(.current).admin().call("system.status")
    #expect(["pid", "pidfd"].contains(current["peerIdentity"]?.stringValue))
  }

  @Test(
    "a process of the same user that got the number of who called is not taken for him",
    .enabled(
      if: Self.kernelKnowsPeers, "NOT TESTED: this kernel does not hand out who connected"))
  func sameUser() throws {
    let scene = try AccessScene.on(.current)
    let left = try scene.leftConnection(of: "till", successor: "till.service", user: "till")()
    #expect(try left.answer(to: "account.list") == "permission_denied")
    #expect(try scene.client("till.service").answer(to: "account.list") == "ok")
  }

  private static let kernelKnowsPeers: Bool = {
    let status = try? AccessScene.on(.current).admin().call("system.status")
    return status?["peerIdentity"] == "pidfd"
  }()
}

extension RawClient {
  /// What the daemon says to `METHOD [PROVIDER[/KIND]]`: `ok`, or the reason and the flow that helps.
  func answer(to call: String) throws -> String {
    let words = call.split(separator: " ").map(String.init)
    let about = words.dropFirst().first?.split(separator: "/").map(String.init) ?? []
    var params: JSONValue = [:]
    if let provider = about.first { params["provider"] = .string(provider) }
    if about.count > 1 {
      params["kind"] = .string(about[1])
      params["params"] = [:]
    }
    let reply = try reply(to: words[0], params)
    guard let data = reply["error"]?["data"] else { return "ok" }
    let reason = data["reason"]?.stringValue ?? "no reason"
    guard let next = data["next"]?["params"], let provider = next["provider"]?.stringValue,
      let kind = next["kind"]?.stringValue
    else { return reason }
    return "\(reason), \(provider)/\(kind)"
  }
}
