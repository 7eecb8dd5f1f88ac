import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A daemon whose configuration changes, and whoever calls it meanwhile.
@Suite("Reloading", .mayBlock)
struct ReloadTests {
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(config: sandbox.provider())
  }

  /// - Parameter allow: What a rule lets the test's user call; nil for no rule.
  private func rule(_ allow: [String]) -> String {
    let list = allow.map { "\"\($0)\"" }.joined(separator: ", ")
    return """
      [[client]]
      name = "test"
      match = { user = \(getuid()) }
      allow = [\(list)]

      """
  }

  private func write(_ config: String) throws { try daemon.place.write(config, to: "usherd.toml") }

  /// - Returns: What is wrong.
  @discardableResult
  private func reload(_ config: String) throws -> [JSONValue] {
    try write(config)
    return try daemon.admin().call("system.reload")["problems"]?.arrayValue ?? []
  }

  private func providers() throws -> [String] {
    let list = try daemon.client().call("provider.list")["providers"]?.arrayValue ?? []
    return list.compactMap { $0["name"]?.stringValue }
  }

  @Test("SIGHUP brings another provider; many in a row end as the last file says", .ownProcess)
  func hangUp() throws {
    try write(sandbox.provider() + sandbox.provider("second"))
    kill(daemon.pid, SIGHUP)
    try eventually("the second provider is there") {
      try providers() == ["demo", "second", "local"]
    }
    let file = daemon.place.file("usherd.toml")
    #expect(daemon.log.contains("notice configured files=\(file)\n"))
    // The configuration is in force a moment before that is logged.
    try eventually("the reload is logged") {
      daemon.log.contains("notice reloaded clients=0 files=\(file) providers=2 providersChanged=1")
    }
    for number in 0..<20 {
      try write(sandbox.provider() + sandbox.provider("p\(number)"))
      kill(daemon.pid, SIGHUP)
    }
    try eventually("the last one is in force") {
      try providers() == ["demo", "p19", "local"]
    }
  }

  @Test("usherctl says what is wrong as config check does, and nothing has changed")
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
    #expect(daemon.log.contains("warning the reload failed: nothing has changed problems=2"))
    #expect(daemon.log.contains("file=\(file) key=log.level line=8"))
    try write("[[provider]\n")
    #expect(try daemon.usherctl(["reload"]).errors.contains("\(file):1:"))
    try FileManager.default.removeItem(atPath: file)
    let gone = try daemon.usherctl(["reload"])
    #expect(gone.status == 1 && gone.errors == "usherctl: \(file): there is no such file\n")
    try write(sandbox.provider("other"))
    let mended = try daemon.usherctl(["reload"])
    #expect(mended.status == 0 && mended.errors == "reloaded\n")
    #expect(try providers() == ["other", "local"])
  }

  @Test("a file of conf.d comes and goes; one that cannot be read changes nothing")
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
    // Nobody will ever write to it.
    try #require(mkfifo("\(folder)/20.toml", 0o600) == 0)
    #expect(try reload(sandbox.provider()).first?["message"] == "is not a regular file")
    try FileManager.default.removeItem(atPath: "\(folder)/20.toml")
    #expect(try reload(sandbox.provider()).isEmpty)
    #expect(try providers() == ["demo", "local"])
  }

  @Test("it is the operator's, and audited")
  func operators() throws {
    #expect(try daemon.client().reason(of: "system.reload") == "method_not_found")
    #expect(try reload(sandbox.provider()).isEmpty)
    #expect(try reload("x").count == 1)
    let list = try daemon.admin().call("audit.list", ["method": "system.reload"])
    let outcomes = list["rows"]?.arrayValue?.compactMap { $0["outcome"]?.stringValue } ?? []
    #expect(outcomes.sorted() == ["invalid_params", "ok"])
  }

  @Test("the next call of an open connection, and the next event, are judged by the new rules")
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
    // What came before is heard to its end; then the listener learns that it hears no more.
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
    "a call that is answered at once sees the rules and providers of one configuration", .ownProcess
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

  @Test("a connection keeps its own limits, and is told so")
  func ownLimits() throws {
    let client = try daemon.client()
    try reload("[limits]\nbatch = 7\ncalls_in_flight_per_user = 70\n" + sandbox.provider())
    let (before, after) = (try client.call("rpc.hello"), try daemon.client().call("rpc.hello"))
    #expect(before["limits"]?["batch"] == 64 && after["limits"]?["batch"] == 7)
    for hello in [before, after] { #expect(hello["limits"]?["calls_in_flight_per_user"] == 70) }
  }

  @Test("a call that has begun ends as it began")
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

  @Test("a live flow keeps its provider; the account of one that is gone stays, without tokens")
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

  @Test("a refresh that is under way is answered and kept, though its provider goes")
  func refreshing() throws {
    // The daemon does not give the provider up while its answer is held.
    try reload(sandbox.provider(more: "request_timeout_seconds = 120"))
    let client = try daemon.client()
    try client.signIn()
    try sandbox.hold("token", times: 1)
    try client.send(
      #"{"jsonrpc":"2.0","id":"t","method":"token.get","params":"#
        + #"{"provider":"demo","forceRefresh":true}}"#)
    try eventually("the refresh is under way") {
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
    "200 reloads while 20 clients call: no call fails, no descriptor is left over", .ownProcess)
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
    // Once there and back: what is made once for all is there.
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
      // By a client of its own: the other provider is reached in another way.
      #expect(try daemon.admin().call("provider.check", check)["healthy"] == true)
      try eventually("calls come between") { callers.count > number * 5 }
    }
    let (calls, failures) = callers.finish()
    #expect(failures == [] && calls > 900)
    try eventually("no more descriptors are open than before") {
      try daemon.descriptors() <= before
    }
  }
}
