import JSONRPC
import Synchronization
import Testing
import UsherClient
import UsherTestKit

@Suite("Calls after a lost connection", .timeLimit(.minutes(10)))
struct RepeatTests {
  @Test("the client's next call after a lost connection opens a new connection")
  func reconnect() async throws {
    try await FakeDaemon.run { peer in
      try await peer.reply(try await peer.next(), Sample.status)
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      _ = try await usher.call(SystemStatus())
      _ = try await usher.call(SystemStatus())
      #expect(daemon.connections == 2)
    }
  }

  private static let safe: [(String, JSONValue)] = [
    ("system.status", [:]), ("token.get", ["provider": "work"]), ("flow.wait", ["revision": 1]),
    ("flow.start", ["requestId": "r"]), ("flow.cancel", [:]), ("credential.set", [:]),
  ]

  private static let unsafe: [(String, JSONValue)] = [
    ("flow.submit", ["revision": 1]), ("flow.start", [:]), ("flow.start", ["requestId": nil]),
    ("token.get", ["forceRefresh": true]), ("account.forget", [:]), ("token.revoke", [:]),
    ("credential.delete", [:]), ("thing.unheardOf", [:]),
  ]

  @Test("the client sends a lost call again if the call is safe to repeat", arguments: safe)
  func repeated(method: String, params: JSONValue) async throws {
    let seen = Mutex<[JSONValue]>([])
    try await FakeDaemon.run { peer in
      let call = try await peer.next()
      seen.withLock { $0.append(call.params) }
      if peer.index == 2 { try await peer.reply(call, #"{"done":true}"#) }
    } _: { daemon in
      let reply = try await UsherClient(socketPath: daemon.path).call(method, params: params)
      #expect(reply == ["done": true])
      #expect(seen.withLock { $0 } == [params, params])
    }
  }

  @Test("a lost client call that is not safe to repeat fails", arguments: unsafe)
  func notRepeated(method: String, params: JSONValue) async throws {
    try await FakeDaemon.run { peer in
      _ = try await peer.next()
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      await #expect(throws: ConnectionError(.lost, socketPath: daemon.path)) {
        try await usher.call(method, params: params)
      }
      #expect(daemon.connections == 1)
    }
  }

  @Test("a flow whose start reply was lost is found again by its request id")
  func pickedUp() async throws {
    try await FakeDaemon.run { peer in
      let start = try await peer.next()
      #expect(start.params["requestId"]?.stringValue?.utf8.count == 32)
      if peer.index == 1 { return }
      try await peer.fail(
        start, Sample.error(1003, "request_id_reused", "used", more: #","flow":"flw_1""#))
      let get = try await peer.next()
      #expect(get.params == ["flow": "flw_1"])
      try await peer.reply(get, Sample.flow(4))
      _ = try await peer.next()
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      let session = try await usher.flow(provider: "work", kind: "authorize")
      #expect(session.flow.revision == 4)
    }
  }

  @Test("a reused request id of the caller's own is thrown as an error with the flow's id")
  func ownRequestID() async throws {
    try await FakeDaemon.run { peer in
      try await peer.fail(
        try await peer.next(),
        Sample.error(1003, "request_id_reused", "used", more: #","flow":"flw_1""#))
      _ = try await peer.next()
    } _: { daemon in
      let error = await #expect(throws: UsherError.self) {
        try await UsherClient(socketPath: daemon.path).flow(
          provider: "work", kind: "authorize", requestId: "mine")
      }
      #expect(error?.detail.flow == FlowID("flw_1"))
    }
  }
}
