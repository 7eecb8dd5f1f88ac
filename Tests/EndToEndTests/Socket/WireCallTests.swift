import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite("Calls on the app socket", .mayBlock, .timeLimit(.minutes(10)))
struct WireCallTests {
  private let daemon: DaemonUnderTest
  private let client: RawClient

  init() throws {
    daemon = try DaemonUnderTest(config: SilentProvider.config)
    client = try daemon.client()
  }

  @Test("a call gets one reply, and a notification gets none, whether it succeeds or fails")
  func notifications() throws {
    try client.tell("system.status")
    try client.tell("no.such")
    try client.tell("flow.get", ["flow": "flw_none"])
    try client.tell("flow.cancel", ["flow": "flw_none"])
    let reply = try client.answer(to: #"{"jsonrpc":"2.0","id":"only","method":"system.status"}"#)
    #expect(reply["id"] == "only")
    #expect(reply["jsonrpc"] == "2.0")
    #expect(reply["result"]?["ready"] == true)
    #expect(reply["error"] == nil)
  }

  @Test("a reply repeats the id of its call byte for byte, whatever legal type the id has")
  func ids() throws {
    let ids = [
      "1", "0", "-7", "-0", "9007199254740993", "123456789012345678901234567890", "1.50", "1e3",
      "-2.5E-7", "null", #""""#, #""x""#, #""a\u0062\"\\\/\n""#, #""\ud83d\ude00""#, "\"é😀\"",
      "\"\(String(repeating: "long", count: 63))\"",
    ]
    for id in ids {
      for method in ["system.status", "no.such"] {
        try client.send(#"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)"}"#)
        let line = String(decoding: try #require(try client.receiveLine()), as: UTF8.self)
        #expect(line.contains("\"id\":\(id),") || line.contains("\"id\":\(id)}"), "\(id): \(line)")
      }
    }
  }

  @Test("an id in flight is refused in every spelling, and can be used again after its reply")
  func idInUse() throws {
    let flow = try client.startSilentFlow()
    try client.beginWaiting("ab", for: flow)
    for id in [#""ab""#, #""a\u0062""#] {
      let refused = try client.answer(
        to: #"{"jsonrpc":"2.0","id":\#(id),"method":"system.status"}"#)
      #expect(refused.replyCode == -32600)
      #expect(refused["id"] == .null)
    }
    try client.tell("rpc.cancel", ["id": "ab"])
    #expect(try client.next()["id"] == "ab")
    try client.begin("ab", "system.status")
    #expect(try client.next()["result"]?["ready"] == true)
  }

  @Test("invalid params get an error that names the wrong, missing or unknown member")
  func params() throws {
    let cases = [
      (#"{"id":1,"method":"rpc.hello","params":[]}"#, "params"),
      (#"{"id":1,"method":"rpc.hello","params":[1]}"#, "params"),
      (#"{"id":1,"method":"rpc.hello","params":{"colour":"red"}}"#, "colour"),
      (#"{"id":1,"method":"rpc.hello","params":{"client":{"name":"x","age":1}}}"#, "client.age"),
      (#"{"id":1,"method":"rpc.hello","params":{"protocol":"1"}}"#, "protocol"),
      (#"{"id":1,"method":"rpc.hello","params":{"protocol":[7]}}"#, "protocol"),
      (#"{"id":1,"method":"system.status","params":{"verbose":true}}"#, "verbose"),
      (#"{"id":1,"method":"flow.get"}"#, "flow"),
      (#"{"id":1,"method":"flow.get","params":{}}"#, "flow"),
      (#"{"id":1,"method":"flow.get","params":{"flow":null}}"#, "flow"),
      (#"{"id":1,"method":"flow.get","params":{"flow":7}}"#, "flow"),
      (#"{"id":1,"method":"rpc.cancel","params":{"id":true}}"#, "id"),
    ]
    for (call, field) in cases {
      let reply = try client.answer(to: #"{"jsonrpc":"2.0",\#(call.dropFirst())"#)
      #expect(reply.replyCode == -32602, "\(call): \(reply.text)")
      #expect(reply.replyReason == "invalid_params")
      #expect(reply.replyField == field, "\(call)")
      #expect(reply["id"] == 1)
    }
  }

  @Test("unknown methods, and admin methods on the app socket, get method_not_found")
  func methods() throws {
    let admin = try daemon.admin()
    for method in ["no.such", "rpc.no.such", "", "SYSTEM.STATUS", "system.status ", "é"] {
      let error = try client.error(of: method)
      #expect(error["code"] == -32601)
      #expect(error["data"]?["reason"] == "method_not_found")
      #expect(try admin.reason(of: method) == "method_not_found")
    }
    #expect(try client.reason(of: "credential.list") == "method_not_found")
    #expect(try client.reason(of: "credential.set", ["name": 1]) == "method_not_found")
    #expect(try admin.call("credential.list")["credentials"] == [])
  }

  @Test("an error has a code, a message, a reason, and a correlation id that the log contains")
  func errors() throws {
    let error = try client.error(of: "flow.get", ["flow": "flw_none"])
    #expect(error["code"] == 1001)
    #expect(error["data"]?["reason"] == "not_found")
    #expect(error["data"]?["retryable"] == false)
    let message = try #require(error["message"]?.stringValue)
    #expect(message.first?.isLowercase == true && message.last != ".")
    let correlation = try #require(error["data"]?["correlationId"]?.stringValue)
    #expect(correlation.hasPrefix("cor_"))
    try eventually("the log contains the correlation id") { daemon.log.contains(correlation) }
  }

  @Test("rpc.hello returns the protocol, the version, the limits and an instance id of this start")
  func hello() throws {
    let params: JSONValue = ["protocol": [1, 2], "client": ["name": "test", "version": "1"]]
    let hello = try client.call("rpc.hello", params)
    #expect(hello["protocol"] == 1)
    #expect(hello["server"]?["version"]?.stringValue?.isEmpty == false)
    let limits = try #require(hello["limits"]?.objectValue)
    #expect(limits["max_line_bytes"] == 1_048_576)
    #expect(limits["unread_reply_seconds"] == 5)
    #expect(limits["connections_per_user"] == 256)
    let instance = try #require(hello["instanceId"]?.stringValue)
    #expect(try daemon.admin().call("rpc.hello")["instanceId"] == .string(instance))
    try daemon.restart()
    #expect(try daemon.client().call("rpc.hello")["instanceId"] != .string(instance))
  }

  @Test("rpc.discover lists methods in order, and each listed method exists on the socket it names")
  func discover() throws {
    let document = try client.call("rpc.discover")
    #expect(document["openrpc"]?.stringValue?.hasPrefix("1.") == true)
    let methods = try #require(document["methods"]?.arrayValue)
    let names = methods.compactMap { $0["name"]?.stringValue }
    #expect(names.count == methods.count && names == names.sorted())
    #expect(Set(names).isSuperset(of: ["rpc.hello", "rpc.discover", "token.get", "flow.wait"]))
    let admin = try daemon.admin()
    for method in methods {
      let name = method["name"]?.stringValue ?? ""
      let isAdmin = method["x-access"] == "admin"
      let stray: JSONValue = ["surely not a parameter": 1]
      #expect(
        try client.reason(of: name, stray) == (isAdmin ? "method_not_found" : "invalid_params"))
      #expect(try admin.reason(of: name, stray) == "invalid_params", "\(name)")
    }
  }

  @Test("rpc.discover returns exactly the methods and components of the golden file openrpc.json")
  func golden() throws {
    let here = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
    let tests = here.deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let path = tests.appendingPathComponent("UsherAPITests/Fixtures/openrpc.json")
    let golden = try JSONValue(parsing: [UInt8](Data(contentsOf: path)))
    let document = try client.call("rpc.discover")
    let entries = { (document: JSONValue) in
      (document["methods"]?.arrayValue ?? []).map { ($0["name"]?.stringValue ?? "", $0) }
    }
    let expected = Dictionary(entries(golden)) { first, _ in first }
    let found = Dictionary(entries(document)) { first, _ in first }
    #expect(found.keys.sorted() == expected.keys.sorted())
    for (name, method) in expected { #expect(found[name] == method, "\(name)") }
    #expect(document["components"] == golden["components"])
  }

  @Test("a call that is ready is answered before an earlier call that still waits")
  func outOfOrder() throws {
    let clock = MovableClock()
    let daemon = try DaemonUnderTest(config: SilentProvider.config, clock: clock)
    let client = try daemon.client()
    let flow = try client.startSilentFlow()
    clock.stop()
    try client.beginWaiting("slow", for: flow, milliseconds: 50_000)
    try client.begin("quick", "system.status")
    #expect(try client.next()["id"] == "quick")
    try clock.endWait(ofSeconds: 50)
    let slow = try client.next()
    #expect(slow["id"] == "slow")
    #expect(slow["result"]?["flow"]?["id"] == flow["id"])
    #expect(slow["result"]?["transitions"] == [])
  }

  @Test(
    "a client that shuts down its sending side gets every reply before the connection is closed")
  func halfClosed() throws {
    let clock = MovableClock()
    let daemon = try DaemonUnderTest(config: SilentProvider.config, clock: clock)
    let client = try daemon.client()
    let flow = try client.startSilentFlow()
    clock.stop()
    try client.begin("quick", "system.status")
    try client.beginWaiting("slow", for: flow, milliseconds: 50_000)
    // An unfinished last line must not cause an error.
    try client.send(raw: Array(#"{"jsonrpc":"2.0","#.utf8))
    client.finishSending()
    #expect(try client.next()["id"] == "quick")
    // After these calls the daemon has read the end of the stream; otherwise `line_seconds` would
    // end the unfinished line first.
    let other = try daemon.client()
    for _ in 1...2 { _ = try other.call("system.status") }
    try clock.endWait(ofSeconds: 50)
    #expect(try client.next()["id"] == "slow")
    #expect(try client.isClosed())
  }
}
