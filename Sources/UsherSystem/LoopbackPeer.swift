import CSystemd
import Glibc

/// Finds the user behind a connection to a loopback listener. TCP has no peer credentials.
///
/// RFC 8252 §8.6 does not say who may connect to a loopback port. Comparing the uid keeps one user
/// of the machine from completing another user's sign-in.
package enum LoopbackPeer {
  /// One end of a TCP connection.
  package struct Endpoint: Sendable, Equatable {
    /// An IPv6 address in network byte order. An IPv4 address is in its mapped form.
    let address: [UInt8]
    let port: UInt16

    /// - Parameter address: An IPv4 or IPv6 literal without a zone. Any other text gives nil.
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

    /// Whether it is the wildcard address, which stands for every address of the machine.
    var isWildcard: Bool {
      (address.starts(with: Self.mapped) ? address.dropFirst(12) : address[...])
        .allSatisfy { $0 == 0 }
    }

    /// The prefix of an IPv4 address in its mapped form.
    static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
  }

  /// Returns the user whose process holds the client's socket.
  ///
  /// Asks sock_diag, or reads `/proc` if that fails. Nil if the connection is not on loopback, is
  /// unknown, or no process holds its socket any more. The owner is then unknown, and the caller
  /// should grant nothing.
  ///
  /// - Parameters:
  ///   - client: The remote end, as reported by accept.
  ///   - server: The local end, as reported by getsockname.
  package static func uid(client: Endpoint, server: Endpoint) -> UInt32? {
    guard client.isLoopback, server.isLoopback else { return nil }
    return uidByNetlink(client: client, server: server)
      ?? uidByProc(client: client, server: server)
  }

  /// Returns the users with a socket that listens at a loopback address, or at all addresses with
  /// its port.
  ///
  /// Reads `/proc`, which is slow if there are many sockets. Does not find a socket that is bound
  /// but does not listen.
  ///
  /// - Returns: An empty set if nothing listens there. Nil if the kernel's list cannot be read.
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
