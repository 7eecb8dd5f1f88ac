import Foundation
import Glibc
import Testing

@testable import UsherSandbox

/// One HTTP exchange over a plain socket, read to its end.
private enum Exchange {
  enum Failure: Error, Equatable { case connection(Int32) }

  /// On a thread of its own: a socket that blocks must not hold one of the server's.
  private static func run(_ base: String, _ request: String) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try blocking(base, request) })
      }
    }
  }

  private static func blocking(_ base: String, _ request: String) throws -> String {
    let port = try #require(base.split(separator: ":").last.flatMap { UInt16($0) })
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw Failure.connection(errno) }
    let bytes = Array(request.utf8)
    guard send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw Failure.connection(errno)
    }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(socket, &buffer, buffer.count, 0)
      guard count >= 0 else { throw Failure.connection(errno) }
      guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
      answer += buffer[..<count]
    }
  }

  static func get(_ base: String, _ path: String, host: String = "127.0.0.1") async throws -> String
  {
    try await run(base, "GET \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
  }

  static func post(_ base: String, _ path: String, _ json: String) async throws -> String {
    try await run(
      base,
      "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        + "Content-Length: \(json.utf8.count)\r\n\r\n\(json)")
  }
}

@Suite("The server")
struct ServerTests {
  private let discovery = "/oidc/.well-known/openid-configuration"

  @Test("it serves both discovery documents on a port of its own, by its own clock")
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

  @Test("a reset is a TCP reset, half a body is cut, and a huge one is as long as asked")
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

  @Test("a body over the limit is refused")
  func limit() async throws {
    try await withSandbox { base in
      let body = String(repeating: "x", count: SandboxRouter.bodyLimit + 1)
      let answer = try await Exchange.post(base, "/oidc/token", body)
      #expect(answer.hasPrefix("HTTP/1.1 413"))
    }
  }

  @Test(
    "only loopback, only a port, only a path",
    arguments: [("0.0.0.0", 0, "/oidc"), ("127.0.0.1", 65_536, "/oidc"), ("::1", 0, "/_control")])
  func refused(_ host: String, _ port: Int, _ path: String) {
    var configuration = Sandbox.Configuration()
    (configuration.host, configuration.port, configuration.issuerPath) = (host, port, path)
    #expect(throws: Sandbox.Objection.self) { try Sandbox(configuration) }
  }

  @Test(
    "a users file brings its own people and keeps the standard clients, and the other way round")
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

extension String {
  /// Bytes after the head.
  fileprivate var bodySize: Int {
    split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false).last?.utf8.count
      ?? 0
  }
}
