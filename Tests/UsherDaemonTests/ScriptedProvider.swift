import Logging
import Synchronization
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon

/// An OpenID provider on the loopback interface. The test decides about its replies and their time.
final class ScriptedProvider: Sendable {
  private struct State {
    var refreshes = 0
    var refreshReply: HTTPStub.Reply?
    var beforeRefreshReply: @Sendable () -> Void = {}
    /// The replies to the first refreshes, before ``refreshReply``.
    var firstReplies: [HTTPStub.Reply] = []
    var revocationStatus = 200
    var revocations = 0
    var revoked: [String] = []
    var operations: [String] = []
  }

  private final class Script: Sendable {
    let state = Mutex(State())
    /// Opens when refreshes are answered.
    let answers = AsyncLatch()
  }

  private let script: Script
  private let server: HTTPStub

  init() async throws {
    let script = Script()
    self.script = script
    server = try await HTTPStub { await Self.answer($0, script) }
  }

  var issuer: ProviderURL { get throws { try ProviderURL(setting: server.origin) } }

  /// The address of a call that is refused with 401 unless its body is the token `access-2`.
  var operationURL: String { server.origin + "/operation" }

  /// The bodies of the calls at ``operationURL``, in order.
  var operations: [String] { script.state.withLock { $0.operations } }

  /// The number of refreshes that have arrived.
  var refreshes: Int { script.state.withLock { $0.refreshes } }

  /// The number of requests for revocations that have arrived.
  var revocations: Int { script.state.withLock { $0.revocations } }

  /// The tokens that were revoked, in order.
  var revoked: [String] { script.state.withLock { $0.revoked } }

  /// Answers one refresh before those that ``answerRefreshes(_:status:)`` answers. It waits for
  /// that call.
  func answerFirstRefresh(_ json: String, status: Int) {
    script.state.withLock { $0.firstReplies.append(.init(status: status, json: json)) }
  }

  /// Answers all refreshes from now on. Until then they wait.
  func answerRefreshes(_ json: String, status: Int = 200) {
    script.state.withLock { $0.refreshReply = .init(status: status, json: json) }
    script.answers.open()
  }

  /// Calls a function between each refresh and its reply.
  func beforeRefreshReply(_ body: @escaping @Sendable () -> Void) {
    script.state.withLock { $0.beforeRefreshReply = body }
  }

  func answerRevocations(status: Int) {
    script.state.withLock { $0.revocationStatus = status }
  }

  /// Answers refreshes that still wait with 503.
  func close() async throws {
    script.answers.open()
    try await server.close()
  }

  private static func answer(
    _ request: HTTPStub.Request, _ script: Script
  ) async -> HTTPStub.Reply {
    let issuer = request.origin
    switch request.path {
    case "/token":
      script.state.withLock { $0.refreshes += 1 }
      await script.answers.wait()
      script.state.withLock { $0.beforeRefreshReply }()
      return script.state.withLock { state in
        if !state.firstReplies.isEmpty { return state.firstReplies.removeFirst() }
        return state.refreshReply ?? .init(status: 503)
      }
    case "/revoke":
      let token = request.body.split(separator: "&").first { $0.hasPrefix("token=") }
      return script.state.withLock { state in
        state.revocations += 1
        if state.revocationStatus == 200 {
          state.revoked.append(token.map { String($0.dropFirst(6)) } ?? "")
        }
        return .init(status: state.revocationStatus)
      }
    case "/operation":
      script.state.withLock { $0.operations.append(request.body) }
      return .init(status: request.body == "access-2" ? 201 : 401)
    case let path where path.contains("/.well-known/"):
      return .init(
        json: """
          {"issuer": "\(issuer)", "authorization_endpoint": "\(issuer)/authorize", \
          "token_endpoint": "\(issuer)/token", "revocation_endpoint": "\(issuer)/revoke", \
          "jwks_uri": "\(issuer)/jwks", "response_types_supported": ["code"]}
          """)
    default: return .init(status: 404)
    }
  }
}

extension TokenFixture {
  convenience init(
    of provider: ScriptedProvider, log: Logger = .silent,
    _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws {
    let issuer = try provider.issuer
    try self.init(log: log) { settings in
      settings.issuer = issuer
      change(&settings)
    }
  }

  /// Runs a test and closes the connections even if it throws.
  func closing(
    _ provider: ScriptedProvider, _ body: () async throws -> Void
  ) async throws {
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    await close()
    try await provider.close()
    try result.get()
  }
}
