import Foundation
import Testing

@testable import UsherSandbox

@Suite("HTTP server of the sandbox", .timeLimit(.minutes(10)))
struct ServerTests {
  private let discovery = "/oidc/.well-known/openid-configuration"

  @Test("the sandbox serves both discovery documents by its own clock and refuses a foreign Host")
  func serves() async throws {
    var configuration = Sandbox.Configuration()
    configuration.now = { start }
    try await withSandbox(configuration) { base in
      for path in [discovery, "/.well-known/oauth-authorization-server/oidc"] {
        let answer = try await Exchange.get(base, path)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.contains("\"issuer\":\"\(base)/oidc\""))
        #expect(answer.contains("Date: Fri, 15 Jan 2027 08:00:00 GMT"))
      }
      #expect(try await Exchange.get(base, "/").contains("development tool"))
      #expect(try await Exchange.get(base, "/oidc/nothing/here").hasPrefix("HTTP/1.1 404"))
      #expect(try await Exchange.get(base, "/oidc/token").hasPrefix("HTTP/1.1 405"))
      #expect(try await Exchange.get(base, "/", host: "evil.example").hasPrefix("HTTP/1.1 421"))
      #expect(try await Exchange.get(base, "/", host: "localhost:80").hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test("fault rules make the server reset the TCP connection, halve a body or send a huge body")
  func faults() async throws {
    try await withSandbox { base in
      func strike(_ fault: String) async throws {
        let rule = #"{"endpoint":"discovery","times":1,"fault":\#(fault)}"#
        #expect(try await Exchange.post(base, "/_control/faults", rule).hasPrefix("HTTP/1.1 201"))
      }
      try await strike(#"{"reset":true}"#)
      await #expect(throws: Exchange.Failure.connection(ECONNRESET)) {
        try await Exchange.get(base, discovery)
      }
      let whole = try await Exchange.get(base, discovery).bodySize
      try await strike(#"{"halfBody":true}"#)
      let half = try await Exchange.get(base, discovery)
      #expect(half.contains("Content-Length: \(whole)\r\n"))
      #expect(half.bodySize == whole / 2)
      try await strike(#"{"hugeBody":2000000}"#)
      #expect(try await Exchange.get(base, discovery).bodySize == 2_000_000)
      let log = try await Exchange.get(base, "/_control/requests?endpoint=discovery")
      #expect(log.contains("\"count\":4"))
    }
  }

  @Test("a request body over the limit is refused with status 413")
  func limit() async throws {
    try await withSandbox { base in
      let body = String(repeating: "x", count: SandboxRouter.bodyLimit + 1)
      let answer = try await Exchange.post(base, "/oidc/token", body)
      #expect(answer.hasPrefix("HTTP/1.1 413"))
    }
  }

  @Test(
    "a sandbox with a non-loopback host, an invalid port or a reserved issuer path is refused",
    arguments: [
      ("0.0.0.0", 0, "/oidc"), ("127.0.0.1", 65_536, "/oidc"), ("::1", 0, "/_control"),
      ("127.0.0.1", 0, "/truecaller"),
    ])
  func refused(_ host: String, _ port: Int, _ path: String) {
    var configuration = Sandbox.Configuration()
    (configuration.host, configuration.port, configuration.issuerPath) = (host, port, path)
    #expect(throws: Sandbox.ConfigurationError.self) { try Sandbox(configuration) }
  }

  @Test(
    "a users file replaces only the list it contains, the standard users or the standard clients")
  func population() throws {
    let text = #"{"users":[{"username":"eve","password":"p"}]}"#
    let population = try Sandbox.Population(parsing: Array(text.utf8))
    #expect(population.users == [User(username: "eve", password: "p")])
    #expect(population.users.first?.sub == "usr_eve")
    #expect(population.clients == Client.standard)
    let clients = try Sandbox.Population(parsing: Array(#"{"clients":[{"id":"app"}]}"#.utf8))
    #expect(clients.clients == [Client(id: "app", name: "app")])
    #expect(clients.users == Users.standard)
  }
}
