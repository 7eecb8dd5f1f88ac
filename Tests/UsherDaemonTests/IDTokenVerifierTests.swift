import JSONRPC
import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

/// A provider's key set that a test replaces; fetches are counted.
private final class KeySetServer: Sendable {
  private struct State {
    var keys: JSONValue
    var fetches = 0
    /// How many requests get 503 from now on.
    var failures = 0
    /// Requests without an answer yet; nil where each is answered at once.
    var held: [@Sendable (String) -> Void]?
  }

  private let state: Mutex<State>

  init(_ keys: JSONValue) { state = Mutex(State(keys: keys)) }

  func serve(_ keys: JSONValue) { state.withLock { $0.keys = keys } }

  func fail(_ times: Int) { state.withLock { $0.failures = times } }

  /// Answers nothing until ``release()``.
  func hold() { state.withLock { $0.held = [] } }

  func release() {
    let held = state.withLock { state in
      defer { state.held = nil }
      return state.held ?? []
    }
    for reply in held { reply(answer()) }
  }

  var fetches: Int { state.withLock { $0.fetches } }

  func ask(_ reply: @escaping @Sendable (String) -> Void) {
    let isHeld = state.withLock { state in
      state.fetches += 1
      state.held?.append(reply)
      return state.held != nil
    }
    if !isHeld { reply(answer()) }
  }

  private func answer() -> String {
    state.withLock { state in
      if state.failures > 0 {
        state.failures -= 1
        return "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
      }
      let body = String(decoding: state.keys.encoded(), as: UTF8.self)
      return "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
  }
}

private final class KeySetHandler: ChannelInboundHandler, Sendable {
  typealias InboundIn = ByteBuffer

  private let server: KeySetServer

  init(_ server: KeySetServer) { self.server = server }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let channel = context.channel
    server.ask { channel.writeAndFlush(ByteBuffer(string: $0), promise: nil) }
  }
}

/// ES256 key pairs and the tokens they signed; neither token has a kid.
private enum Vector {
  static let oldKey: JSONValue = [
    "kty": "EC", "crv": "P-256", "x": "r6Pg_D4kqeXbXbZMPWRjX-5YQZMeUoOZ-m3DzXZ_Y0I",
    "y": "JdyDwQZ5xAB_Uje4I6LGp77q7SCmA-OX5-Jeoko_-5I",
  ]
  static let oldToken = Secret(
    "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJ1LTEifQ."
      + "Tb-My7j1PpVKUIpWfH00glzwnz9qEg--zHMMlUZJdBjDvYDAkHagVb9N9q2bCU_eT5QBEBz9zi05Ps-re124IQ")
  static let newKey: JSONValue = [
    "kty": "EC", "crv": "P-256", "x": "Pr-sJZ7xBVTDXCAqvDxJf8-oUdCHiChZ1MuEl2_Nc6U",
    "y": "ODuwmZniH21Wqtr3xw1mZhew-b9Kjv_3MxWjFAmavGk",
  ]
  static let newToken = Secret(
    "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJ1LTEifQ."
      + "wcgMsm_8yCqtjWyO-GfTM3IYYUgoP8UOtPckDxNUNvCWImtgdLcV0l8m85sgPmxMaAls_hiz2bbyD2FxCxSCOA")
  static let payload = IDTokenVerdict.genuine(payload: Array(#"{"sub":"u-1"}"#.utf8))

  /// A token that names a key nobody has.
  static func token(kid: String) -> Secret {
    let header: JSONValue = ["alg": "ES256", "kid": .string(kid)]
    let parts = [header.encoded(), Array(#"{"sub":"u-1"}"#.utf8), [UInt8](repeating: 1, count: 64)]
    return Secret(parts.map { Base64URL.encode($0) }.joined(separator: "."))
  }
}

@Suite("The key set of ID tokens", .timeLimit(.minutes(1)))
struct IDTokenVerifierTests {
  /// Runs `body` with a verifier and the key set its provider has.
  private func withVerifier(
    _ keys: JSONValue,
    _ body: (KeySetServer, FakeClock, @escaping @Sendable (Secret) async -> IDTokenVerdict)
      async throws -> Void
  ) async throws {
    let server = KeySetServer(keys)
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { $0.pipeline.addHandler(KeySetHandler(server)) }
      .bind(host: "127.0.0.1", port: 0).get()
    let stage = try FlowStage()
    let http = ProviderHTTP(
      through: HTTPClientTransport(on: MultiThreadedEventLoopGroup.singleton),
      credentials: try Credentials(store: stage.store, handed: nil, world: stage.world),
      health: ProviderHealth { _, _ in }, world: stage.world,
      log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let verifier = IDTokenVerifier(http: http, world: stage.world)
    let provider = try ProviderConfig.sample()
    var metadata = OIDCMetadata(issuer: "https://id.example")
    metadata.jwksURI = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/jwks"
    metadata.idTokenAlgorithms = ["ES256"]
    try await body(server, stage.clock) { [metadata] token in
      await verifier.verify(token, metadata: metadata, provider: provider)
    }
    await http.shutdown()
    try await channel.close()
  }

  private static func set(_ keys: JSONValue...) -> JSONValue { ["keys": .array(keys)] }

  @Test("is fetched anew once for a token without kid that the known key did not sign")
  func rotated() async throws {
    try await withVerifier(Self.set(Vector.oldKey)) { server, _, verify in
      #expect(await verify(Vector.oldToken) == Vector.payload)
      server.serve(Self.set(Vector.newKey))
      #expect(await verify(Vector.newToken) == Vector.payload)
      #expect(server.fetches == 2)
      let refused = IDTokenVerdict.refused(message: "the ID token's signature is wrong")
      #expect(await verify(Vector.oldToken) == refused, "the old key is gone")
      #expect(server.fetches == 2, "at most one such fetch a minute")
    }
  }

  @Test("a fetch that fails after a rotation refuses nobody, and is tried again after a second")
  func failedFetch() async throws {
    try await withVerifier(Self.set(Vector.oldKey)) { server, clock, verify in
      #expect(await verify(Vector.oldToken) == Vector.payload)
      server.serve(Self.set(Vector.newKey))
      server.fail(1)
      let unreachable = IDTokenVerdict.unreachable(
        message: "the provider's key set answers HTTP 503")
      #expect(await verify(Vector.newToken) == unreachable)
      #expect(await verify(Vector.newToken) == unreachable)
      #expect(server.fetches == 2, "a failing fetch is tried once a second")
      #expect(await verify(Vector.oldToken) == Vector.payload)
      clock.advance(by: .seconds(1))
      #expect(await verify(Vector.newToken) == Vector.payload)
      #expect(server.fetches == 3)
    }
  }

  @Test("two sign-ins with a new key at the same time share one fetch")
  func together() async throws {
    try await withVerifier(Self.set(Vector.oldKey)) { server, _, verify in
      #expect(await verify(Vector.oldToken) == Vector.payload)
      server.serve(Self.set(Vector.newKey))
      server.hold()
      async let first = verify(Vector.newToken)
      while server.fetches < 2 { await Task.yield() }
      async let second = verify(Vector.newToken)
      async let third = verify(Vector.newToken)
      for _ in 0..<1000 { await Task.yield() }
      server.release()
      #expect(await [first, second, third] == [Vector.payload, Vector.payload, Vector.payload])
      #expect(server.fetches == 2)
    }
  }

  @Test("is fetched at most once a minute for keys it does not have")
  func unknown() async throws {
    try await withVerifier(Self.set(Vector.oldKey)) { server, clock, verify in
      #expect(await verify(Vector.oldToken) == Vector.payload)
      for number in 1...5 {
        guard case .refused = await verify(Vector.token(kid: "kid-\(number)")) else {
          Issue.record("not refused")
          return
        }
      }
      #expect(server.fetches == 2)
      clock.advance(by: .seconds(60))
      _ = await verify(Vector.token(kid: "kid-6"))
      _ = await verify(Vector.token(kid: "kid-7"))
      #expect(server.fetches == 3)
      #expect(await verify(Vector.oldToken) == Vector.payload)
    }
  }
}
