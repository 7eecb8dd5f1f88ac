import JSONRPC
import Synchronization
import Testing
import UsherClient
import UsherTestKit

@Suite("Calls to the daemon", .timeLimit(.minutes(10)))
struct CallTests {
  private func client(_ path: String) -> UsherClient {
    UsherClient(socketPath: path, name: "test", version: "1")
  }

  @Test("a client opens no connection before its first call")
  func lazy() async throws {
    let path = FakeDaemon.freshPath()
    let usher = client(path)
    try await FakeDaemon.run(at: path) { peer in
      try await peer.reply(try await peer.next(), Sample.token)
      _ = try await peer.next()
    } _: { daemon in
      #expect(daemon.connections == 0)
      let token = try await usher.token(provider: "work")
      #expect(token.accessToken?.revealed() == "at-1")
      #expect(daemon.connections == 1)
    }
  }

  @Test("a client's calls share one connection, and replies in another order reach their calls")
  func multiplexed() async throws {
    try await FakeDaemon.run { peer in
      let first = try await peer.next()
      let second = try await peer.next()
      for call in [second, first] {
        try await peer.reply(call, #"{"echo":"\#(call.method)"}"#)
      }
      _ = try await peer.next()
    } _: { daemon in
      let usher = client(daemon.path)
      async let a = usher.call("a.a")
      async let b = usher.call("b.b")
      let replies = try await [a, b]
      #expect(replies == [["echo": "a.a"], ["echo": "b.b"]])
      #expect(daemon.connections == 1)
    }
  }

  @Test("a client throws the daemon's error with its reason, message and next flow")
  func typedError() async throws {
    try await FakeDaemon.run { peer in
      let next = #"""
        ,"next":{"method":"flow.start","params":{"provider":"work","kind":"authorize",\#
        "params":{"account":"acc_1"}}}
        """#
      try await peer.fail(
        try await peer.next(),
        Sample.error(1102, "reauthentication_required", "sign in again", more: next))
      _ = try await peer.next()
    } _: { daemon in
      let error = await #expect(throws: UsherError.self) {
        try await client(daemon.path).token(provider: "work")
      }
      #expect(error?.reason == .reauthenticationRequired)
      #expect(error?.message == "sign in again")
      let next = UsherError.NextFlow(
        provider: ProviderName("work"), kind: "authorize", account: AccountID("acc_1"))
      #expect(error?.detail.next == next)
    }
  }

  @Test("an error reply without data gets its reason from its JSON-RPC code")
  func bareError() async throws {
    try await FakeDaemon.run { peer in
      try await peer.fail(try await peer.next(), #"{"code":-32601,"message":"no such method"}"#)
      _ = try await peer.next()
    } _: { daemon in
      let error = await #expect(throws: UsherError.self) {
        try await client(daemon.path).call("no.such")
      }
      #expect(error?.reason == .methodNotFound)
    }
  }

  @Test("a cancelled client call throws at once and sends rpc.cancel with its id")
  func cancel() async throws {
    let cancelled = Mutex<JSONValue?>(nil)
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let (told, tell) = AsyncStream.makeStream(of: Void.self)
    try await FakeDaemon.run { peer in
      let call = try await peer.next()
      ask.yield()
      let cancel = try await peer.next()
      cancelled.withLock { $0 = ["id": cancel.params["id"] ?? .null, "was": "\(call.id)"] }
      #expect(cancel.method == "rpc.cancel")
      tell.yield()
      _ = try await peer.next()
    } _: { daemon in
      let usher = client(daemon.path)
      let task = Task { try await usher.token(provider: "work") }
      for await _ in asked { break }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      for await _ in told { break }
      let seen = cancelled.withLock { $0 }
      #expect(seen?["id"]?.integerValue.map(String.init) == seen?["was"]?.stringValue)
    }
  }

  @Test("a client call over its deadline throws deadline_exceeded and is cancelled at the daemon")
  func deadline() async throws {
    let (told, tell) = AsyncStream.makeStream(of: String.self)
    try await FakeDaemon.run { peer in
      while true {
        let call = try await peer.next()
        tell.yield(call.method)
        if call.method == "thing.answered" { try await peer.reply(call, "{}") }
      }
    } _: { daemon in
      let usher = client(daemon.path)
      var methods = told.makeAsyncIterator()
      _ = try await usher.call("thing.answered")
      #expect(await methods.next() == "thing.answered")
      // On a busy machine, a short deadline may pass before the call is sent at all.
      for deadline in [Duration.milliseconds(50), .seconds(1), .seconds(20)] {
        let error = await #expect(throws: UsherError.self) {
          try await usher.call(SystemStatus(), deadline: deadline)
        }
        #expect(error?.reason == .deadlineExceeded)
        _ = try await usher.call("thing.answered")
        guard await methods.next() == "system.status" else { continue }
        while let method = await methods.next(), method != "rpc.cancel" {
          #expect(method == "thing.answered")
        }
        return
      }
      Issue.record("the call was never sent")
    }
  }

  @Test("a hundred concurrent client calls are all answered, although only 64 may be in flight")
  func manyCalls() async throws {
    let beforeFirstReply = Mutex(0)
    try await FakeDaemon.run { peer in
      var open: [FakeDaemon.Call] = []
      for _ in 0..<64 { open.append(try await peer.next()) }
      // The client refuses a request after all calls that it has sent before.
      for number in 0..<50 {
        try await peer.write(#"{"jsonrpc":"2.0","id":\#(number),"method":"a.request"}"#)
        var message = try await peer.next()
        while message.json["error"] == nil {
          open.append(message)
          message = try await peer.next()
        }
      }
      beforeFirstReply.withLock { $0 = open.count }
      for answered in 0..<100 {
        try await peer.reply(open[answered], "{}")
        if open.count < 100 { open.append(try await peer.next()) }
      }
      _ = try await peer.next()
    } _: { daemon in
      let usher = client(daemon.path)
      try await withThrowingTaskGroup(of: JSONValue.self) { group in
        for number in 0..<100 { group.addTask { try await usher.call("n.\(number)") } }
        for try await reply in group { #expect(reply == [:]) }
      }
      #expect(beforeFirstReply.withLock { $0 } == 64)
    }
  }

  @Test("a client refuses a call that is longer than a line may be")
  func tooLarge() async throws {
    let error = await #expect(throws: UsherError.self) {
      let text = String(repeating: "x", count: 1 << 20)
      _ = try await client("/nowhere").call("a.a", params: ["text": .string(text)])
    }
    #expect(error?.reason == .messageTooLarge)
  }

  @Test("after UsherClient.close, calls in flight and later calls throw")
  func closed() async throws {
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    try await FakeDaemon.run { peer in
      _ = try await peer.next()
      ask.yield()
      _ = try await peer.next()
    } _: { daemon in
      let usher = client(daemon.path)
      let task = Task { try await usher.token(provider: "work") }
      for await _ in asked { break }
      await usher.close()
      let failure = ConnectionError(.closed, socketPath: daemon.path)
      await #expect(throws: failure) { try await task.value }
      await #expect(throws: failure) { try await usher.token(provider: "work") }
    }
  }
}
