import JSONRPC
import Testing
import UsherCommands
import UsherTestKit

@Suite("Questions of usherctl that are withdrawn or interrupted", .timeLimit(.minutes(10)))
struct GivenUpTests {
  /// A step of each kind, with the end of the screen when the step is asked.
  static let steps: [(step: String, question: String)] = [
    (Steps.openURL, "then wait, or paste the address the browser ended at: "),
    (Steps.code, "code: "),
    (#"{"type":"enterPassword","purpose":"login"}"#, "password (not shown): "),
    (
      #"{"type":"choose","what":"verification","options":[{"id":"a","label":"A"}]}"#, "number: "
    ),
    (
      #"{"type":"fillForm","fields":[{"name":"name","type":"text","required":true}]}"#, "name: "
    ),
    (
      #"{"type":"consent","client":"Till","grants":[{"id":"n","label":"n","remembered":false}]}"#,
      "Enter to grant all, numbers to grant some, n to deny: "
    ),
    (Steps.exchange, "answer (not shown): "),
    (
      #"{"type":"localAuth","methods":["passcode"],"reason":"r","scanning":false}"#,
      "passcode (not shown), o for another method, c to cancel: "
    ),
    (Steps.wait, "waiting for the provider (at most 10 min)"),
  ]

  @Test("usherctl withdraws its question when the flow moves on by itself", arguments: steps)
  func moved(step: String, question: String) async throws {
    let terminal = ScriptedTerminal(interactive: true, silence: true)
    let outcome = try await FakeDaemon.run { peer in
      while true {
        let call = try await peer.next()
        switch (call.method, call.params["revision"]) {
        case ("flow.start", _): try await peer.reply(call, Reply.flow(1, step: step))
        case ("flow.wait", 1):
          if step != Steps.wait { for await _ in terminal.waits { break } }
          try await peer.reply(call, Reply.flow(2, step: Steps.page))
        case ("flow.wait", 2): try await peer.reply(call, Reply.flow(3, status: "succeeded"))
        default: #expect(call.method == "rpc.cancel")
        }
      }
    } _: { daemon in
      await usherctl(
        "flow run work authorize", terminal: terminal, environment: ["USHER_SOCKET": daemon.path])
    }
    #expect(outcome.error.contains("\(question)\nenter the code W at\n"))
    #expect(outcome.status == 0)
  }

  @Test(
    "an interrupt of usherctl at any step cancels the flow, and usherctl exits with 3",
    arguments: steps)
  func interrupted(step: String, question: String) async throws {
    let terminal = ScriptedTerminal(interactive: true, silence: true)
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let (cancelled, cancel) = AsyncStream.makeStream(of: JSONValue.self)
    let outcome = try await FakeDaemon.run { peer in
      while true {
        let call = try await peer.next()
        switch call.method {
        case "flow.start": try await peer.reply(call, Reply.flow(1, step: step))
        case "flow.wait":
          if step != Steps.wait { for await _ in terminal.waits { break } }
          ask.yield()
        case "flow.cancel":
          cancel.yield(call.params)
          try await peer.reply(call, Reply.flow(2, status: "cancelled"))
        default: #expect(call.method == "rpc.cancel")
        }
      }
    } _: { daemon in
      let running = Task {
        await usherctl(
          "flow run work authorize", terminal: terminal,
          environment: ["USHER_SOCKET": daemon.path])
      }
      for await _ in asked { break }
      running.cancel()
      return await running.value
    }
    cancel.finish()
    var calls: [JSONValue] = []
    for await params in cancelled { calls.append(params) }
    #expect(calls == [["flow": "flw_1"]])
    #expect(outcome.error.hasSuffix("\(question)\nusherctl: the flow was cancelled\n"))
    #expect(outcome.status == 3)
  }

  @Test("an interrupt of usherctl during flow.start or flow.submit cancels the flow")
  func interruptedInCalls() async throws {
    for busy in ["flow.start", "flow.submit"] {
      let (asked, ask) = AsyncStream.makeStream(of: Void.self)
      let (goOn, go) = AsyncStream.makeStream(of: Void.self)
      let (cancelled, cancel) = AsyncStream.makeStream(of: String.self)
      let outcome = try await FakeDaemon.run { peer in
        while true {
          let call = try await peer.next()
          if call.method == busy { ask.yield() }
          switch call.method {
          case "flow.start":
            if busy == "flow.start" { for await _ in goOn { break } }
            try await peer.reply(call, Reply.flow(1, step: Steps.code))
          case "flow.cancel":
            cancel.yield(busy)
            try await peer.reply(call, Reply.flow(2, status: "cancelled"))
          default: break
          }
        }
      } _: { daemon in
        let running = Task {
          await usherctl(
            "flow run work authorize",
            terminal: ScriptedTerminal(["123456"], interactive: true, silence: true),
            environment: ["USHER_SOCKET": daemon.path])
        }
        for await _ in asked { break }
        running.cancel()
        go.yield()
        return await running.value
      }
      cancel.finish()
      var calls: [String] = []
      for await call in cancelled { calls.append(call) }
      #expect(calls == [busy])
      #expect(outcome.error.hasSuffix("usherctl: the flow was cancelled\n"))
      #expect(outcome.status == 3)
    }
  }
}
