import CSystemd
import Glibc

/// Finds the user behind a TCP connection to a loopback listener, for which TCP has no peer
/// credentials.
///
/// A browser delivers the result of a sign-in to such a listener. RFC 8252 §8.6 does not restrict
/// who may connect to it. Comparing the uid keeps one user of the machine from completing another
/// user's sign-in.
package enum LoopbackPeer {
  /// One end of a TCP connection.
  package struct Endpoint: Sendable, Equatable {
    /// The IPv6 address in network byte order. An IPv4 address is in its IPv4-mapped form
    /// `::ffff:a.b.c.d`.
    let address: [UInt8]
    let port: UInt16

    /// - Parameter address: An IPv4 or IPv6 literal without a zone. The initializer returns nil for
    ///   any other text.
    package init?(address: String, port: UInt16) {
      var bytes = [UInt8](repeating: 0, count: 16)
      if inet_pton(AF_INET6, address, &bytes) != 1 {
        bytes = [UInt8](repeating: 0, count: 4)
        guard inet_pton(AF_INET, address, &bytes) == 1 else { return nil }
      }
      self.init(bytes: bytes, port: port)
    }

    var isLoopback: Bool {
      address.starts(with: Self.mapped)
        ? address[12] == 127 : address.dropLast().allSatisfy { $0 == 0 } && address[15] == 1
    }

    /// Whether the address is the wildcard address (`0.0.0.0` or `::`), at which a socket listens
    /// on every address of the machine.
    var isWildcard: Bool {
      (address.starts(with: Self.mapped) ? address.dropFirst(12) : address[...])
        .allSatisfy { $0 == 0 }
    }

    /// The first 12 bytes of an IPv4-mapped address, RFC 4291 §2.5.5.2.
    static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
  }

  /// Returns the user whose process holds the socket at the client's end.
  ///
  /// Asks the kernel through sock_diag(7), or reads `/proc/net/tcp` if that fails. Returns nil if
  /// the connection is not on loopback or is unknown, or if no process holds its socket any more.
  /// The user is then unknown, and the caller should grant nothing.
  ///
  /// - Parameters:
  ///   - client: The remote end of the connection, as reported by accept(2).
  ///   - server: The local end of the connection, as reported by getsockname(2).
  package static func uid(client: Endpoint, server: Endpoint) -> UInt32? {
    guard client.isLoopback, server.isLoopback else { return nil }
    return uidByNetlink(client: client, server: server)
      ?? uidByProc(client: client, server: server)
  }

  /// Returns the users with a socket that listens at the given loopback address, or at the wildcard
  /// address with the same port.
  ///
  /// Reads `/proc/net/tcp`, which is slow if there are many sockets. Does not find a socket that is
  /// bound but does not listen.
  ///
  /// - Returns: An empty set if no socket listens there. Nil if the kernel's list cannot be read.
  package static func listeners(at server: Endpoint) -> Set<UInt32>? {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].compactMap(ConnectionTable.text)
    guard !tables.isEmpty else { return nil }
    return tables.reduce(into: []) { users, text in
      users.formUnion(ConnectionTable.listeners(in: text, at: server))
    }
  }

  static func uidByNetlink(client: Endpoint, server: Endpoint) -> UInt32? {
    var owner = UInt32.max
    let result = usher_tcp_owner(
      client.address, client.port, server.address, server.port, &owner)
    return result == 0 ? owner : nil
  }

  static func uidByProc(client: Endpoint, server: Endpoint) -> UInt32? {
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
      guard let text = ConnectionTable.text(of: table) else { continue }
      if let uid = ConnectionTable.owner(in: text, client: client, server: server) { return uid }
    }
    return nil
  }
}
