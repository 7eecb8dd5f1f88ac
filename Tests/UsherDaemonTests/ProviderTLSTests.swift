import NIOSSL
import Testing
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

@Suite("TLS of provider calls", .timeLimit(.minutes(10)))
struct ProviderTLSTests {
  private static let answer = TLSServer.Answer.whole(
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

  @Test(
    "a server that supports at most TLS 1.0 or 1.1 gets no request",
    arguments: [
      TLSVersion.tlsv1, .tlsv11,
    ])
  func old(version: TLSVersion) async throws {
    let exchange = try await TLSExchange(Self.answer) { configuration in
      configuration.minimumTLSVersion = .tlsv1
      configuration.maximumTLSVersion = version
      configuration.cipherSuiteValues = [.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA]
    }
    let outcome = try await exchange.outcome()
    #expect(outcome.mayBeSeen == false, "\(outcome)")
    #expect(exchange.server.requests == 0)
  }

  @Test("a server that supports only CBC ciphers gets no request")
  func blockCiphers() async throws {
    let exchange = try await TLSExchange(Self.answer) { configuration in
      configuration.maximumTLSVersion = .tlsv12
      configuration.cipherSuiteValues = [.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA]
    }
    let outcome = try await exchange.outcome()
    #expect(outcome.mayBeSeen == false, "\(outcome)")
    #expect(exchange.server.requests == 0)
  }

  @Test(
    "a ca_file that is missing or has no certificate is named in the error, and nothing is sent",
    arguments: [nil, "", "no certificate"] as [String?])
  func unusableAuthorities(content: String?) async throws {
    let exchange = try await TLSExchange(Self.answer)
    let outcome = try await exchange.outcome(authorities: content)
    guard case .unreachable(let message, sent: false) = outcome else {
      Issue.record("the outcome is \(outcome)")
      return
    }
    #expect(message.contains("ca_file \(exchange.harness.place.file("ca.pem"))"), "\(message)")
    #expect(exchange.server.requests == 0)
  }

  @Test("a call to a server with TLS 1.2 or 1.3 succeeds", arguments: [TLSVersion.tlsv12, .tlsv13])
  func current(version: TLSVersion) async throws {
    let exchange = try await TLSExchange(Self.answer) { $0.maximumTLSVersion = version }
    guard case .reply(let reply) = try await exchange.outcome() else {
      Issue.record("the call got no reply")
      return
    }
    #expect(reply.status == 200)
  }
}
