import Dispatch
import Glibc
import Testing
import UsherTestKit

@testable import UsherSystem

@Suite("Sockets that are closed beside the event loop", .mayBlock)
struct SocketCloserTests {
  @Test("all are closed, also those that are more than may wait")
  func all() throws {
    let queue = DispatchQueue(label: "test")
    let closer = SocketCloser { queue.async(execute: $0) }
    var (near, far): ([CInt], [CInt]) = ([], [])
    for _ in 0..<300 {
      var pair: [CInt] = [-1, -1]
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
      near.append(pair[0])
      far.append(pair[1])
    }
    defer { for socket in far { close(socket) } }
    closer.close(near[..<30])
    // More than 256: the caller closes these itself.
    closer.close(near[30...])
    for socket in far { try #require(Self.hasEnded(socket)) }
  }

  private static func hasEnded(_ socket: CInt) -> Bool {
    var (byte, request) = (UInt8(0), pollfd(fd: socket, events: Int16(POLLIN), revents: 0))
    poll(&request, 1, 30_000)
    return recv(socket, &byte, 1, CInt(MSG_DONTWAIT)) == 0
  }
}
