import JSONRPC
import Testing

@testable import UsherClient

@Suite("The calls of one connection")
struct CallTableTests {
  private struct Trouble: Error {}

  private func begun(_ table: inout CallTable<Int>, _ waiter: Int) -> RequestID {
    let id = table.reserve()
    _ = table.begin(id, line: [UInt8(waiter)], waiter: waiter)
    return id
  }

  @Test("replies come in any order")
  func anyOrder() {
    var table = CallTable<Int>(limit: 9)
    let first = begun(&table, 1)
    let second = begun(&table, 2)
    #expect(table.replied(second).waiter == 2)
    #expect(table.replied(first).waiter == 1)
  }

  @Test("a second reply, and one to a call never made, are nobody's")
  func strayReplies() {
    var table = CallTable<Int>(limit: 9)
    let id = begun(&table, 1)
    _ = table.replied(id)
    #expect(table.replied(id).waiter == nil)
    #expect(table.replied(RequestID("x")).waiter == nil)
  }

  @Test("a call over the limit waits for a reply to another")
  func limit() {
    var table = CallTable<Int>(limit: 1)
    let first = begun(&table, 1)
    let second = table.reserve()
    guard case .wait = table.begin(second, line: [2], waiter: 2) else {
      Issue.record("it was sent")
      return
    }
    #expect(table.replied(first).send == [2])
    #expect(table.replied(second).waiter == 2)
  }

  @Test("a call given up counts until the daemon has answered it")
  func abandoned() {
    var table = CallTable<Int>(limit: 1)
    let first = begun(&table, 1)
    guard case .resumeAndCancel(1) = table.giveUp(first, Trouble()) else {
      Issue.record("it was not cancelled")
      return
    }
    let second = begun(&table, 2)
    let reply = table.replied(first)
    #expect(reply.waiter == nil)
    #expect(reply.send == [2])
    #expect(table.replied(second).waiter == 2)
  }

  @Test("a queued call given up is never sent")
  func queuedGivenUp() {
    var table = CallTable<Int>(limit: 1)
    let first = begun(&table, 1)
    guard case .resume(2) = table.giveUp(begun(&table, 2), Trouble()) else {
      Issue.record("it was not resumed")
      return
    }
    _ = begun(&table, 3)
    #expect(table.replied(first).send == [3])
  }

  @Test("a call given up before it began is refused")
  func stillborn() {
    var table = CallTable<Int>(limit: 1)
    let id = table.reserve()
    guard case .nothing = table.giveUp(id, Trouble()),
      case .refuse(1, is Trouble) = table.begin(id, line: [], waiter: 1)
    else {
      Issue.record("it was begun")
      return
    }
  }

  @Test("the end hands back each waiter once, and refuses what comes later")
  func end() {
    var table = CallTable<Int>(limit: 1)
    let first = begun(&table, 1)
    _ = begun(&table, 2)
    let reserved = table.reserve()
    #expect(table.end(Trouble()) == [1, 2])
    #expect(table.end(Trouble()).isEmpty)
    #expect(table.replied(first).waiter == nil)
    guard case .refuse(3, is Trouble) = table.begin(reserved, line: [], waiter: 3) else {
      Issue.record("it was begun")
      return
    }
  }
}
