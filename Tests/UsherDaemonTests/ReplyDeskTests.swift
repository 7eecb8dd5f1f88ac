import Testing

@testable import UsherDaemon

@Suite("Room for replies")
struct ReplyDeskTests {
  private let desk = ReplyDesk()

  private func room(of bytes: Int) -> [UInt8] {
    var room: [UInt8] = []
    room.reserveCapacity(bytes)
    return room
  }

  @Test("what was given back is taken again, by one at a time")
  func again() {
    desk.giveRoom(room(of: 20_000))
    let first = desk.takeRoom()
    let second = desk.takeRoom()
    #expect(first.capacity >= 20_000)
    #expect(second.capacity < 20_000)
    #expect(first.isEmpty && second.isEmpty)
    desk.giveRoom(second)
    desk.giveRoom(first)
    #expect(desk.takeRoom().capacity >= 20_000)
  }

  @Test("a mebibyte of all is kept, and none when it is given up")
  func kept() {
    desk.giveRoom(room(of: 2 << 20))
    #expect(desk.takeRoom().capacity < 1 << 20)
    for _ in 0..<20 { desk.giveRoom(room(of: 100_000)) }
    let large = (0..<20).filter { _ in desk.takeRoom().capacity >= 100_000 }
    #expect((1...10).contains(large.count))
    desk.giveRoom(room(of: 100_000))
    desk.giveUpRooms()
    #expect(desk.takeRoom().capacity < 100_000)
    desk.giveRoom(room(of: 900_000))
    #expect(desk.takeRoom().capacity >= 900_000, "what was given up counts no more")
  }
}
