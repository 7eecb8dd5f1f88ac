import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Locks and unlocks the daemon during calls, refreshes and flows.
@Suite("Locking and unlocking", .mayBlock, .timeLimit(.minutes(10)))
struct LockTests {
  private static let passcode = "canary-passcode-4711"
  /// The methods that a locked daemon answers.
  private static let front: Set<String> = [
    "rpc.hello", "rpc.discover", "rpc.cancel", "system.status", "system.lock", "system.unlock",
    "system.reload",
  ]

  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest
  private let app: RawClient
  private let admin: RawClient

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(config: sandbox.provider())
    app = try daemon.client()
    admin = try daemon.admin()
  }

  /// A provider whose time-out is longer than a test holds its answer.
  private var patientProvider: String { sandbox.provider(more: "request_timeout_seconds = 120") }

  private func reason(_ reply: JSONValue?) -> String? {
    reply?["error"]?["data"]?["reason"]?.stringValue
  }

  private func isLocked() throws -> Bool {
    let status = try daemon.admin().call("system.status")
    return status["locked"] == true && status["ready"] == false
  }

  @Test(
    "a locked usherd refuses all but seven methods, and serves the same connections when unlocked")
  func answers() throws {
    try app.signIn()
    let token = try app.call("token.get", ["provider": "demo"])
    let listener = try daemon.client()
    _ = try listener.call("events.subscribe", ["topics": ["account"]])
    let instance = try app.call("rpc.hello")["instanceId"]
    #expect(try admin.call("system.lock") == [:])
    let methods = try app.call("rpc.discover")["methods"]?.arrayValue ?? []
    let names = methods.compactMap { $0["name"]?.stringValue }
    #expect(Self.front.isSubset(of: names) && names.count > 30)
    for method in methods where !Self.front.contains(method["name"]?.stringValue ?? "") {
      let name = method["name"]?.stringValue ?? ""
      let data = try admin.reply(to: name)["error"]?["data"]
      #expect(data?["reason"] == "locked" && data?["retryable"] == true, "\(name)")
      let isApp = method["x-access"] == "app"
      #expect(
        try reason(app.reply(to: name)) == (isApp ? "locked" : "method_not_found"), "\(name)")
    }
    #expect(try reason(app.reply(to: "no.such")) == "method_not_found")
    let status = try app.call("system.status")
    #expect(status["locked"] == true && status["ready"] == false && status["flows"] == 0)
    #expect(status["providers"]?.arrayValue?.count == 1 && status["connections"] != 0)
    #expect(try app.call("rpc.hello")["instanceId"] == instance)
    #expect(try admin.call("system.lock") == [:], "a second system.lock succeeds too")
    #expect(try admin.call("system.unlock") == [:])
    #expect(try app.call("system.status")["locked"] == nil)
    #expect(try app.call("token.get", ["provider": "demo"]) == token)
    #expect(try admin.call("system.unlock") == [:], "a second system.unlock succeeds too")
    let account = try app.call("account.list")["accounts"]?.arrayValue?.first?["id"] ?? .null
    _ = try app.call("account.forget", ["account": account])
    let event = try #require(try listener.receive())
    #expect(event["params"]?["event"]?["what"] == "forgotten", "\(event.text)")
  }

  @Test(
    "system.lock drops unread token replies and closes their connection, but no other connection")
  func unread() throws {
    try app.signIn()
    let (count, greedy) = (6000, try daemon.client())
    let call = #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"provider":"demo"}}"# + "\n"
    var rest = Array(String(repeating: call, count: count).utf8)[...]
    var stalls = 0
    // Sends until the daemon reads no more because of the unread replies.
    try eventually("the daemon stops reading") {
      let sent = try greedy.sendWhatFits(Array(rest))
      rest = rest.dropFirst(sent)
      // The answer shows that the daemon has had time to read: the same thread does both.
      _ = try app.call("system.status")
      stalls = sent == 0 ? stalls + 1 : 0
      return stalls == 5
    }
    let asked = count - rest.count / call.utf8.count - 1
    #expect(try app.call("system.status")["ready"] == true)
    #expect(try admin.call("system.lock") == [:])
    #expect(
      try app.call("system.status")["locked"] == true,
      "the lock does not close a connection that reads its replies")
    var (granted, isRefused, isClosed) = (0, false, false)
    for _ in 0..<count where !isClosed {
      // Because of unread calls the kernel may report a reset instead of the end; both return nil.
      guard let reply = try greedy.receive() else {
        isClosed = true
        break
      }
      // A busy daemon may not have read all calls before the lock: it refuses the rest.
      isRefused = isRefused || reply["error"]?["data"]?["reason"] == "locked"
      if !isRefused { granted += 1 }
      #expect((reply["result"]?["accessToken"] == nil) == isRefused, "\(reply.text)")
    }
    #expect(isClosed && granted < asked, "\(granted) of \(asked) calls were answered")
    #expect(try admin.call("system.status")["locked"] == true)
  }

  @Test("system.lock ends waiting calls at once, and still stores the token of a refresh in flight")
  func waiting() throws {
    let clock = MovableClock()
    let daemon = try DaemonUnderTest(config: patientProvider, clock: clock)
    let (app, admin) = (try daemon.client(), try daemon.admin())
    try app.signIn()
    let flow = try app.startFlow()
    let waiter = try daemon.client()
    try waiter.send(
      #"{"jsonrpc":"2.0","id":"w","method":"flow.wait","params":{"flow":\#(flow["id"]?.text ?? ""),"#
        + #""revision":\#(flow["revision"]?.text ?? ""),"timeoutMs":60000}}"#)
    try sandbox.hold("token", times: 1)
    try waiter.send(
      #"{"jsonrpc":"2.0","id":"t","method":"token.get","params":"#
        + #"{"provider":"demo","forceRefresh":true}}"#)
    try eventually("the refresh request has reached the provider") {
      try sandbox.requests("token", grantType: "refresh_token") == 1
    }
    // With a stopped clock the lock does not give up waiting for the provider.
    clock.stop()
    try admin.send(#"{"jsonrpc":"2.0","id":"l","method":"system.lock"}"#)
    // The provider has not answered yet.
    for _ in 1...2 {
      let answer = try #require(try waiter.receive())
      #expect(reason(answer) == "locked", "\(answer.text)")
    }
    #expect(try reason(app.reply(to: "token.get", ["provider": "demo"])) == "locked")
    try sandbox.release()
    // The lock is answered when the provider's answer is stored.
    #expect(try admin.receive()?["result"] == [:])
    _ = try admin.call("system.unlock")
    let token = try app.call("token.get", ["provider": "demo"])["accessToken"]?.stringValue
    #expect(try sandbox.honours(token ?? ""))
    #expect(try sandbox.requests("token", grantType: "refresh_token") == 1)
    #expect(try waiter.call("flow.get", ["flow": flow["id"] ?? .null])["flow"] == flow)
  }

  @Test("a provider that does not answer delays the reply to system.lock by exactly five seconds")
  func hangingProvider() throws {
    let clock = MovableClock()
    let daemon = try DaemonUnderTest(config: patientProvider, clock: clock)
    let (app, admin) = (try daemon.client(), try daemon.admin())
    try sandbox.hold("*")
    try app.send(
      #"{"jsonrpc":"2.0","id":"c","method":"flow.start","params":"#
        + #"{"provider":"demo","kind":"authorize","params":{},"waitMs":60000}}"#)
    try eventually("a discovery request has reached the provider") {
      try sandbox.requests("discovery") > 0
    }
    clock.stop()
    try admin.send(#"{"jsonrpc":"2.0","id":"l","method":"system.lock"}"#)
    #expect(try reason(app.receive()) == "locked")
    try eventually("the lock waits for the provider") { clock.hasTimer(in: .seconds(5)) }
    try clock.advance(by: 4)
    #expect(clock.hasTimer(in: .seconds(1)))
    #expect(throws: (any Error).self, "system.lock must not be answered yet") {
      try admin.receive(within: 0)
    }
    try clock.advance(by: 1)
    #expect(try admin.receive()?["result"] == [:])
    _ = try admin.call("system.unlock")
    #expect(try app.call("system.status")["flows"] == 1)
    // Otherwise the daemon, whose clock is stopped, would wait for the provider when the test ends.
    try sandbox.release()
  }

  @Test(
    "system.lock closes a flow's redirect listener; after the unlock the flow continues or expires")
  func flows() throws {
    let clock = MovableClock()
    let daemon = try DaemonUnderTest(config: sandbox.provider(), clock: clock)
    let (app, admin) = (try daemon.client(), try daemon.admin())
    let flow = try app.startFlow()
    let back = try #require(try Person.decide(at: flow.page()).location)
    _ = try admin.call("system.lock")
    // The daemon answers the lock without waiting until its listeners are closed.
    try eventually("the redirect listener is closed") { (try? Web.get(back)) == nil }
    try clock.set(ahead: 300)
    _ = try admin.call("system.unlock")
    try daemon.comeBack(to: back)
    #expect(try app.finished(flow)["status"] == "succeeded")
    let late = try app.startFlow()
    _ = try admin.call("system.lock")
    try clock.set(ahead: 4000)
    _ = try admin.call("system.unlock")
    #expect(try app.finished(late)["status"] == "expired")
  }

  @Test(
    "a locked usherd restarts locked after SIGTERM, kill -9 or a death during system.lock",
    .ownProcess)
  func restarts() throws {
    try app.signIn()
    _ = try admin.call("system.lock")
    #expect(try daemon.stop() == 0)
    try daemon.start()
    #expect(try isLocked())
    try daemon.restart()
    #expect(try isLocked())
    // A locked daemon still describes its methods after a restart.
    let names = try daemon.client().call("rpc.discover")["methods"]?.arrayValue?.count ?? 0
    #expect(names > 30)
    _ = try daemon.admin().call("system.unlock")
    try daemon.restart(environment: ["USHER_FAILPOINT": "lock.after-marker:1"])
    #expect(try !isLocked())
    try daemon.admin().send(#"{"jsonrpc":"2.0","id":1,"method":"system.lock"}"#)
    #expect(try daemon.exitStatus() == -SIGKILL)
    try daemon.start(environment: ["USHER_FAILPOINT": ""])
    #expect(try isLocked())
    _ = try daemon.admin().call("system.unlock")
    #expect(try daemon.client().call("token.get", ["provider": "demo"])["accessToken"] != nil)
  }

  @Test(
    "system.unlock takes the passcode, and counts a wrong one even if usherd is killed meanwhile",
    .ownProcess)
  func passcode() throws {
    _ = try app.call("localAuth.setPasscode", ["new": .string(Self.passcode)])
    try daemon.restart(environment: ["USHER_FAILPOINT": "local-auth.before-check:1"])
    _ = try daemon.client().call("system.lock")
    try daemon.client().send(
      #"{"jsonrpc":"2.0","id":1,"method":"system.unlock","params":{"passcode":"wrong"}}"#)
    #expect(try daemon.exitStatus() == -SIGKILL)
    try daemon.start(environment: ["USHER_FAILPOINT": ""])
    let app = try daemon.client()
    #expect(try app.reason(of: "system.unlock") == "invalid_params")
    let wrong = try app.error(of: "system.unlock", ["passcode": "wrong"])
    #expect(wrong["data"]?["reason"] == "permission_denied", "\(wrong.text)")
    #expect(wrong["message"] == "the passcode is wrong; 3 attempts left", "\(wrong.text)")
    #expect(try isLocked())
    #expect(try app.call("system.unlock", ["passcode": .string(Self.passcode)]) == [:])
    #expect(try !isLocked())
    for name in daemon.place.everything() {
      #expect(name.bytes.range(of: Data(Self.passcode.utf8)) == nil, "\(name.name)")
    }
  }

  @Test(
    "usherctl lock and unlock work with and without --admin; locked, usherctl token get exits with 75"
  )
  func commands() throws {
    try app.signIn()
    _ = try app.call("localAuth.setPasscode", ["new": .string(Self.passcode)])
    let lock = try daemon.usherctl(["lock", "--admin"])
    #expect(lock.status == 0 && lock.errors.contains("usherd is locked"), "\(lock)")
    #expect(try daemon.usherctl(["status"]).output.contains("locked"))
    let token = try daemon.usherctl(["token", "get", "demo"])
    #expect(token.status == 75 && token.output == "" && token.errors.contains("locked"), "\(token)")
    let wrong = try daemon.usherctl(["unlock"], input: "wrong\n")
    #expect(wrong.status == 77 && wrong.errors.contains("4 attempts left"), "\(wrong)")
    let none = try daemon.usherctl(["unlock"])
    #expect(none.status == 1 && none.errors.contains("the passcode is missing"), "\(none)")
    let unlock = try daemon.usherctl(["unlock"], input: "\(Self.passcode)\n")
    #expect(unlock.status == 0 && unlock.errors.contains("usherd is unlocked"), "\(unlock)")
    #expect(try daemon.usherctl(["token", "get", "demo"]).status == 0)
    #expect(try daemon.usherctl(["lock"]).status == 0)
    #expect(try daemon.usherctl(["unlock", "--admin"]).status == 0)
    #expect(try daemon.usherctl(["token", "get", "demo"]).status == 0)
  }

  @Test(
    "system.unlock fails and names the database while the file is missing, and works when it is back"
  )
  func unopened() throws {
    _ = try admin.call("system.lock")
    let database = daemon.statePath + "/usherd.db"
    try FileManager.default.moveItem(atPath: database, toPath: database + ".away")
    let gone = try admin.error(of: "system.unlock")
    #expect(gone["data"]?["reason"] == "storage_unavailable", "\(gone.text)")
    #expect(gone["message"]?.stringValue?.contains("usherd.db") == true, "\(gone.text)")
    #expect(try isLocked())
    #expect(
      !FileManager.default.fileExists(atPath: database),
      "system.unlock must not create a new database")
    try FileManager.default.moveItem(atPath: database + ".away", toPath: database)
    _ = try admin.call("system.unlock")
    #expect(try !isLocked())
  }
}
