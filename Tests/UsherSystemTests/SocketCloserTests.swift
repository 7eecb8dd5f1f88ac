import Dispatch
import Glibc
import Testing
import UsherTestKit

@testable import UsherSystem

@Suite("Closing of sockets off the event loop", .mayBlock)
struct SocketCloserTests {
  @Test("SocketCloser closes all sockets, even if they are more than its queue may hold")
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
    // These exceed the limit of 256 queued sockets, so the caller closes them itself.
    closer.close(near[30...])
    for socket in far { try #require(Self.hasEnded(socket)) }
  }

  @Test("a refused connection does not wait to be closed on one of the last descriptors")
  func lastDescriptors() throws {
    let place = try TemporaryDirectory()
    let listener = try TestSocket(listeningAt: .unix(path: place.file("socket")), backlog: 64)
    let socket = DirectSocket(listener.descriptor)
    try socket.listen(waiting: 64)
    // This closer never closes anything.
    let closer = SocketCloser { _ in }
    func connect() throws -> [FarEnd] {
      try (0..<40).map { _ in try FarEnd.connected(to: place.file("socket")) }
    }
    let blocked = [getuid()]
    let closed = try connect()
    for _ in closed {
      let (_, count) = socket.accept(
        closing: blocked, by: closer, within: DescriptorBudget(limit: 0))
      #expect(count == 1)
    }
    #expect(closed.allSatisfy { $0.receive() == nil })
    let waiting = try connect()
    #expect(socket.accept(closing: blocked, by: closer, within: .unlimited).closed == 32)
    #expect(waiting.allSatisfy { $0.receive() != nil })
  }

  private static func hasEnded(_ socket: CInt) -> Bool {
    var byte: UInt8 = 0
    return TestDeadline().isReadable(socket) && recv(socket, &byte, 1, CInt(MSG_DONTWAIT)) == 0
  }
}
