import JSONRPC
import Synchronization
import Testing
import UsherClient
import UsherTestKit

@Suite("Calls during a restart of the daemon", .timeLimit(.minutes(10)))
struct RestartTests {
  @Test(
    "a client sends any call that the old daemon did not read to the new daemon",
    arguments: ["flow.submit", "flow.start", "account.forget", "thing.unheardOf"])
  func notSent(method: String) async throws {
    let stopped = Latch()
    let seen = Mutex<[Int]>([])
    try await FakeDaemon.run { peer in
      if peer.index == 1 {
        try await peer.reply(try await peer.next(), Sample.status)
        try await peer.stopReading()
        stopped.open()
      }
      while true {
        let call = try await peer.next()
        seen.withLock { $0.append(peer.index) }
        try await peer.reply(call, #"{"done":true}"#)
      }
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      _ = try await usher.call(SystemStatus())
      await stopped.pass()
      let reply = try await usher.call(method, params: ["n": 1])
      #expect(reply == ["done": true])
      #expect(seen.withLock { $0 } == [2])
    }
  }

  @Test("the old daemon answers a call that it has read, while new calls go to the new daemon")
  func bothAtOnce() async throws {
    let (stopped, answered) = (Latch(), Latch())
    try await FakeDaemon.run { peer in
      let call = try await peer.next()
      if peer.index == 1 {
        try await peer.stopReading()
        stopped.open()
        await answered.pass()
        return try await peer.reply(call, #"{"by":1}"#)
      }
      try await peer.reply(call, #"{"by":2}"#)
      while true { _ = try await peer.next() }
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      async let slow = usher.call("flow.submit", params: ["revision": 1])
      await stopped.pass()
      let quick = try await usher.call("flow.submit", params: ["revision": 2])
      #expect(quick == ["by": 2])
      answered.open()
      let late = try await slow
      #expect(late == ["by": 1])
    }
  }

  private static let stopping = Sample.error(-32005, "shutting_down", "usherd is stopping")

  @Test("a client sends a safe call that the old daemon could not finish to the new daemon")
  func unfinished() async throws {
    try await FakeDaemon.run { peer in
      let call = try await peer.next()
      guard peer.index == 2 else { return try await peer.fail(call, Self.stopping) }
      try await peer.reply(call, Sample.token)
      while true { _ = try await peer.next() }
    } _: { daemon in
      let token = try await UsherClient(socketPath: daemon.path).token(provider: "work")
      #expect(token.account == AccountID("acc_1"))
      #expect(daemon.connections == 2)
    }
  }

  @Test("a client's call waits for a daemon without systemd that removes and recreates its socket")
  func byHand() async throws {
    let path = FakeDaemon.freshPath()
    let usher = UsherClient(socketPath: path)
    try await FakeDaemon.run(at: path) { peer in
      try await peer.reply(try await peer.next(), Sample.status)
    } _: { _ in
      _ = try await usher.call(SystemStatus())
    }
    let call = Task { try await usher.call("flow.submit", params: ["revision": 1]) }
    try await FakeDaemon.inFolder(of: path) {
      try await FakeDaemon.run(at: path) { peer in
        try await peer.reply(try await peer.next(), #"{"done":true}"#)
        while true { _ = try await peer.next() }
      } _: { _ in
        let reply = try await call.value
        #expect(reply == ["done": true])
      }
    }
  }
}

/// A latch that is opened once and then lets every task pass.
final class Latch: Sendable {
  private let (stream, feed) = AsyncStream.makeStream(of: Never.self)

  func open() { feed.finish() }

  func pass() async { for await _ in stream {} }
}
