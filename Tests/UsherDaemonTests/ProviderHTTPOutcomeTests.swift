import Logging
import NIOCore
import NIOSSL
import Testing
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

/// A ``ProviderHTTP`` that calls a ``TLSServer`` once.
struct TLSExchange {
  let server: TLSServer
  let harness: FlowHarness

  init(
    _ answer: TLSServer.Answer, _ change: @Sendable (inout TLSConfiguration) -> Void = { _ in }
  ) async throws {
    server = try await TLSServer(answer, change)
    harness = try FlowHarness()
  }

  /// - Parameters:
  ///   - isTrusted: Whether the client trusts the server's certificate.
  ///   - authorities: The content of `ca_file` in place of that certificate; nil: the file that
  ///     `ca_file` names does not exist.
  ///   - call: Creates the call from metadata whose endpoints are all the server.
  func outcome(
    isTrusted: Bool = true, authorities: String? = TLSServer.certificate,
    of call: (OIDCMetadata) -> OIDCCall = Self.redemption
  ) async throws -> CallOutcome {
    var provider = try ProviderConfig.sample()
    provider.http.requestTimeoutSeconds = 10
    if isTrusted {
      provider.http.caFile = harness.place.file("ca.pem")
      if let authorities { try harness.place.write(authorities, to: "ca.pem") }
    }
    var metadata = OIDCMetadata(issuer: "https://id.example")
    metadata.tokenEndpoint = server.url
    metadata.deviceAuthorizationEndpoint = server.url
    metadata.userinfoEndpoint = server.url
    let outcome = await harness.http.send(call(metadata), for: provider)
    await harness.http.shutdown()
    try await server.close()
    return outcome
  }

  static func redemption(_ metadata: OIDCMetadata) -> OIDCCall {
    .exchange(
      .init(
        code: Secret("code-secret"), verifier: Secret("verifier-secret"),
        redirectURI: "http://127.0.0.1:1/callback"), metadata)
  }
}

extension CallOutcome {
  /// Whether the provider may have received the call, or `nil` if it replied.
  var mayBeSeen: Bool? {
    if case .unreachable(_, let sent) = self { sent } else { nil }
  }
}

@Suite("Outcomes of provider calls on failing connections", .timeLimit(.minutes(10)))
struct ProviderHTTPOutcomeTests {
  @Test(
    "a call whose connection fails after the request has an unknown outcome and is not repeated",
    arguments: [
      TLSServer.Answer.reset(""), .cut(""), .reset("HTTP/1.1 200 O"), .cut("HTTP/1.1 200 O"),
      .reset("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
      .cut("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
      .cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"),
      .cut("HTTP/1.1 200 OK\r\n\r\nhalf"), .reset("HTTP/1.1 200 OK\r\n\r\nhalf"),
      .brokenRecord, .cut("no HTTP at all\r\n\r\n"),
    ])
  func unknown(answer: TLSServer.Answer) async throws {
    let exchange = try await TLSExchange(answer)
    let outcome = try await exchange.outcome()
    #expect(outcome.mayBeSeen == true, "\(outcome)")
    #expect(exchange.server.requests == 1)
  }

  @Test("a provider call without a trusted TLS connection is known not to have been sent")
  func untrusted() async throws {
    let exchange = try await TLSExchange(.whole("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    #expect(try await exchange.outcome(isTrusted: false).mayBeSeen == false)
    #expect(exchange.server.requests == 0)
  }
}
