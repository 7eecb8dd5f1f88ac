import Testing
import UsherTestKit

@Suite("Time limits of test sockets", .mayBlock)
struct TestSocketTests {
  @Test("a connection that a listener with a full backlog does not accept fails at its time limit")
  func connecting() throws {
    let listener = try TestSocket(listeningAt: .loopback(port: 0), backlog: 0)
    // A backlog of zero has room for one connection.
    let first = try TestSocket(connectedTo: .loopback(port: listener.port))
    let error = #expect(throws: TestError.self) {
      try Web.send("GET", "http://127.0.0.1:\(listener.port)", within: 0)
    }
    #expect(error?.description == "no connection to 127.0.0.1:\(listener.port) in time")
    withExtendedLifetime(first) {}
  }

  @Test("a send to a socket that nobody reads fails at its time limit")
  func sending() throws {
    let listener = try TestSocket(listeningAt: .loopback(port: 0))
    let client = try TestSocket(connectedTo: .loopback(port: listener.port))
    // More than the kernel's buffers of a connection can hold.
    let bytes = [UInt8](repeating: 0x78, count: 64 << 20)
    let error = #expect(throws: TestError.self) {
      try client.send(bytes, by: TestDeadline(within: 0))
    }
    #expect(error?.description.hasSuffix("bytes were not read in time") == true)
  }
}
