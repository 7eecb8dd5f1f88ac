import Glibc
import UsherSystem

extension Peer {
  /// Whether this kernel identifies a peer's process by a pidfd (SO_PEERPIDFD, Linux 6.5), and not
  /// only by a process id, which may be reused. Found out with a pair of sockets.
  static let kernelHandsOutPidfds: Bool = {
    var ends: [CInt] = [-1, -1]
    guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0 else { return false }
    defer { for end in ends { close(end) } }
    guard let peer = try? Peer.read(fd: ends[0]), case .socket = peer.origin else { return false }
    return true
  }()
}
