import JSONRPC
import Testing
import UsherClient
import UsherTestKit

@Suite("Event streams", .timeLimit(.minutes(10)))
struct EventTests {
  private static func event(_ cursor: Int, to subscription: String = "sub_1") -> String {
    #"""
    {"subscription":"\#(subscription)","cursor":\#(cursor),"event":{"topic":"flow",\#
    "what":"moved","at":"2030-01-01T00:00:00Z","flow":"flw_1"}}
    """#
  }

  private static func subscribe(_ peer: FakeDaemon.Peer) async throws -> FakeDaemon.Call {
    let call = try await peer.next()
    #expect(call.method == "events.subscribe")
    try await peer.reply(call, #"{"subscription":"sub_1","cursor":7}"#)
    return call
  }

  @Test("the events of a subscription arrive in order, and unknown notifications are skipped")
  func inOrder() async throws {
    try await FakeDaemon.run { peer in
      let call = try await Self.subscribe(peer)
      #expect(call.params == ["topics": ["flow", "token"], "since": 5])
      try await peer.notify("events.notify", Self.event(8))
      try await peer.notify("events.notify", #"{"subscription":"sub_1","cursor":9,"event":{}}"#)
      try await peer.notify("something.else", "{}")
      try await peer.notify("events.notify", Self.event(10))
      while true { _ = try await peer.next() }
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      var seen: [Int] = []
      for try await event in usher.events([.flow, .token], since: 5) {
        seen.append(event.cursor)
        if event.cursor == 10 { break }
      }
      #expect(seen == [8, 10])
    }
  }

  @Test("a reader that leaves its event stream sends events.unsubscribe")
  func unsubscribe() async throws {
    let (told, tell) = AsyncStream.makeStream(of: FakeDaemon.Call.self)
    try await FakeDaemon.run { peer in
      _ = try await Self.subscribe(peer)
      try await peer.notify("events.notify", Self.event(8))
      tell.yield(try await peer.next())
      _ = try await peer.next()
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      for try await _ in usher.events([.flow]) { break }
      for await call in told {
        #expect(call.method == "events.unsubscribe")
        #expect(call.params == ["subscription": "sub_1"])
        break
      }
      _ = usher
    }
  }

  @Test("events.lost ends the event stream with the cursor to resume from")
  func lost() async throws {
    try await FakeDaemon.run { peer in
      _ = try await Self.subscribe(peer)
      try await peer.notify("events.lost", #"{"subscription":"sub_1","cursor":9}"#)
      _ = try await peer.next()
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      await #expect(throws: EventsEnded(.overflow, cursor: 9)) {
        for try await _ in usher.events([.flow]) {}
      }
    }
  }

  @Test("a lost connection ends the event stream with the last event's cursor")
  func disconnected() async throws {
    try await FakeDaemon.run { peer in
      _ = try await Self.subscribe(peer)
      try await peer.notify("events.notify", Self.event(8))
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      await #expect(throws: EventsEnded(.disconnected, cursor: 8)) {
        for try await _ in usher.events([.flow]) {}
      }
    }
  }

  @Test("a slow reader's event stream ends with an overflow after 256 buffered events")
  func overflow() async throws {
    let (sent, done) = AsyncStream.makeStream(of: Void.self)
    try await FakeDaemon.run { peer in
      _ = try await Self.subscribe(peer)
      for cursor in 8..<308 { try await peer.notify("events.notify", Self.event(cursor)) }
      let call = try await peer.next()
      #expect(call.method == "events.unsubscribe")
      done.yield()
      _ = try await peer.next()
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      let events = usher.events([.flow])
      for await _ in sent { break }
      var count = 0
      await #expect(throws: EventsEnded(.overflow, cursor: 263)) {
        for try await _ in events { count += 1 }
      }
      #expect(count == 256)
    }
  }

  @Test("a refused subscription ends the event stream with the daemon's error")
  func refused() async throws {
    try await FakeDaemon.run { peer in
      try await peer.fail(
        try await peer.next(), Sample.error(-32001, "permission_denied", "not allowed"))
      _ = try await peer.next()
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      let error = await #expect(throws: UsherError.self) {
        for try await _ in usher.events([.flow]) {}
      }
      #expect(error?.reason == .permissionDenied)
    }
  }
}
