import JSONRPC
import Testing

@testable import UsherClient

@Suite("Call table of one connection")
struct CallTableTests {
  private struct SampleError: Error {}

  private struct NotSent: Error {}

  /// Begins a call and, unless the call is queued, marks it as written.
  private func begun(_ table: inout CallTable<Int>, _ waiter: Int) -> RequestID {
    let id = table.reserve()
    if case .send = table.begin(id, line: [UInt8(waiter)], waiter: waiter) {
      #expect(table.markSent(id) == true)
    }
    return id
  }

  @Test("a client ignores a second reply and a reply to an unknown id")
  func strayReplies() {
    var table = CallTable<Int>(limit: 9)
    let id = begun(&table, 1)
    _ = table.replied(id)
    #expect(table.replied(id).waiter == nil)
    #expect(table.replied(RequestID(-1)).waiter == nil)
  }

  @Test("a client call that is given up counts as open until the daemon replies to it")
  func abandoned() {
    var table = CallTable<Int>(limit: 1)
    let first = begun(&table, 1)
    guard case .resumeAndCancel(1) = table.giveUp(first, SampleError()) else {
      Issue.record("the call was not cancelled")
      return
    }
    let second = begun(&table, 2)
    let reply = table.replied(first)
    #expect(reply.waiter == nil)
    #expect(reply.send?.bytes == [2])
    #expect(table.markSent(second) == true)
    #expect(table.replied(second).waiter == 2)
  }

  @Test("a queued client call that is given up is never sent")
  func queuedGivenUp() {
    var table = CallTable<Int>(limit: 1)
    let first = begun(&table, 1)
    guard case .resume(2, send: nil) = table.giveUp(begun(&table, 2), SampleError()) else {
      Issue.record("the waiter was not resumed")
      return
    }
    _ = begun(&table, 3)
    #expect(table.replied(first).send?.bytes == [3])
  }

  @Test("the client refuses a call that is given up before it begins")
  func cancelledEarly() {
    var table = CallTable<Int>(limit: 1)
    let id = table.reserve()
    guard case .nothing = table.giveUp(id, SampleError()),
      case .refuse(1, is SampleError) = table.begin(id, line: [], waiter: 1)
    else {
      Issue.record("the call was begun")
      return
    }
  }

  @Test("a client call that is given up before it is written is never sent, and the next one is")
  func leavingGivenUp() {
    var table = CallTable<Int>(limit: 1)
    let first = table.reserve()
    _ = table.begin(first, line: [1], waiter: 1)
    let second = begun(&table, 2)
    guard case .resume(1, send: let next) = table.giveUp(first, SampleError()) else {
      Issue.record("the waiter was not resumed")
      return
    }
    #expect(next == .init(id: second, bytes: [2]))
    #expect(table.markSent(first) == false)
    #expect(table.markSent(second) == true)
  }

  @Test("the end of a client's connection fails each call once; unsent calls get their own error")
  func end() {
    var table = CallTable<Int>(limit: 2)
    let first = begun(&table, 1)
    let aboutToSend = table.reserve()
    _ = table.begin(aboutToSend, line: [2], waiter: 2)
    _ = begun(&table, 3)
    let reserved = table.reserve()
    let ended = table.end(SampleError(), unsent: NotSent())
    #expect(ended.map(\.waiter) == [1, 2, 3])
    #expect(ended.map { $0.error is NotSent } == [false, true, true])
    #expect(table.end(SampleError(), unsent: SampleError()).count == 0)
    #expect(table.replied(first).waiter == nil)
    #expect(table.markSent(aboutToSend) == false)
    guard case .refuse(4, is NotSent) = table.begin(reserved, line: [], waiter: 4) else {
      Issue.record("the call was begun")
      return
    }
  }

  @Test("if the daemon stops reading, the client still awaits sent calls and returns all others")
  func stopSending() {
    var table = CallTable<Int>(limit: 2)
    let heard = begun(&table, 1)
    let refused = begun(&table, 2)
    _ = begun(&table, 3)
    #expect(table.stopSending(failing: refused, NotSent()) == [2, 3])
    #expect(!table.isOpen)
    #expect(table.stopSending(failing: refused, NotSent()) == [])
    guard case .refuse(4, is NotSent) = table.begin(table.reserve(), line: [], waiter: 4) else {
      Issue.record("the call was begun")
      return
    }
    let reply = table.replied(heard)
    #expect(reply.waiter == 1)
    #expect(reply.send == nil)
    #expect(table.end(SampleError(), unsent: NotSent()).count == 0)
  }
}
