import JSONRPC
import Synchronization
import Testing
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

@Suite("Metadata of OpenID providers", .timeLimit(.minutes(10)))
struct MetadataCacheTests {
  /// A provider with a path in its issuer that publishes the given documents.
  private final class Provider: Sendable {
    private struct State {
      var documents: [String: HTTPStub.Reply] = [:]
      var requests: [String] = []
    }

    private let state = Mutex(State())

    /// Publishes a document with these members and the issuer; an integer answers with that status.
    func publish(_ path: String, _ members: [String: JSONValue], issuer: String) {
      let document = JSONValue.object(members.merging(["issuer": .string(issuer)]) { $1 })
      let reply = HTTPStub.Reply(json: String(decoding: document.encoded(), as: UTF8.self))
      state.withLock { $0.documents[path] = reply }
    }

    func fail(_ path: String, status: Int) {
      state.withLock { $0.documents[path] = .init(status: status, json: "") }
    }

    /// The paths that were requested since the last call, in alphabetical order.
    func requests() -> [String] {
      state.withLock { state in
        defer { state.requests = [] }
        return state.requests.sorted()
      }
    }

    func answer(_ path: String) -> HTTPStub.Reply {
      state.withLock { state in
        state.requests.append(path)
        return state.documents[path] ?? .init(status: 404, json: "")
      }
    }
  }

  private static let appended = "/realm/.well-known/openid-configuration"
  private static let inserted = "/.well-known/oauth-authorization-server/realm"
  private static let all = [
    inserted, "/.well-known/openid-configuration/realm",
    "/realm/.well-known/oauth-authorization-server", appended,
  ]

  /// Runs `body` with a provider, its issuer, and a function that asks for its metadata.
  private func withProvider(
    _ body: (
      Provider, _ issuer: String, FakeClock, _ discovery: () async throws -> Discovery
    ) async throws -> Void
  ) async throws {
    let provider = Provider()
    let stub = try await HTTPStub { provider.answer($0.path) }
    let harness = try FlowHarness()
    let cache = MetadataCache(http: harness.http, dependencies: harness.dependencies)
    let issuer = stub.origin + "/realm"
    let config = ProviderConfig(
      name: .work,
      settings: OIDCSettings(issuer: try ProviderURL(setting: issuer), clientID: "usher"))
    try await body(provider, issuer, harness.clock) { await cache.discovery(of: config) }
    await harness.http.shutdown()
    try await stub.close()
  }

  private static func endpoints(_ discovery: Discovery) -> [String?] {
    guard case .found(let metadata) = discovery else { return [] }
    return [metadata.tokenEndpoint, metadata.deviceAuthorizationEndpoint]
  }

  @Test("an endpoint that only one of the four documents names is found, wherever that is")
  func merged() async throws {
    for path in Self.all where path != Self.appended {
      try await withProvider { provider, issuer, _, discovery in
        provider.publish(
          Self.appended, ["token_endpoint": .string(issuer + "/token")], issuer: issuer)
        provider.publish(
          path, ["device_authorization_endpoint": .string(issuer + "/device")], issuer: issuer)
        let found = Self.endpoints(try await discovery())
        #expect(found == [issuer + "/token", issuer + "/device"])
        #expect(provider.requests() == Self.all)
      }
    }
  }

  @Test("a document that does not exist is remembered for an hour, like one that does")
  func missing() async throws {
    try await withProvider { provider, issuer, clock, discovery in
      provider.publish(
        Self.inserted, ["token_endpoint": .string(issuer + "/token")], issuer: issuer)
      for _ in 0..<3 {
        let found = Self.endpoints(try await discovery())
        #expect(found.first == issuer + "/token")
      }
      #expect(provider.requests() == Self.all)
      clock.advance(by: .seconds(3599))
      _ = try await discovery()
      #expect(provider.requests() == [])
      clock.advance(by: .seconds(2))
      _ = try await discovery()
      #expect(provider.requests() == Self.all)
    }
  }

  @Test("a document that answers 5xx is asked for again after five minutes, not at each refresh")
  func failing() async throws {
    try await withProvider { provider, issuer, clock, discovery in
      provider.publish(
        Self.appended, ["token_endpoint": .string(issuer + "/token")], issuer: issuer)
      provider.fail(Self.inserted, status: 503)
      for _ in 0..<3 {
        let found = Self.endpoints(try await discovery())
        #expect(found == [issuer + "/token", nil])
      }
      #expect(provider.requests() == Self.all)
      provider.publish(
        Self.inserted, ["device_authorization_endpoint": .string(issuer + "/device")],
        issuer: issuer)
      clock.advance(by: .seconds(299))
      var found = Self.endpoints(try await discovery())
      #expect(found == [issuer + "/token", nil])
      clock.advance(by: .seconds(2))
      found = Self.endpoints(try await discovery())
      #expect(found == [issuer + "/token", issuer + "/device"])
      #expect(provider.requests() == Self.all)
    }
  }

  @Test("while no document can be fetched, nothing is remembered")
  func unreachable() async throws {
    try await withProvider { provider, issuer, _, discovery in
      for path in Self.all { provider.fail(path, status: 503) }
      guard case .unreachable = try await discovery() else {
        Issue.record("the metadata is not unreachable")
        return
      }
      provider.publish(
        Self.appended, ["token_endpoint": .string(issuer + "/token")], issuer: issuer)
      let found = Self.endpoints(try await discovery())
      #expect(found.first == issuer + "/token")
    }
  }
}
