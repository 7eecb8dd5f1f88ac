import Glibc
import Testing

@testable import UsherSystem

@Suite("Sockets that are closed beside the event loop")
struct SocketCloserTests {
  @Test("all are closed, also those that are more than may wait")
  func all() throws {
    let closer = SocketCloser()
    var (near, far): ([CInt], [CInt]) = ([], [])
    for _ in 0..<300 {
      var pair: [CInt] = [-1, -1]
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
      near.append(pair[0])
      far.append(pair[1])
    }
    for start in stride(from: 0, to: 300, by: 30) { closer.close(near[start..<start + 30]) }
    for socket in far {
      #expect(Self.hasEnded(socket))
      close(socket)
    }
  }

  private static func hasEnded(_ socket: CInt) -> Bool {
    var (byte, request) = (UInt8(0), pollfd(fd: socket, events: Int16(POLLIN), revents: 0))
    poll(&request, 1, 60_000)
    return recv(socket, &byte, 1, CInt(MSG_DONTWAIT)) == 0
  }
}
