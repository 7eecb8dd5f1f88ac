import JSONRPC
import Logging
import Synchronization
import Testing
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

/// A provider's key set that a test can replace, with a count of fetches.
private final class KeySetServer: Sendable {
  private struct State {
    var keys: JSONValue
    var fetches = 0
    /// The number of requests that get 503 from now on.
    var failures = 0
    /// The latch that requests wait for, or `nil` if they are answered at once.
    var hold: AsyncLatch?
  }

  private let state: Mutex<State>

  init(_ keys: JSONValue) { state = Mutex(State(keys: keys)) }

  func serve(_ keys: JSONValue) { state.withLock { $0.keys = keys } }
  func fail(_ times: Int) { state.withLock { $0.failures = times } }

  /// Holds all replies back until the latch is open.
  func hold(_ latch: AsyncLatch) { state.withLock { $0.hold = latch } }

  var fetches: Int { state.withLock { $0.fetches } }

  func answer() async -> HTTPStub.Reply {
    let hold = state.withLock { state in
      state.fetches += 1
      return state.hold
    }
    await hold?.wait()
    return state.withLock { state in
      guard state.failures == 0 else {
        state.failures -= 1
        return HTTPStub.Reply(status: 503, json: "")
      }
      return HTTPStub.Reply(json: String(decoding: state.keys.encoded(), as: UTF8.self))
    }
  }
}

/// ES256 key pairs and tokens signed with them. Neither token has a kid.
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

  /// Returns a token that names an unknown key.
  static func token(kid: String) -> Secret {
    let header: JSONValue = ["alg": "ES256", "kid": .string(kid)]
    let parts = [header.encoded(), Array(#"{"sub":"u-1"}"#.utf8), [UInt8](repeating: 1, count: 64)]
    return Secret(parts.map { Base64URL.encode($0) }.joined(separator: "."))
  }
}

@Suite("Key sets for ID tokens", .timeLimit(.minutes(10)))
struct IDTokenVerifierTests {
  /// Runs `body` with a verifier and the provider's key set.
  private func withVerifier(
    _ keys: JSONValue,
    _ body: (KeySetServer, FakeClock, @escaping @Sendable (Secret) async -> IDTokenVerdict)
      async throws -> Void
  ) async throws {
    let server = KeySetServer(keys)
    let stub = try await HTTPStub { _ in await server.answer() }
    let harness = try FlowHarness()
    let verifier = IDTokenVerifier(
      http: harness.http, credentials: harness.credentials, dependencies: harness.dependencies)
    let provider = try ProviderConfig.sample()
    var metadata = OIDCMetadata(issuer: "https://id.example")
    metadata.jwksURI = "\(stub.origin)/jwks"
    metadata.idTokenAlgorithms = ["ES256"]
    try await body(server, harness.clock) { [metadata] token in
      await verifier.verify(token, metadata: metadata, provider: provider)
    }
    await harness.http.shutdown()
    try await stub.close()
  }

  private static func set(_ keys: JSONValue...) -> JSONValue { ["keys": .array(keys)] }

  @Test("a wrong signature by a known key id does not make the key set be fetched again")
  func knownKey() async throws {
    var key = Vector.oldKey
    key["kid"] = "k1"
    try await withVerifier(Self.set(key)) { server, _, verify in
      let refused = IDTokenVerdict.refused(message: "the ID token's signature is wrong")
      for _ in 0..<2 { #expect(await verify(Vector.token(kid: "k1")) == refused) }
      #expect(server.fetches == 1)
    }
  }

  @Test("a token without kid that no known key signed makes the key set be fetched again, once")
  func rotated() async throws {
    try await withVerifier(Self.set(Vector.oldKey)) { server, _, verify in
      #expect(await verify(Vector.oldToken) == Vector.payload)
      server.serve(Self.set(Vector.newKey))
      #expect(await verify(Vector.newToken) == Vector.payload)
      #expect(server.fetches == 2)
      let refused = IDTokenVerdict.refused(message: "the ID token's signature is wrong")
      #expect(await verify(Vector.oldToken) == refused, "a token of the withdrawn key is refused")
      #expect(server.fetches == 2, "the keys are fetched at most once a minute for such a token")
    }
  }

  @Test("a failed key fetch leaves a token unverified, not refused, and is retried after a second")
  func failedFetch() async throws {
    try await withVerifier(Self.set(Vector.oldKey)) { server, clock, verify in
      #expect(await verify(Vector.oldToken) == Vector.payload)
      server.serve(Self.set(Vector.newKey))
      server.fail(1)
      let unreachable = IDTokenVerdict.unreachable(
        message: "the provider's key set answers HTTP 503")
      #expect(await verify(Vector.newToken) == unreachable)
      #expect(await verify(Vector.newToken) == unreachable)
      #expect(server.fetches == 2, "a failing fetch is repeated at most once a second")
      #expect(await verify(Vector.oldToken) == Vector.payload)
      clock.advance(by: .seconds(1))
      #expect(await verify(Vector.newToken) == Vector.payload)
      #expect(server.fetches == 3)
    }
  }

  @Test("concurrent sign-ins with a new key share one fetch of the key set")
  func together() async throws {
    try await withVerifier(Self.set(Vector.oldKey)) { server, _, verify in
      #expect(await verify(Vector.oldToken) == Vector.payload)
      server.serve(Self.set(Vector.newKey))
      let latch = AsyncLatch()
      server.hold(latch)
      async let first = verify(Vector.newToken)
      defer { latch.open() }
      try await reached("the key set is fetched again") { server.fetches >= 2 }
      async let second = verify(Vector.newToken)
      async let third = verify(Vector.newToken)
      for _ in 0..<1000 { await Task.yield() }
      latch.open()
      #expect(await [first, second, third] == [Vector.payload, Vector.payload, Vector.payload])
      #expect(server.fetches == 2)
    }
  }

  @Test("the key set is fetched at most once a minute for unknown kids")
  func unknown() async throws {
    try await withVerifier(Self.set(Vector.oldKey)) { server, clock, verify in
      #expect(await verify(Vector.oldToken) == Vector.payload)
      for number in 1...5 {
        guard case .refused = await verify(Vector.token(kid: "kid-\(number)")) else {
          Issue.record("the token is not refused")
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
