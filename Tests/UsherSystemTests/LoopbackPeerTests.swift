import Glibc
import Testing
import UsherTestKit

@testable import UsherSystem

@Suite("Owner of a loopback connection", .mayBlock)
struct LoopbackPeerTests {
  private typealias Endpoint = LoopbackPeer.Endpoint

  /// A listening TCP socket and one connection to it.
  private final class Connection {
    let listener: CInt
    var accepted: CInt = -1
    var client: CInt = -1

    init(family: CInt = AF_INET) throws {
      listener = socket(family, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
      try #require(listener >= 0)
      try #require(Self.call(bind, listener, family, port: 0) == 0)
      try #require(listen(listener, 4) == 0)
    }

    deinit {
      for descriptor in [listener, accepted, client] where descriptor >= 0 { close(descriptor) }
    }

    var port: UInt16 { Self.port(of: listener) }

    /// Connects through a socket of `family`; an IPv6 socket may use the IPv4-mapped address.
    func connectOurselves(family: CInt = AF_INET, mapped: Bool = false) throws {
      client = socket(family, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
      try #require(Self.call(connect, client, family, port: port, mapped: mapped) == 0)
      try takeCaller()
    }

    func takeCaller() throws { accepted = try UsherSystemTests.accepted(listener) }

    var remotePort: UInt16 { Self.port(of: accepted, getpeername) }

    static func port(
      of socket: CInt,
      _ name: (CInt, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt =
        getsockname
    ) -> UInt16 {
      var address = sockaddr_in6()
      var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
      _ = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(socket, $0, &size) }
      }
      return UInt16(bigEndian: address.sin6_port)  // at the same place in both families
    }

    static func call(
      _ function: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt, _ socket: CInt,
      _ family: CInt, port: UInt16, mapped: Bool = false
    ) -> CInt {
      var bytes = [UInt8](repeating: 0, count: family == AF_INET ? 16 : 28)
      withUnsafeBytes(of: sa_family_t(family)) { bytes.replaceSubrange(0..<2, with: $0) }
      withUnsafeBytes(of: port.bigEndian) { bytes.replaceSubrange(2..<4, with: $0) }
      if family == AF_INET {
        bytes.replaceSubrange(4..<8, with: [127, 0, 0, 1])
      } else if mapped {
        bytes.replaceSubrange(18..<24, with: [0xff, 0xff, 127, 0, 0, 1])
      } else {
        bytes[23] = 1
      }
      return bytes.withUnsafeBytes { buffer in
        guard let base = buffer.baseAddress else { return -1 }
        return function(
          socket, base.assumingMemoryBound(to: sockaddr.self), socklen_t(buffer.count))
      }
    }
  }

  private func ends(
    _ connection: Connection, address: String = "127.0.0.1"
  ) throws -> (client: Endpoint, server: Endpoint) {
    (
      try #require(Endpoint(address: address, port: connection.remotePort)),
      try #require(Endpoint(address: address, port: connection.port))
    )
  }

  private func expectOwner(
    _ uid: uid_t?, of connection: Connection, at address: String = "127.0.0.1",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let (client, server) = try ends(connection, address: address)
    let netlink = LoopbackPeer.uidByNetlink(client: client, server: server)
    let proc = LoopbackPeer.uidByProc(client: client, server: server)
    #expect(netlink == uid && proc == uid, sourceLocation: sourceLocation)
    #expect(
      LoopbackPeer.uid(client: client, server: server) == uid, sourceLocation: sourceLocation)
  }

  @Test("the owner of this process's own TCP connection is found by netlink and by /proc")
  func ours() throws {
    let (four, six, mapped) = (try Connection(), try Connection(family: AF_INET6), try Connection())
    try four.connectOurselves()
    try expectOwner(geteuid(), of: four)
    try six.connectOurselves(family: AF_INET6)
    try expectOwner(geteuid(), of: six, at: "::1")
    // An IPv6 socket with an IPv4-mapped address.
    try mapped.connectOurselves(family: AF_INET6, mapped: true)
    for address in ["127.0.0.1", "::ffff:127.0.0.1"] {
      try expectOwner(geteuid(), of: mapped, at: address)
    }
  }

  @Test("another user's TCP connection has that user as its owner", .enabled(if: isRoot, needsRoot))
  func others() throws {
    let connection = try Connection()
    let child = try Child(Caller.other(uid: 65534, Caller.tcp(port: connection.port)))
    defer { child.end() }
    try connection.takeCaller()
    try expectOwner(65534, of: connection)
  }

  @Test("a closed client socket has no owner, rather than root")
  func orphaned() throws {
    let connection = try Connection()
    try connection.connectOurselves()
    let (client, server) = try ends(connection)
    close(connection.client)
    connection.client = -1
    #expect(LoopbackPeer.uidByNetlink(client: client, server: server) == nil)
    #expect(LoopbackPeer.uidByProc(client: client, server: server) == nil)
  }

  @Test("a process that listens on a port is not the owner of connections from that port")
  func listener() throws {
    let listening = try Connection()
    let server = try #require(Endpoint(address: "127.0.0.1", port: 9))
    let client = try #require(Endpoint(address: "127.0.0.1", port: listening.port))
    #expect(LoopbackPeer.uid(client: client, server: server) == nil)
  }

  @Test("an address outside of loopback is not looked up")
  func elsewhere() throws {
    let near = try #require(Endpoint(address: "127.0.0.1", port: 1))
    for address in ["192.0.2.1", "::", "::2", "::ffff:192.0.2.1", "2001:db8::1"] {
      let far = try #require(Endpoint(address: address, port: 1))
      #expect(!far.isLoopback)
      #expect(LoopbackPeer.uid(client: far, server: near) == nil)
    }
    #expect(near.isLoopback)
    #expect(Endpoint(address: "::1", port: 1)?.isLoopback == true)
    #expect(Endpoint(address: "127.255.0.9", port: 1)?.isLoopback == true)
  }

  @Test("an endpoint needs an IP address literal", arguments: ["", "localhost", "127.1", "::1%lo"])
  func literals(text: String) {
    #expect(Endpoint(address: text, port: 1) == nil)
  }

  @Test("LoopbackPeer finds the users that listen on a port, and none for a free address")
  func listeners() throws {
    let connection = try Connection()
    let here = try #require(Endpoint(address: "127.0.0.1", port: connection.port))
    let elsewhere = try #require(Endpoint(address: "127.0.0.2", port: connection.port))
    #expect(LoopbackPeer.listeners(at: here) == [geteuid()])
    #expect(LoopbackPeer.listeners(at: elsewhere) == [])
  }

  @Test("a listener on all addresses of a port counts for each of its addresses")
  func wildcards() throws {
    let text = """
        sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
         0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 77 1
         1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 78 1
         2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1002        0 79 1
         3: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1003        0 80 1
         4: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A \
      00000000:00000000 00:00000000 00000000  1004        0 81 1
      """
    let server = try #require(Endpoint(address: "127.0.0.1", port: 8080))
    #expect(ConnectionTable.listeners(in: text, at: server) == [1000, 1001, 1004])
  }

  @Test("malformed lines of the kernel's connection table are skipped")
  func table() throws {
    let text = """
        sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
         0: 0100007F:9C40 0100007F:1F90 0A 00000000:00000000 00:00000000 00000000    11        0 77 1
         1: 0100007F:9C40 0100007F:1F90 06 00000000:00000000 03:00000000 00000000     0        0 0 3
       odd
         2: 0100007F:zzzz 0100007F:1F90 01 00000000:00000000 00:00000000 00000000    12        0 77 1
         3: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 78 1
      """
    let client = try #require(Endpoint(address: "127.0.0.1", port: 40000))
    let server = try #require(Endpoint(address: "127.0.0.1", port: 8080))
    #expect(ConnectionTable.owner(in: text, client: client, server: server) == 1000)
    #expect(ConnectionTable.owner(in: text, client: server, server: client) == nil)
    #expect(ConnectionTable.owner(in: "", client: client, server: server) == nil)
  }
}
