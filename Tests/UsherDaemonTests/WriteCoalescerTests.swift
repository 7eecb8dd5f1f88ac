import Testing

@testable import UsherDaemon

@Suite("Reply buffers")
struct WriteCoalescerTests {
  private let coalescer = WriteCoalescer()

  private func room(of bytes: Int) -> [UInt8] {
    var room: [UInt8] = []
    room.reserveCapacity(bytes)
    return room
  }

  @Test("a returned reply buffer is reused, by one user at a time")
  func again() {
    coalescer.giveRoom(room(of: 20_000))
    let first = coalescer.takeRoom()
    let second = coalescer.takeRoom()
    #expect(first.capacity >= 20_000)
    #expect(second.capacity < 20_000)
    #expect(first.isEmpty && second.isEmpty)
    coalescer.giveRoom(second)
    coalescer.giveRoom(first)
    #expect(coalescer.takeRoom().capacity >= 20_000)
  }

  @Test("at most a mebibyte of reply buffers is kept, and none after giveUpRooms")
  func kept() {
    coalescer.giveRoom(room(of: 2 << 20))
    #expect(coalescer.takeRoom().capacity < 1 << 20)
    for _ in 0..<20 { coalescer.giveRoom(room(of: 100_000)) }
    let large = (0..<20).filter { _ in coalescer.takeRoom().capacity >= 100_000 }
    #expect((1...10).contains(large.count))
    coalescer.giveRoom(room(of: 100_000))
    coalescer.giveUpRooms()
    #expect(coalescer.takeRoom().capacity < 100_000)
    coalescer.giveRoom(room(of: 900_000))
    #expect(coalescer.takeRoom().capacity >= 900_000, "what was given up counts no more")
  }
}
