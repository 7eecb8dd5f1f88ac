import Testing

@testable import UsherTransport

@Suite("Reply buffers")
struct WriteCoalescerTests {
  private let coalescer = WriteCoalescer()

  private func room(of bytes: Int) -> [UInt8] {
    var room: [UInt8] = []
    room.reserveCapacity(bytes)
    return room
  }

  @Test("a returned reply buffer is reused, by one connection at a time")
  func again() {
    coalescer.returnBuffer(room(of: 20_000))
    let first = coalescer.takeBuffer()
    let second = coalescer.takeBuffer()
    #expect(first.capacity >= 20_000)
    #expect(second.capacity < 20_000)
    #expect(first.isEmpty && second.isEmpty)
    coalescer.returnBuffer(second)
    coalescer.returnBuffer(first)
    #expect(coalescer.takeBuffer().capacity >= 20_000)
  }

  @Test("at most a mebibyte of reply buffers is kept, and none after giveUpRooms")
  func kept() {
    coalescer.returnBuffer(room(of: 2 << 20))
    #expect(coalescer.takeBuffer().capacity < 1 << 20)
    for _ in 0..<20 { coalescer.returnBuffer(room(of: 100_000)) }
    let large = (0..<20).filter { _ in coalescer.takeBuffer().capacity >= 100_000 }
    #expect((1...10).contains(large.count))
    coalescer.returnBuffer(room(of: 100_000))
    coalescer.releaseBuffers()
    #expect(coalescer.takeBuffer().capacity < 100_000)
    coalescer.returnBuffer(room(of: 900_000))
    #expect(coalescer.takeBuffer().capacity >= 900_000, "released buffers do not count")
  }
}
