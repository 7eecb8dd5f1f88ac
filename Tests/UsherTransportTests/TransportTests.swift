import JSONRPC
import Synchronization
import Testing
import UsherCore
import UsherSystem
import UsherTestKit

@testable import UsherTransport

/// Records its notifications and runs the test's handlers.
private final class Hearer: TransportUser {
  let transport: Transport
  var heard: [UInt8] = []
  var buffers: [Bool] = []
  var ends = 0
  var closings = 0
  var onBytes: (Hearer, UnsafeRawBufferPointer) -> Void = { _, _ in }
  var onRoom: (Hearer) -> Void = { _ in }

  init(_ transport: Transport) { self.transport = transport }

  func received(_ bytes: UnsafeRawBufferPointer) {
    heard += bytes
    onBytes(self, bytes)
  }

  func inputEnded() { ends += 1 }

  func roomChanged() {
    buffers.append(transport.hasRoom)
    onRoom(self)
  }

  func closed() { closings += 1 }
}

@Suite("Transport of a connection", .timeLimit(.minutes(10)))
struct TransportTests {
  private let loop: SocketLoop

  init() throws { loop = try SocketLoop() }

  private func connect(
    maxUnsent: Int = 65_536, _ prepare: @escaping @Sendable (Hearer) -> Void = { _ in }
  ) async throws -> (hearer: OnLoop<Hearer>, far: FarEnd) {
    let (near, far) = try FarEnd.pair()
    let hearer = try await loop.submit { [loop] in
      let hearer = Hearer(Transport(near, on: loop, maxUnsent: maxUnsent))
      prepare(hearer)
      try hearer.transport.begin(for: hearer)
      return OnLoop(hearer, loop)
    }
    return (hearer, far)
  }

  private func ask<Answer: Sendable>(
    _ hearer: OnLoop<Hearer>, _ question: @escaping @Sendable (Hearer) -> Answer
  ) async throws -> Answer {
    try await loop.submit { question(hearer.value) }
  }

  private static func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
  }

  @Test("a half-closed connection is reported once and still receives replies")
  func halfClosed() async throws {
    let (hearer, far) = try await connect()
    _ = far.send([1, 2, 3])
    far.finish()
    try await reached("the end of the input is reported") { try await ask(hearer) { $0.ends == 1 } }
    #expect(try await ask(hearer) { $0.heard } == [1, 2, 3])
    try await ask(hearer) { $0.transport.send([4, 5]) }
    var answer: [UInt8] = []
    try await reached("the reply has arrived") {
      answer += far.receive() ?? []
      return answer.count == 2
    }
    #expect(answer == [4, 5])
    let (ends, closings) = try await ask(hearer) { ($0.ends, $0.closings) }
    #expect(ends == 1 && closings == 0)
    try await ask(hearer) { $0.transport.closeWhenSent() }
    #expect(try await far.receiveAll().isEmpty)
    #expect(try await ask(hearer) { $0.closings } == 1)
    await loop.stop()
  }

  @Test("bytes sent before the peer closed are received, even if reading was paused")
  func gone() async throws {
    let sent = Self.bytes(40_000)
    for isPaused in [false, true] {
      let near = try leftBehind(sent)
      let hearer = try await loop.submit { [loop] in
        let hearer = Hearer(Transport(near, on: loop, maxUnsent: 100))
        hearer.transport.reads = !isPaused
        try hearer.transport.begin(for: hearer)
        return OnLoop(hearer, loop)
      }
      try await reached("the closing is reported") { try await ask(hearer) { $0.closings == 1 } }
      #expect(try await ask(hearer) { $0.heard } == sent)
    }
    await loop.stop()
  }

  /// A connection whose other end is closed.
  private func leftBehind(_ sent: [UInt8]) throws -> DirectSocket {
    let (near, far) = try FarEnd.pair()
    #expect(far.send(sent) == sent.count)
    return near
  }

  @Test("a paused connection reads nothing, and continues later without a gap")
  func paused() async throws {
    let (hearer, far) = try await connect { $0.transport.reads = false }
    var rest = Self.bytes(1_000_000)[...]
    try await reached("the kernel's buffers are full") {
      let taken = try #require(far.send(rest))
      rest = rest.dropFirst(taken)
      return taken == 0
    }
    #expect(!rest.isEmpty)
    #expect(try await ask(hearer) { $0.heard.count } == 0)
    try await ask(hearer) { $0.transport.reads = true }
    try await reached("all bytes are sent") {
      rest = rest.dropFirst(try #require(far.send(rest)))
      return rest.isEmpty
    }
    try await reached("all bytes arrived") { try await ask(hearer) { $0.heard.count } == 1_000_000 }
    #expect(try await ask(hearer) { $0.heard } == Self.bytes(1_000_000))
    await loop.stop()
  }

  @Test("a peer that does not read leaves no room until it has read, and no byte is lost")
  func unread() async throws {
    let (hearer, far) = try await connect(maxUnsent: 100_000)
    let piece = Self.bytes(30_000)
    let pieces = try await ask(hearer) { hearer in
      var pieces = 0
      while hearer.transport.hasRoom {
        hearer.transport.send(piece)
        pieces += 1
      }
      return pieces
    }
    let unsent = try await ask(hearer) { $0.transport.unsent }
    #expect(unsent > 100_000 && unsent <= 130_000)
    #expect(try await ask(hearer) { $0.buffers } == [false])
    var received: [UInt8] = []
    try await reached("all bytes arrived") {
      received += far.receive(atMost: 10_000) ?? []
      return received.count == pieces * piece.count
    }
    #expect(received == (0..<pieces).flatMap { _ in piece })
    try await reached("there is room") { try await ask(hearer) { $0.buffers } == [false, true] }
    #expect(try await ask(hearer) { $0.transport.unsent } == 0)
    await loop.stop()
  }

  @Test("a connection that closes when everything is sent reads nothing more and sends all bytes")
  func deafEnd() async throws {
    let sent = Self.bytes(1_000_000)
    let (hearer, far) = try await connect()
    try await ask(hearer) { hearer in
      hearer.transport.send(sent)
      hearer.transport.closeWhenSent()
    }
    #expect(far.send([1, 2, 3]) == 3)
    #expect(try await far.receiveAll() == sent)
    #expect(try await ask(hearer) { $0.heard }.isEmpty)
    await loop.stop()
  }

  @Test("closeWhenSent sends everything, close drops unsent bytes, and each is reported once")
  func closing() async throws {
    let sent = Self.bytes(1_000_000)
    let (patient, near) = try await connect()
    try await ask(patient) { hearer in
      hearer.transport.send(sent)
      hearer.transport.closeWhenSent()
      hearer.transport.send([1, 2, 3])
      hearer.transport.closeWhenSent()
    }
    #expect(try await ask(patient) { $0.closings } == 0)
    #expect(try await near.receiveAll() == sent)
    #expect(try await ask(patient) { $0.closings } == 1)
    let (hasty, far) = try await connect()
    try await ask(hasty) { hearer in
      hearer.transport.send(sent)
      hearer.transport.close()
      hearer.transport.close()
      hearer.transport.send([1, 2, 3])
    }
    #expect(try await ask(hasty) { $0.closings } == 1)
    let part = try await far.receiveAll()
    #expect(!part.isEmpty && part.count < sent.count && sent.starts(with: part))
    await loop.stop()
  }

  @Test("sending to a closed peer closes the connection and reports it once")
  func broken() async throws {
    let (hearer, _) = try await connect { $0.transport.reads = false }
    try await ask(hearer) { hearer in
      for _ in 0..<3 { hearer.transport.send([1]) }
    }
    try await reached("the closing is reported") { try await ask(hearer) { $0.closings > 0 } }
    let (closings, isOpen) = try await ask(hearer) { ($0.closings, $0.transport.isOpen) }
    #expect(closings == 1 && !isOpen)
    await loop.stop()
  }

  @Test("a connection that reuses a descriptor closed in the same turn gets none of its events")
  func reused() async throws {
    for _ in 0..<200 {
      let connectingPeers = try await loop.submit { [loop] in OnLoop(Newcomers(loop), loop) }
      let prepare: @Sendable (Hearer) -> Void = { hearer in
        connectingPeers.value.add(hearer)
        hearer.onBytes = { one, _ in connectingPeers.value.replaceOther(than: one) }
      }
      let (first, one) = try await connect(prepare)
      let (second, two) = try await connect(prepare)
      // Both are ready when the next turn begins.
      try await loop.submit {
        _ = one.send([1])
        _ = two.send([2])
      }
      let (heard, closings) = try await loop.submit {
        (first.value.heard + second.value.heard, first.value.closings + second.value.closings)
      }
      #expect(heard.count == 1 && closings == 1, "one of the two has closed the other")
      let answer = try await loop.submit { connectingPeers.value.finish() }
      #expect(answer == [], "the new connection must not receive bytes of the closed one")
    }
    await loop.stop()
  }

  /// Two connections. The first one to receive closes the other one and replaces it by a third.
  private final class Newcomers {
    private let loop: SocketLoop
    private var pair: [Hearer] = []
    private var third: Hearer?
    private var far: FarEnd?

    init(_ loop: SocketLoop) { self.loop = loop }

    func add(_ hearer: Hearer) { pair.append(hearer) }

    func replaceOther(than one: Hearer) {
      for other in pair where other !== one { other.transport.close() }
      guard let (near, far) = try? FarEnd.pair() else { return }
      let third = Hearer(Transport(near, on: loop, maxUnsent: 100))
      try? third.transport.begin(for: third)
      (self.third, self.far) = (third, far)
    }

    /// Returns the bytes that the third connection received, or `nil` if it ended.
    func finish() -> [UInt8]? {
      defer { for hearer in pair + [third].compactMap({ $0 }) { hearer.transport.close() } }
      guard let third, third.ends == 0, third.closings == 0 else { return nil }
      return third.heard
    }
  }

  @Test(
    "10,000 pieces of lines are echoed unchanged although reading is paused repeatedly",
    arguments: 0..<3)
  func pieces(seed: UInt64) async throws {
    let (_, far) = try await connect(maxUnsent: 5000) { hearer in
      var random = SeededGenerator(seed: seed)
      hearer.onBytes = { one, bytes in
        one.transport.send(Array(bytes))
        one.transport.reads = one.transport.hasRoom
        guard one.transport.hasRoom, Int.random(in: 0..<8, using: &random) == 0 else { return }
        one.transport.reads = false
        one.transport.loop.execute { [held = OnLoop(one, one.transport.loop)] in
          held.value.transport.reads = held.value.transport.hasRoom
        }
      }
      hearer.onRoom = { one in if one.transport.hasRoom { one.transport.reads = true } }
    }
    var random = SeededGenerator(seed: seed &+ 100)
    var lines: [[UInt8]] = []
    var (received, splitter) = ([[UInt8]](), LineSplitter())
    func take() {
      let bytes = far.receive(atMost: Int.random(in: 1..<9000, using: &random)) ?? []
      splitter.feed(bytes) { event in
        if case .line(let line) = event { received.append(Array(line)) }
      }
    }
    var unsent: [UInt8] = []
    for piece in 0..<10_000 {
      if unsent.isEmpty {
        let length = Int.random(in: 0..<(piece % 50 == 0 ? 40_000 : 300), using: &random)
        let line = (0..<length).map { UInt8(truncatingIfNeeded: 0x20 + ($0 + piece) % 90) }
        lines.append(line)
        unsent = line + [0x0A]
      }
      let most = Int.random(in: 1..<(piece % 3 == 0 ? 5000 : 50), using: &random)
      unsent.removeFirst(try #require(far.send(unsent.prefix(most))))
      if piece % 2 == 0 { take() }
    }
    try await reached("the last bytes are sent") {
      take()
      unsent.removeFirst(try #require(far.send(unsent)))
      return unsent.isEmpty
    }
    try await reached("all lines are echoed") {
      take()
      return received.count == lines.count
    }
    #expect(received == lines)
    await loop.stop()
  }
}
