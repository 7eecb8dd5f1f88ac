import Glibc
import Testing
import UsherClient
import UsherTestKit

@Suite("Connection errors", .timeLimit(.minutes(10)))
struct SampleErrorTests {
  private func client(_ path: String, maxReplyBytes: Int = 1 << 20) -> UsherClient {
    UsherClient(socketPath: path, name: "test", version: "1", maxReplyBytes: maxReplyBytes)
  }

  private func failure(_ usher: UsherClient) async -> ConnectionError? {
    await #expect(throws: ConnectionError.self) { try await usher.token(provider: "work") }
  }

  @Test("a missing socket is reported with the hint to start usherd")
  func noSocket() async {
    let found = await failure(client("/tmp/usher-no-such-socket"))
    #expect(found?.kind == .noSocket)
    #expect(found?.hint == "to start usherd, run: systemctl start usherd.socket")
    #expect(found?.message == "the socket /tmp/usher-no-such-socket does not exist")
  }

  @Test("a socket without a listener is reported with the hint to start usherd")
  func refused() async throws {
    let path = FakeDaemon.freshPath()
    defer { FakeDaemon.removeFolder(of: path) }
    _ = try TestSocket(boundTo: .unix(path: path))
    let found = await failure(client(path))
    #expect(found?.kind == .refused)
    #expect(found?.hint == "to start usherd, run: systemctl start usherd.socket")
  }

  @Test("a socket without permission is reported with the advice to ask the administrator")
  func notPermitted() {
    let found = ConnectionError(.notPermitted, socketPath: "/s", errorNumber: EACCES)
    #expect(
      "\(found)"
        == "you have no permission to open /s; some calls are for administrators only: "
        + "ask the administrator of this machine"
    )
  }

  @Test("a socket path that is too long is an error, not a crash")
  func longPath() async {
    let found = await failure(client("/" + String(repeating: "x", count: 300)))
    #expect(found?.kind == .badPath)
  }

  @Test(
    "a line of the daemon that is not JSON-RPC fails the client's call as garbled",
    arguments: [
      "hello", "{}", "[]", "\u{0}", #"{"jsonrpc":"2.0","id":1}"#,
      #"{"jsonrpc":"2.0","id":2,"result":1,"error":{"code":1,"message":"x"}}"#,
    ])
  func garbage(line: String) async throws {
    try await FakeDaemon.run { peer in
      _ = try await peer.next()
      try await peer.write(line)
      _ = try await peer.next()
    } _: { daemon in
      #expect(await failure(client(daemon.path))?.kind == .garbled)
    }
  }

  @Test("a token reply of the wrong shape fails the call as garbled")
  func wrongShape() async throws {
    try await FakeDaemon.run { peer in
      try await peer.reply(try await peer.next(), #"{"accessToken":7}"#)
      _ = try await peer.next()
    } _: { daemon in
      #expect(await failure(client(daemon.path))?.kind == .garbled)
    }
  }

  @Test("a reply over the size limit fails the call, and the next call opens a new connection")
  func hugeReply() async throws {
    try await FakeDaemon.run { peer in
      let call = try await peer.next()
      if peer.index == 1 { try await peer.write(String(repeating: "x", count: 5000)) }
      try await peer.reply(call, Sample.token)
      _ = try await peer.next()
    } _: { daemon in
      let usher = client(daemon.path, maxReplyBytes: 4096)
      #expect(await failure(usher)?.kind == .replyTooLarge)
      let token = try await usher.token(provider: "work")
      #expect(token.account == AccountID("acc_1"))
    }
  }

  @Test("an error reply with the id null fails the client's call in flight")
  func nullID() async throws {
    try await FakeDaemon.run { peer in
      _ = try await peer.next()
      let error = Sample.error(-32700, "parse_error", "not JSON")
      try await peer.write(#"{"jsonrpc":"2.0","id":null,"error":\#(error)}"#)
      _ = try await peer.next()
    } _: { daemon in
      let error = await #expect(throws: UsherError.self) {
        try await client(daemon.path).token(provider: "work")
      }
      #expect(error?.reason == .parseError)
    }
  }

  @Test("the client answers a request from the daemon with method not found")
  func calledBack() async throws {
    try await FakeDaemon.run { peer in
      let call = try await peer.next()
      try await peer.write(#"{"jsonrpc":"2.0","id":"x","method":"do.this"}"#)
      let answer = try await peer.next()
      #expect(answer.json["error"]?["code"] == -32601)
      try await peer.reply(call, Sample.token)
      _ = try await peer.next()
    } _: { daemon in
      _ = try await client(daemon.path).token(provider: "work")
    }
  }

  @Test("a daemon that sends requests and disappears does not crash the client")
  func goneWhileAnswered() async throws {
    let lines = (0..<200).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"do.this"}"# }
    try await FakeDaemon.run { peer in
      _ = try await peer.next()
      for line in lines { peer.writeAndForget(line) }
    } _: { daemon in
      for _ in 0..<20 { #expect(await failure(client(daemon.path))?.kind == .lost) }
    }
  }

  @Test("a daemon with another protocol version is reported as incompatible")
  func incompatible() async throws {
    let usher = UsherClient(socketPath: FakeDaemon.freshPath(), name: "t", version: "1")
    try await RawDaemon.run(at: usher.socketPath) { hello in
      #"""
      {"jsonrpc":"2.0","id":\#(hello.id),"result":{"protocol":2,"server":{"version":"9"},\#
      "limits":{},"instanceId":"i"}}
      """#
    } _: {
      #expect(await failure(usher)?.kind == .incompatible)
    }
  }

  /// A fake daemon with a custom reply to `rpc.hello`.
  private enum RawDaemon {
    static func run(
      at path: String, greeting: @escaping @Sendable (FakeDaemon.Call) -> String,
      _ body: () async throws -> Void
    ) async throws {
      try await FakeDaemon.run(at: path) { peer in
        let hello = try await peer.nextOfAny()
        #expect(hello.method == "rpc.hello")
        try await peer.write(greeting(hello))
        while true { _ = try await peer.nextOfAny() }
      } _: { _ in
        try await body()
      }
    }
  }
}
