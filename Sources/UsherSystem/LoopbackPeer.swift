import CSystemd
import Glibc

/// Whose connection it is that reaches a loopback listener: TCP knows no peer credentials.
///
/// RFC 8252 §8.6 leaves it open who answers on a loopback port; the uid keeps one user of the
/// machine from finishing another's sign-in.
package enum LoopbackPeer {
  /// One end of a TCP connection.
  package struct Endpoint: Sendable, Equatable {
    /// IPv6 in network order; IPv4 in its mapped form.
    let address: [UInt8]
    let port: UInt16

    /// - Parameter address: An IPv4 or IPv6 literal, without a zone; nil for anything else.
    package init?(address: String, port: UInt16) {
      var bytes = [UInt8](repeating: 0, count: 16)
      if inet_pton(AF_INET6, address, &bytes) != 1 {
        var short = [UInt8](repeating: 0, count: 4)
        guard inet_pton(AF_INET, address, &short) == 1 else { return nil }
        bytes = [UInt8](repeating: 0, count: 10) + [0xff, 0xff] + short
      }
      self.address = bytes
      self.port = port
    }

    var isLoopback: Bool {
      address.starts(with: Self.mapped)
        ? address[12] == 127 : address.dropLast().allSatisfy { $0 == 0 } && address[15] == 1
    }

    /// Whether it stands for every address of the machine.
    var isWildcard: Bool {
      (address.starts(with: Self.mapped) ? address.dropFirst(12) : address[...])
        .allSatisfy { $0 == 0 }
    }

    private static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
  }

  /// The user whose process holds the client's socket.
  ///
  /// Asks sock_diag, else reads `/proc`. Nil where the connection is not on loopback, is not known,
  /// or nobody holds its socket any more: then nothing can be said, and nothing should be granted.
  ///
  /// - Parameters:
  ///   - client: The remote end, as accept reported it.
  ///   - server: Our end, as getsockname reports it.
  package static func uid(client: Endpoint, server: Endpoint) -> UInt32? {
    guard client.isLoopback, server.isLoopback else { return nil }
    return uidByNetlink(client: client, server: server)
      ?? uidByProc(client: client, server: server)
  }

  /// The users who listen at an address of the loopback, or at all addresses with its port.
  ///
  /// Reads `/proc`, which takes long where there are many sockets. Empty where nobody listens there;
  /// a socket that is bound and does not listen is not seen.
  ///
  /// - Returns: Nil where the kernel's list cannot be read.
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
