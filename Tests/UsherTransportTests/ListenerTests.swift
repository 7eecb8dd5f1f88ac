import Glibc
import NIOCore
import Testing
import UsherCore
import UsherSystem
import UsherTestKit

@testable import UsherTransport

@Suite("Listening sockets", .timeLimit(.minutes(10)))
struct ListenerTests {
  /// Echoes what it receives, and closes after a zero byte.
  private final class Echo: TransportUser {
    let transport: Transport
    private let counts: Counts

    init(_ transport: Transport, _ counts: Counts) {
      self.transport = transport
      self.counts = counts
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
      transport.send(Array(bytes))
      if bytes.contains(0) { transport.closeWhenSent() }
    }

    func inputEnded() { transport.closeWhenSent() }

    func roomChanged() {}

    func closed() { counts.closed += 1 }
  }

  private final class Counts {
    var asked = 0
    var come = 0
    /// The number of these accepts during which more connections waited than were accepted.
    var crowded = 0
    var closed = 0
    var told: [String] = []
    /// Results that replace the next calls of accept.
    var faults: [DirectSocket.Accepted] = []
    /// The message with which connections are refused, or `nil` to accept them.
    var unwelcome: String?
    /// The time that admitting a connection takes, in microseconds.
    var effort: useconds_t = 0
    var listener: Listener?
  }

  /// Serves connections as the counts demand, and counts them.
  private struct Acceptor: SocketAcceptor {
    let counts: OnLoop<Counts>

    func accept(from listener: DirectSocket, on loop: SocketLoop) -> DirectSocket.Accepted {
      let counts = counts.value
      counts.asked += 1
      return counts.faults.isEmpty ? listener.accept() : counts.faults.removeFirst()
    }

    func admit(
      _ socket: DirectSocket, on loop: SocketLoop, isAdmin: Bool, isCrowded: Bool
    ) -> String? {
      let counts = counts.value
      counts.come += 1
      if isCrowded { counts.crowded += 1 }
      if counts.effort > 0 { usleep(counts.effort) }
      if let words = counts.unwelcome {
        socket.close()
        return words
      }
      let echo = Echo(Transport(socket, on: loop, maxUnsent: 1000), counts)
      try? echo.transport.begin(for: echo)
      return nil
    }

    func logNotAccepting(_ cause: String) { counts.value.told.append(cause) }
  }

  private let loop: SocketLoop
  private let place: TemporaryDirectory
  private let path: String
  private let counts: OnLoop<Counts>

  init() async throws {
    let place = try TemporaryDirectory()
    let path = place.file("l.sock")
    let loop = try SocketLoop()
    (self.place, self.path, self.loop) = (place, path, loop)
    counts = try await loop.submit {
      let counts = Counts()
      let listener = Listener(
        DirectSocket(try UnixListener.bind(path: path, mode: 0o600)), on: loop,
        acceptor: Acceptor(counts: OnLoop(counts, loop)), isAdmin: false)
      try listener.begin(.readable)
      counts.listener = listener
      return OnLoop(counts, loop)
    }
  }

  private func ask<Answer: Sendable>(
    _ question: @escaping @Sendable (Counts) -> Answer
  ) async throws -> Answer {
    try await loop.submit { [counts] in question(counts.value) }
  }

  @Test("1000 connections are accepted, answered and closed, and each is closed exactly once")
  func thousand() async throws {
    for round in 0..<20 {
      let clients = try (0..<50).map { _ in try FarEnd.connected(to: path) }
      // Half of the clients close, and the server closes the others.
      let word: UInt8 = round % 2 == 0 ? 1 : 0
      for client in clients { #expect(client.send([word]) == 1) }
      for client in clients {
        var answer: [UInt8] = []
        try await reached("the server has answered") {
          answer += client.receive(atMost: 1) ?? []
          return answer == [word]
        }
        if word == 1 { client.finish() }
        #expect(try await client.receiveAll().isEmpty)
      }
    }
    let (come, closed) = try await ask { ($0.come, $0.closed) }
    #expect(come == 1000 && closed == 1000)
    await loop.stop()
  }

  @Test("several waiting connections are accepted in one turn of the event loop")
  func eager() async throws {
    final class TurnCounter {
      var come = 0
      /// The largest number of accepts in one turn.
      var most = 0
    }
    let turns = try await loop.submit { [loop, path, counts] in
      let (turns, counts) = (TurnCounter(), counts.value)
      loop.atEndOfIteration {
        turns.most = max(turns.most, counts.come - turns.come)
        turns.come = counts.come
      }
      // The loop does not turn meanwhile.
      let clients = try (0..<100).map { _ in try FarEnd.connected(to: path) }
      return OnLoop((turns, clients), loop)
    }
    try await reached("all connections are accepted") { try await ask { $0.come == 100 } }
    // The number depends on the speed of the machine: accepting in one turn stops after 100 µs.
    #expect(try await loop.submit { turns.value.0.most } > 1)
    // From the 33rd accept on, more connections wait than were accepted.
    #expect(try await ask { $0.crowded } == 68)
    await loop.stop()
  }

  @Test("sequential connections do not count as a crowd, however long each admission takes")
  func slow() async throws {
    // Longer than the listener accepts in one turn of the loop.
    try await ask { $0.effort = 300 }
    for _ in 0..<100 {
      let client = try FarEnd.connected(to: path)
      #expect(client.send([0]) == 1)
      #expect(try await client.receiveAll() == [0])
    }
    let (come, crowded) = try await ask { ($0.come, $0.crowded) }
    #expect(come == 100 && crowded == 0)
    await loop.stop()
  }

  @Test("a listener whose accept fails pauses, logs the reason once and accepts later")
  func exhausted() async throws {
    try await ask { counts in
      counts.faults = [
        .impossible("Too many open files"), .none, .impossible("Cannot allocate memory"),
      ]
    }
    let begun = NIODeadline.now()
    let client = try FarEnd.connected(to: path)
    try await reached("the connection is accepted") { try await ask { $0.come == 1 } }
    #expect(NIODeadline.now() - begun >= Listener.pauseTime * 2)
    let (asked, told) = try await ask { ($0.asked, $0.told) }
    // A fifth accept finds no waiting connection. A slow turn of the loop ends before it.
    #expect((4...5).contains(asked) && told == ["Too many open files"])
    _ = client
    await loop.stop()
  }

  @Test("the reason for refusing connections is logged once, however many are refused")
  func unwelcome() async throws {
    try await ask { $0.unwelcome = "no descriptor is left" }
    for _ in 0..<3 { #expect(try await FarEnd.connected(to: path).receiveAll().isEmpty) }
    #expect(try await ask { $0.told } == ["no descriptor is left"])
    await loop.stop()
  }

  @Test("a listening socket that is shut down from outside is closed and logged")
  func shutDown() async throws {
    let raw = try await ask { $0.listener?.socket?.raw }
    #expect(shutdown(try #require(raw), CInt(SHUT_RDWR)) == 0)
    try await reached("the listener is closed") { try await ask { $0.listener?.isOpen == false } }
    #expect(try await ask { $0.told } == ["the socket was shut down from outside"])
    await loop.stop()
  }

  @Test("a closed listener refuses new and waiting connections, and accepted ones stay open")
  func closed() async throws {
    let guest = try FarEnd.connected(to: path)
    try await reached("the connection is accepted") { try await ask { $0.come == 1 } }
    // More failures than the test takes attempts.
    try await ask { $0.faults = Array(repeating: .impossible("none"), count: 10_000) }
    let waiting = try FarEnd.connected(to: path)
    try await reached("the accept has failed") { try await ask { $0.told.count == 1 } }
    try await ask { $0.listener?.close() }
    #expect(try await waiting.receiveAll().isEmpty)
    #expect(throws: TestError.self) { try FarEnd.connected(to: path) }
    #expect(guest.send([7]) == 1)
    try await reached("the server has answered") { guest.receive() == [7] }
    #expect(try await ask { $0.come } == 1)
    await loop.stop()
  }
}
