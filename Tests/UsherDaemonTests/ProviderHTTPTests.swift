import Logging
import NIOCore
import NIOPosix
import Testing
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

/// A loopback server that sends the same text to every client and leaves the connection open.
private final class Monologue: ChannelInboundHandler, Sendable {
  typealias InboundIn = ByteBuffer

  private let text: String

  init(_ text: String) { self.text = text }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
  }
}

@Suite("Provider calls over HTTP", .timeLimit(.minutes(10)))
struct ProviderHTTPTests {
  private func outcome(of answer: String, within seconds: Int = 60) async throws -> CallOutcome {
    let group = MultiThreadedEventLoopGroup.singleton
    let server = try await ServerBootstrap(group: group)
      .childChannelInitializer { channel in
        channel.pipeline.addHandler(Monologue(answer))
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(server.localAddress?.port)
    let harness = try FlowHarness()

    var provider = try ProviderConfig.sample()
    provider.http.requestTimeoutSeconds = seconds
    let outcome = await harness.http.send(
      OIDCCall.discovery(url: "http://127.0.0.1:\(port)/"), for: provider)
    await harness.http.shutdown()
    try await server.close()
    return outcome
  }

  @Test("a provider's reply is read with status, headers, body and the time of its request")
  func answered() async throws {
    let reply = HTTPReply(
      status: 200, headers: ["content-length": "2"], body: Array("{}".utf8))
    let outcome = try await outcome(of: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    guard case .reply(var found) = outcome else { throw TestError("no reply: \(outcome)") }
    #expect(found.requestedAt != nil)
    found.requestedAt = nil
    #expect(found == reply)
  }

  @Test(
    "a redirect by a provider is not followed, but fails the call",
    arguments: [301, 302, 303, 307, 308])
  func redirect(status: Int) async throws {
    let followed = Recorded<String>()
    let target = try await HTTPStub { request in
      followed.add(request.path)
      return .init()
    }
    let answer = """
      HTTP/1.1 \(status) Moved\r\nLocation: \(target.origin)/moved\r\nContent-Length: 0\r\n\r\n
      """
    let refused = CallOutcome.unreadable(
      message: "the provider answered with a redirect, which is not followed")
    #expect(try await outcome(of: answer) == refused)
    #expect(followed.all.isEmpty)
    try await target.close()
  }

  @Test("a provider's reply that never ends fails at the request timeout")
  func endless() async throws {
    let late = CallOutcome.unreachable(
      message: "the provider did not answer in time", sent: true)
    // Both run into the same timeout of one second.
    async let body = outcome(of: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", within: 1)
    async let head = outcome(of: "HTTP/1.1 200 OK\r\nContent-", within: 1)
    #expect(try await [body, head] == [late, late])
  }
}
