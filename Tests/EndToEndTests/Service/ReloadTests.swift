import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Reloads of the configuration, and their effect on calls, connections and flows.
@Suite("Reloading the configuration", .mayBlock, .timeLimit(.minutes(10)))
struct ReloadTests {
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(config: sandbox.provider())
  }

  /// Returns a rule for the user who runs the tests.
  ///
  /// - Parameter allow: The calls that the rule allows.
  private func rule(_ allow: [String]) -> String {
    let list = allow.map { "\"\($0)\"" }.joined(separator: ", ")
    return """
      [[client]]
      name = "test"
      match = { user = \(getuid()) }
      allow = [\(list)]

      """
  }

  /// Replaces the configuration at once: a daemon that is reading it reads the old or the new one.
  private func write(_ config: String) throws {
    let next = try daemon.place.write(config, to: "next")
    try #require(rename(next, daemon.place.file("usherd.toml")) == 0)
  }

  /// Writes a configuration and reloads it.
  ///
  /// - Returns: The problems that the daemon reports.
  @discardableResult
  private func reload(_ config: String) throws -> [JSONValue] {
    try write(config)
    return try daemon.admin().call("system.reload")["problems"]?.arrayValue ?? []
  }

  private func providers() throws -> [String] {
    let list = try daemon.client().call("provider.list")["providers"]?.arrayValue ?? []
    return list.compactMap { $0["name"]?.stringValue }
  }

  @Test(
    "SIGHUP applies a new provider, and after many SIGHUPs the last written file applies",
    .ownProcess)
  func hangUp() throws {
    try write(sandbox.provider() + sandbox.provider("second"))
    kill(daemon.pid, SIGHUP)
    try eventually("the daemon lists the second provider") {
      try providers() == ["demo", "second", "local"]
    }
    let file = daemon.place.file("usherd.toml")
    #expect(daemon.log.contains("notice configured files=\(file)\n"))
    // The configuration applies shortly before the reload is logged.
    try eventually("the reload is logged") {
      daemon.log.contains("notice reloaded clients=0 files=\(file) providers=2 providersChanged=1")
    }
    for number in 0..<20 {
      try write(sandbox.provider() + sandbox.provider("p\(number)"))
      kill(daemon.pid, SIGHUP)
    }
    try eventually("the last configuration applies") {
      try providers() == ["demo", "p19", "local"]
    }
  }

  @Test("usherctl reload reports the same problems as config check, and then changes nothing")
  func wrong() throws {
    let file = daemon.place.file("usherd.toml")
    try write(sandbox.provider("other") + "[log]\nlevel = \"loud\"\n[limits]\nnestings = 3\n")
    let outcome = try daemon.usherctl(["reload"])
    let check = try daemon.usherctl(["config", "check", file])
    #expect(outcome.status == 1 && check.status == 1)
    #expect(outcome.errors == check.errors)
    #expect(outcome.errors.contains("\(file):8:9: log.level: "), "\(outcome.errors)")
    #expect(outcome.errors.contains("limits.nestings"), "\(outcome.errors)")
    #expect(try providers() == ["demo", "local"])
    #expect(
      daemon.log.contains("warning the reload failed; the configuration has not changed problems=2")
    )
    #expect(daemon.log.contains("file=\(file) key=log.level line=8"))
    try write("[[provider]\n")
    #expect(try daemon.usherctl(["reload"]).errors.contains("\(file):1:"))
    try FileManager.default.removeItem(atPath: file)
    let gone = try daemon.usherctl(["reload"])
    #expect(gone.status == 1 && gone.errors == "usherctl: \(file): the file does not exist\n")
    try write(sandbox.provider("other"))
    let mended = try daemon.usherctl(["reload"])
    #expect(mended.status == 0 && mended.errors == "reloaded\n")
    #expect(try providers() == ["other", "local"])
  }

  @Test(
    "a reload follows files added to and removed from conf.d; an unreadable one changes nothing")
  func overlays() throws {
    let folder = daemon.place.file("conf.d")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try daemon.place.write(sandbox.provider("laid"), to: "conf.d/10.toml")
    #expect(try reload(sandbox.provider()).isEmpty)
    #expect(try providers() == ["demo", "laid", "local"])
    try FileManager.default.removeItem(atPath: "\(folder)/10.toml")
    try FileManager.default.createDirectory(
      atPath: "\(folder)/20.toml", withIntermediateDirectories: false)
    #expect(try reload(sandbox.provider()).first?["file"] == .string("\(folder)/20.toml"))
    #expect(try providers() == ["demo", "laid", "local"])
    try FileManager.default.removeItem(atPath: "\(folder)/20.toml")
    // Reading this FIFO would block forever.
    try #require(mkfifo("\(folder)/20.toml", 0o600) == 0)
    #expect(try reload(sandbox.provider()).first?["message"] == "is not a regular file")
    try FileManager.default.removeItem(atPath: "\(folder)/20.toml")
    #expect(try reload(sandbox.provider()).isEmpty)
    #expect(try providers() == ["demo", "local"])
  }

  @Test("system.reload is on the admin socket only, and its outcomes are audited")
  func operators() throws {
    #expect(try daemon.client().reason(of: "system.reload") == "method_not_found")
    #expect(try reload(sandbox.provider()).isEmpty)
    #expect(try reload("x").count == 1)
    let list = try daemon.admin().call("audit.list", ["method": "system.reload"])
    let outcomes = list["rows"]?.arrayValue?.compactMap { $0["outcome"]?.stringValue } ?? []
    #expect(outcomes.sorted() == ["invalid_params", "ok"])
  }

  @Test(
    "after a reload the new rules apply to the next call and the next event of an open connection")
  func openConnection() throws {
    let base = sandbox.provider()
    try reload(rule(["*"]) + base)
    let client = try daemon.client()
    let listener = try daemon.client()
    _ = try listener.call("events.subscribe", ["topics": ["flow"]])
    _ = try client.startFlow()
    #expect(try listener.receive()?["method"] == "events.notify")
    try reload(rule(["account.list", "flow.start", "flow.list"]) + base)
    #expect(try client.reason(of: "token.list") == "permission_denied")
    _ = try client.call("account.list")
    // Earlier events are delivered; then `events.lost` tells the listener that no more will come.
    _ = try client.startFlow()
    var methods: [String] = []
    while methods.last != "events.lost", let next = try listener.receive() {
      methods.append(next["method"]?.stringValue ?? "")
    }
    #expect(methods.last == "events.lost")
    let refusal = try listener.reason(of: "events.subscribe", ["topics": ["flow"]])
    #expect(refusal == "permission_denied")
    try reload(base + rule(["*"]))
    _ = try client.call("token.list")
    _ = try listener.call("events.subscribe", ["topics": ["flow"]])
  }

  @Test(
    "each provider.list sees rules and providers of a single configuration during reloads",
    .ownProcess
  )
  func oneConfiguration() throws {
    func config(_ name: String) -> String {
      rule(["provider.list", "provider.get \(name)"]) + sandbox.provider(name)
    }
    try reload(config("one"))
    let watcher = try daemon.client()
    let batch = (1...20).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"provider.list"}"# }
    for number in 0..<100 {
      try write(config(number.isMultiple(of: 2) ? "two" : "one"))
      kill(daemon.pid, SIGHUP)
      for _ in 1...10 {
        try watcher.send("[\(batch.joined(separator: ","))]")
        for reply in try #require(try watcher.receive()?.arrayValue) {
          let seen = reply["result"]?["providers"]?.arrayValue?.compactMap { $0["name"] }
          #expect(seen == ["one"] || seen == ["two"], "\(reply.text)")
        }
      }
    }
  }

  @Test(
    "an open connection keeps its batch limit over a reload, but gets the new limits of its user")
  func ownLimits() throws {
    let client = try daemon.client()
    try reload("[limits]\nbatch = 7\ncalls_in_flight_per_user = 70\n" + sandbox.provider())
    let (before, after) = (try client.call("rpc.hello"), try daemon.client().call("rpc.hello"))
    #expect(before["limits"]?["batch"] == 64 && after["limits"]?["batch"] == 7)
    for hello in [before, after] { #expect(hello["limits"]?["calls_in_flight_per_user"] == 70) }
  }

  @Test("a waiting flow.wait is answered although a reload has withdrawn its permission")
  func begun() throws {
    try reload(rule(["*"]) + sandbox.provider())
    let client = try daemon.client()
    let flow = try client.startFlow()
    try client.send(
      #"{"jsonrpc":"2.0","id":"w","method":"flow.wait","params":{"flow":\#(flow["id"]?.text ?? ""),"#
        + #""revision":\#(flow["revision"]?.text ?? ""),"timeoutMs":60000}}"#)
    _ = try client.call("system.status")
    try reload(rule([]) + sandbox.provider())
    try daemon.comeBack(from: flow)
    let answer = try #require(try client.receive())
    #expect(answer["id"] == "w" && answer["error"] == nil, "\(answer.text)")
    #expect(try client.reason(of: "flow.get", ["flow": flow["id"] ?? .null]) == "permission_denied")
  }

  @Test(
    "a flow finishes after its provider was removed; its account has tokens when the provider is back"
  )
  func providerGone() throws {
    let client = try daemon.client()
    let flow = try client.startFlow()
    try reload("")
    #expect(try providers() == ["local"])
    try daemon.comeBack(from: flow)
    let end = try client.finished(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    let accounts = try client.call("account.list")["accounts"]?.arrayValue
    let account = try #require(accounts?.first?["id"])
    #expect(try client.reason(of: "token.get", ["account": account]) == "not_found")
    #expect(try client.reason(of: "token.get", ["provider": "demo"]) == "not_found")
    try reload(sandbox.provider())
    _ = try client.call("token.get", ["account": account])
    let forced = try client.call("token.get", ["account": account, "forceRefresh": true])
    #expect(forced["accessToken"] != nil)
  }

  @Test("a refresh in flight is answered and stored although a reload has removed its provider")
  func refreshing() throws {
    // The request time-out is longer than the provider's answer is held.
    try reload(sandbox.provider(more: "request_timeout_seconds = 120"))
    let client = try daemon.client()
    try client.signIn()
    try sandbox.hold("token", times: 1)
    try client.send(
      #"{"jsonrpc":"2.0","id":"t","method":"token.get","params":"#
        + #"{"provider":"demo","forceRefresh":true}}"#)
    try eventually("the refresh request has reached the provider") {
      try sandbox.requests("token", grantType: "refresh_token") == 1
    }
    try reload("")
    try sandbox.release()
    let answer = try #require(try client.receive())
    let token = try #require(answer["result"]?["accessToken"], "\(answer.text)")
    try reload(sandbox.provider())
    #expect(try client.call("token.get", ["provider": "demo"])["accessToken"] == token)
  }

  @Test(
    "200 reloads while 20 clients call token.get fail no call and leak no descriptor", .ownProcess)
  func load() throws {
    try daemon.client().signIn()
    let plain = sandbox.provider()
    let port = try LoopbackPort.unused()
    let other =
      sandbox.provider(more: "connect_timeout_seconds = 7\n")
        + """
        [[provider]]
        name = "pay"
        type = "gopay"
        client_id = "acme"
        merchant_id = "merchant"
        callback_listen = "127.0.0.1:\(port)"

        """
    // Apply each configuration once, so that descriptors that are opened only once are counted.
    let check: JSONValue = ["provider": "demo"]
    for config in [other, plain] {
      #expect(try reload(config).isEmpty)
      _ = try daemon.admin().call("provider.check", check)
    }
    let before = try daemon.descriptors()
    let callers = try TokenCallers(20, of: daemon)
    for number in 0..<200 {
      let problems = try reload(number.isMultiple(of: 2) ? other : plain)
      #expect(problems.isEmpty)
      guard number % 10 > 7 else { continue }
      // Each configuration has an HTTP client of its own, because its time-outs differ.
      #expect(try daemon.admin().call("provider.check", check)["healthy"] == true)
      try eventually("other calls are answered between reloads") { callers.count > number * 5 }
    }
    let (calls, failures) = callers.finish()
    #expect(failures == [] && calls > 900)
    try eventually("the daemon has no more open descriptors than before") {
      try daemon.descriptors() <= before
    }
  }
}
