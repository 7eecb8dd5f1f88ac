import NIOCore
import NIOPosix
import Synchronization
import UsherConfig
import UsherTestKit

@testable import UsherDaemon

/// An OpenID provider on the loopback. The test decides what it answers, and when.
final class ScriptedProvider: Sendable {
  struct Reply: Sendable {
    var status = 200
    var json = "{}"
  }

  fileprivate struct Request {
    let path: String
    let body: String
  }

  private struct State {
    var refreshes = 0
    var refreshReply: Reply?
    var revocationStatus = 200
    var revoked: [String] = []
  }

  private final class Script: Sendable {
    let state = Mutex(State())
    /// Open once refreshes are answered.
    let answers = Gate()
  }

  private let script: Script
  private let server: any Channel

  init() async throws {
    let script = Script()
    self.script = script
    server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        let issuer = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
        return channel.pipeline.addHandler(
          ScriptedConnection { await Self.answer($0, issuer, script) })
      }
      .bind(host: "127.0.0.1", port: 0).get()
  }

  var issuer: ProviderURL {
    get throws {
      try ProviderURL(setting: "http://127.0.0.1:\(server.localAddress?.port ?? 0)")
    }
  }

  /// The number of refreshes that have arrived.
  var refreshes: Int { script.state.withLock { $0.refreshes } }

  /// The tokens that were revoked, in order.
  var revoked: [String] { script.state.withLock { $0.revoked } }

  /// Answers the refreshes; until then they wait.
  func answerRefreshes(_ json: String, status: Int = 200) {
    script.state.withLock { $0.refreshReply = Reply(status: status, json: json) }
    script.answers.open()
  }

  func answerRevocations(status: Int) {
    script.state.withLock { $0.revocationStatus = status }
  }

  /// A refresh that still waits is answered with 503.
  func close() async throws {
    script.answers.open()
    try await server.close()
  }

  private static func answer(
    _ request: Request, _ issuer: String, _ script: Script
  ) async -> Reply {
    switch request.path {
    case "/token":
      script.state.withLock { $0.refreshes += 1 }
      await script.answers.pass()
      return script.state.withLock { $0.refreshReply } ?? Reply(status: 503)
    case "/revoke":
      let token = request.body.split(separator: "&").first { $0.hasPrefix("token=") }
      return script.state.withLock { state in
        if state.revocationStatus == 200 {
          state.revoked.append(token.map { String($0.dropFirst(6)) } ?? "")
        }
        return Reply(status: state.revocationStatus)
      }
    case let path where path.contains("/.well-known/"):
      return Reply(
        json: """
          {"issuer": "\(issuer)", "authorization_endpoint": "\(issuer)/authorize", \
          "token_endpoint": "\(issuer)/token", "revocation_endpoint": "\(issuer)/revoke", \
          "jwks_uri": "\(issuer)/jwks", "response_types_supported": ["code"]}
          """)
    default: return Reply(status: 404)
    }
  }
}

extension TokenFixture {
  /// Runs a test, and closes the connections however it ends.
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

/// One HTTP/1.1 connection: one request at a time.
private final class ScriptedConnection: ChannelInboundHandler, Sendable {
  typealias InboundIn = ByteBuffer

  private let answer: @Sendable (ScriptedProvider.Request) async -> ScriptedProvider.Reply
  private let received = Mutex("")

  init(_ answer: @escaping @Sendable (ScriptedProvider.Request) async -> ScriptedProvider.Reply) {
    self.answer = answer
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let text = String(buffer: unwrapInboundIn(data))
    let request = received.withLock { received -> ScriptedProvider.Request? in
      received += text
      guard let request = ScriptedProvider.Request(received) else { return nil }
      received = ""
      return request
    }
    guard let request else { return }
    let channel = context.channel
    Task { [answer] in
      let reply = await answer(request)
      let text = """
        HTTP/1.1 \(reply.status) Said\r\nContent-Type: application/json\r\n\
        Content-Length: \(reply.json.utf8.count)\r\n\r\n\(reply.json)
        """
      channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
    }
  }
}

extension ScriptedProvider.Request {
  /// - Returns: Nil where not all of it has come.
  fileprivate init?(_ text: String) {
    guard let gap = text.firstRange(of: "\r\n\r\n") else { return nil }
    let lines = text[..<gap.lowerBound].split(separator: "\r\n")
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count == 3 else { return nil }
    let length = lines.first { $0.lowercased().hasPrefix("content-length:") }
      .flatMap { Int($0.split(separator: " ").last ?? "") }
    let body = text[gap.upperBound...]
    guard body.utf8.count >= length ?? 0 else { return nil }
    self.init(path: String(words[1]), body: String(body))
  }
}
