import NIOCore
import Testing

@testable import UsherTransport

private typealias Party = FairScheduler.Party

@Suite("Fair sharing of the event loop")
final class FairSchedulerTests {
  private let share = FairShares()
  private var now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

  private let anna = Party.user(1000)
  private let bert = Party.user(1001)

  /// Adds connections that all listen.
  private func enter(_ connectionIDs: Range<Int>, _ party: Party) {
    for connectionID in connectionIDs {
      #expect(share.add(connectionID, of: party, cost: .zero, at: now))
    }
  }

  /// Makes a call that, if the scheduler permits it at once, works for the given time.
  @discardableResult
  private func call(
    _ connectionID: Int, _ party: Party, _ microseconds: Int64,
    remaining: FairScheduler.RemainingWork = .nothing
  ) -> Bool {
    guard share.recordCalls(on: connectionID, of: party, at: now) else { return false }
    return work(connectionID, party, microseconds, remaining: remaining)
  }

  @discardableResult
  private func work(
    _ connectionID: Int, _ party: Party, _ microseconds: Int64,
    remaining: FairScheduler.RemainingWork
  ) -> Bool {
    let start = now
    now = now + .microseconds(microseconds)
    return share.recordWork(connectionID, of: party, since: start, remaining: remaining, at: now)
  }

  /// A flood by bert, whose first connection always has more calls.
  private func flood() {
    enter(1..<2, anna)
    enter(10..<12, bert)
    #expect(call(1, anna, 20))
    #expect(!call(10, bert, 50, remaining: .runnable))
    for _ in 0..<1000 where share.next(at: now) == .work(10) {
      work(10, bert, 50, remaining: .runnable)
    }
    #expect(share.nextTurn().map { $0 > now } == true, "the user is throttled")
  }

  @Test("a user who is alone has the whole event loop, slice after slice")
  func alone() {
    enter(10..<12, bert)
    #expect(!share.isShared)
    #expect(!call(10, bert, 50, remaining: .runnable))
    for _ in 0..<100_000 {
      #expect(share.next(at: now) == .work(10))
      #expect(!work(10, bert, 50, remaining: .runnable))
    }
    #expect(share.next(at: now) == .work(10))
    #expect(work(10, bert, 50, remaining: .nothing), "the connection listens again afterwards")
    #expect(share.next(at: now) == .nothing)
  }

  @Test("a user that floods while another user calls gets a quarter of the event loop, in slices")
  func quarter() {
    flood()
    var worked = 0
    let end = now + .seconds(2)
    while now < end {
      // Anna calls all the time.
      #expect(call(1, anna, 5))
      switch share.next(at: now) {
      case .work(let connectionID):
        work(connectionID, bert, 50, remaining: .runnable)
        worked += 50
      case .wait(let turn): now = min(turn, now + .microseconds(50))
      default: Issue.record("another connection got the turn")
      }
    }
    #expect((470_000...500_050).contains(worked), "\(worked) µs of two seconds")
  }

  @Test("a user's occasional call is never delayed by another user's flood")
  func seldom() {
    flood()
    for _ in 0..<1000 {
      #expect(call(1, anna, 100))
      now = now + .microseconds(400)
      if case .work(let connectionID) = share.next(at: now) {
        work(connectionID, bert, 50, remaining: .runnable)
      }
    }
  }

  @Test("sequential calls on one connection are not delayed by another user's flood")
  func oneByOne() {
    flood()
    for _ in 0..<1000 {
      #expect(call(1, anna, 200))
      if case .work(let connectionID) = share.next(at: now) {
        work(connectionID, bert, 50, remaining: .runnable)
      }
    }
    // Calls on a second connection at the same time are held up.
    enter(2..<3, anna)
    var heldUp = 0
    for _ in 0..<1000 {
      for connectionID in 1...2 where !call(connectionID, anna, 200) { heldUp += 1 }
    }
    #expect(heldUp > 0)
  }

  @Test(
    "calls that alternate over two connections are delayed only if both connections call at once")
  func atOnce() {
    enter(1..<2, anna)
    enter(10..<11, bert)
    now = now + .milliseconds(1)
    enter(11..<12, bert)
    // Each call waits for the previous reply, then uses the other connection.
    for number in 0..<5000 {
      #expect(call(1, anna, 1) && call(10 + number % 2, bert, 50))
      now = now + .microseconds(100)
    }
    // The second call comes while the first one is worked on.
    #expect(call(10, bert, 50) && call(11, bert, 50) && !call(10, bert, 50))
  }

  @Test("the connections of a throttled user take turns in order of arrival")
  func turns() {
    flood()
    for connectionID in 20..<23 {
      #expect(
        !share.add(connectionID, of: bert, cost: .zero, at: now),
        "a new connection of a throttled user waits for its turn")
      #expect(!share.recordCalls(on: connectionID, of: bert, at: now))
    }
    #expect(!share.recordCalls(on: 11, of: bert, at: now))
    var order: [Int] = []
    for _ in 0..<10 {
      guard case .wait(let turn) = share.next(at: now) else { break }
      now = turn
      guard case .work(let connectionID) = share.next(at: now) else { break }
      order.append(connectionID)
      work(connectionID, bert, 50, remaining: .runnable)
    }
    #expect(order == [10, 20, 21, 22, 11, 10, 20, 21, 22, 11])
  }

  @Test("of a throttled user's idle connections, one listens at a time")
  func listening() throws {
    flood()
    now = try #require(share.nextTurn())
    #expect(share.next(at: now) == .work(10))
    #expect(work(10, bert, 50, remaining: .nothing), "the first connection listens at once")
    #expect(!share.recordCalls(on: 11, of: bert, at: now))
    now = try #require(share.nextTurn())
    #expect(share.next(at: now) == .work(11))
    #expect(!work(11, bert, 50, remaining: .nothing))
    for (connectionID, before) in [(11, 10), (10, 11), (11, 10)] {
      now = try #require(share.nextTurn())
      #expect(share.next(at: now) == .listen(connectionID, insteadOf: before))
    }
    // A call heard by the listening connection is worked on in its turn.
    now = now + .microseconds(40)
    #expect(call(11, bert, 10) == false, "then the other connection listens")
    now = try #require(share.nextTurn())
    #expect(share.next(at: now) == .listen(10, insteadOf: nil))
  }

  @Test("throttling ends a second after a flood, and then all connections listen and have no debt")
  func forgiven() throws {
    flood()
    now = try #require(share.nextTurn())
    #expect(share.next(at: now) == .work(10))
    #expect(work(10, bert, 50, remaining: .nothing))
    now = now + .seconds(2)
    #expect(share.next(at: now) == .nothing)
    #expect(call(1, anna, 10))
    for connectionID in [10, 11] { #expect(call(connectionID, bert, 100)) }
  }

  @Test("a flood is throttled only while other users call")
  func othersGo() {
    flood()
    now = now + .seconds(20)
    var turns = 0
    for _ in 0..<1000 {
      guard share.next(at: now) == .work(10) else { break }
      work(10, bert, 50, remaining: .runnable)
      turns += 1
    }
    #expect(turns == 1000)
    share.remove(1, of: anna, at: now)
    #expect(!share.isShared)
  }

  @Test("closing and reopening connections does not cancel a user's debt")
  func comingBack() throws {
    flood()
    for connectionID in [10, 11] { share.remove(connectionID, of: bert, at: now) }
    #expect(share.nextTurn() == nil)
    #expect(!share.add(30, of: bert, cost: .microseconds(50), at: now))
    #expect(!share.recordCalls(on: 30, of: bert, at: now))
    #expect(try #require(share.nextTurn()) > now)
  }

  @Test("a user that connects, calls and closes, one connection at a time, is not delayed")
  func oneAfterTheOther() {
    enter(1..<2, anna)
    for connectionID in 100..<300 {
      #expect(call(1, anna, 1))
      now = now + .microseconds(150)
      #expect(share.add(connectionID, of: bert, cost: .microseconds(130), at: now))
      now = now + .microseconds(50)
      #expect(share.recordCalls(on: connectionID, of: bert, at: now))
      now = now + .microseconds(50)
      let start = now - .microseconds(50)
      #expect(share.recordWork(connectionID, of: bert, since: start, remaining: .nothing, at: now))
      share.remove(connectionID, of: bert, at: now)
    }
  }

  @Test("connecting costs its user time, up to a debt of 100 ms")
  func connecting() throws {
    enter(1..<2, anna)
    enter(10..<11, bert)
    #expect(call(1, anna, 10))
    #expect(!share.chargeConnectAttempt(.microseconds(50), bert, at: now))
    for _ in 0..<10_000 { _ = share.chargeConnectAttempt(.microseconds(50), bert, at: now) }
    #expect(share.chargeConnectAttempt(.microseconds(50), bert, at: now))
    #expect(!share.recordCalls(on: 10, of: bert, at: now))
    let turn = try #require(share.nextTurn())
    #expect(turn > now && turn <= now + .milliseconds(100))
  }

  @Test(
    "in a crowded queue a user that connects too often is refused, even if no other user calls")
  func crowded() {
    let welcomes = (0..<100).map { _ in share.admit(bert, isCrowded: true, at: now) }
    #expect(welcomes.prefix(5).allSatisfy { $0 == .accepted })
    #expect(welcomes.dropFirst(5).prefix(64).allSatisfy { $0 == .refused })
    #expect(welcomes.dropFirst(69).allSatisfy { $0 == .dropped })
    #expect(share.admit(anna, isCrowded: true, at: now) == .accepted)
    now = now + .seconds(1)
    #expect(share.admit(bert, isCrowded: true, at: now) == .accepted)
  }

  @Test("a user over its share that keeps connecting is refused, then closed without a reply")
  func comingTooOften() {
    enter(1..<2, anna)
    enter(10..<11, bert)
    func come(_ party: Party, _ count: Int) -> [FairScheduler.ConnectionDecision] {
      (0..<count).map { _ in share.admit(party, at: now) }
    }
    #expect(come(bert, 100).allSatisfy { $0 == .accepted }, "no other user calls")
    #expect(call(1, anna, 10))
    now = now + .seconds(1)
    for _ in 0..<1000 { _ = share.chargeConnectAttempt(.microseconds(50), bert, at: now) }
    let welcomes = come(bert, 100)
    #expect(welcomes.prefix(5).allSatisfy { $0 == .accepted })
    #expect(welcomes.dropFirst(5).prefix(64).allSatisfy { $0 == .refused })
    #expect(welcomes.dropFirst(69).allSatisfy { $0 == .dropped })
    #expect(come(anna, 100).allSatisfy { $0 == .accepted })
    #expect(come(.admin, 100).allSatisfy { $0 == .accepted })
    now = now + .seconds(1)
    #expect(come(bert, 1) == [.accepted])
  }

  @Test("the admin socket is never delayed, and its calls throttle a user's flood")
  func admin() {
    enter(1..<3, .admin)
    enter(10..<11, bert)
    #expect(share.isShared)
    for _ in 0..<100 { #expect(call(1, .admin, 10_000)) }
    #expect(!call(10, bert, 2000, remaining: .runnable))
    #expect(share.nextTurn().map { $0 > now } == true)
    for _ in 0..<100 { #expect(call(2, .admin, 10_000)) }
  }

  @Test("a connection with unread replies waits for its reader and then takes its turn again")
  func blocked() {
    flood()
    now = now + .milliseconds(1)
    #expect(share.next(at: now) == .work(10))
    #expect(work(10, bert, 50, remaining: .blocked))
    #expect(share.next(at: now) == .nothing)
    #expect(!share.recordCalls(on: 10, of: bert, at: now), "the connection waits for its turn")
    now = now + .milliseconds(1)
    #expect(share.next(at: now) == .work(10))
  }

  @Test("calls in flight are counted over all connections of a user, even after they closed")
  func callsInFlight() {
    enter(1..<2, anna)
    enter(10..<12, bert)
    // Calls that wait for the disk do not count.
    for _ in 0..<100 { share.chargeDiskRead(of: bert, at: now) }
    for _ in 0..<3 { #expect(share.beginCall(of: bert, at: now)) }
    #expect(!share.beginCall(of: bert, at: now))
    #expect(share.beginCall(of: anna, at: now))
    for _ in 0..<100 { #expect(share.beginCall(of: .admin, at: now)) }
    for connectionID in 10..<12 { share.remove(connectionID, of: bert, at: now) }
    enter(12..<13, bert)
    #expect(!share.beginCall(of: bert, at: now))
    share.endCall(of: bert)
    #expect(share.beginCall(of: bert, at: now))
  }

  @Test("a user pays a call longer than a slice in full, however long that takes")
  func fullPrice() throws {
    enter(1..<2, anna)
    enter(10..<12, bert)
    #expect(call(1, anna, 10))
    call(10, bert, 2_000_000)
    let end = now
    #expect(call(1, anna, 10))
    #expect(!share.recordCalls(on: 10, of: bert, at: now))
    let turn = try #require(share.nextTurn())
    #expect(turn >= end + .seconds(7) && turn <= end + .seconds(9), "a quarter of the time")
    // Cheap work does not reduce the debt.
    _ = share.chargeConnectAttempt(.microseconds(50), bert, at: now)
    share.chargeDiskRead(of: bert, at: now)
    #expect(try #require(share.nextTurn()) >= turn)
    now = now + .seconds(3)
    #expect(call(1, anna, 10))
    #expect(
      !share.recordCalls(on: 11, of: bert, at: now), "the user still has a debt a second later")
  }

  @Test("sequential calls of more than a millisecond are held to the user's share")
  func serial() throws {
    enter(1..<2, anna)
    enter(10..<11, bert)
    let begin = now
    var worked = 0
    while now < begin + .seconds(2) {
      #expect(call(1, anna, 10))
      if share.recordCalls(on: 10, of: bert, at: now) {
        work(10, bert, 2000, remaining: .nothing)
        worked += 1
      } else {
        let turn = try #require(share.nextTurn())
        now = max(now, turn)
        #expect(share.next(at: now) == .work(10))
        work(10, bert, 2000, remaining: .nothing)
        worked += 1
      }
    }
    #expect(worked <= 270, "half a second of 2 s is 250 calls of 2 ms; it made \(worked)")
  }

  @Test("a user's sequential short calls are not delayed")
  func serialShort() {
    enter(1..<2, anna)
    enter(10..<11, bert)
    for _ in 0..<5000 {
      #expect(call(1, anna, 10))
      #expect(call(10, bert, 200))
    }
  }

  @Test("connections of a user that keeps connecting are admitted evenly, not all after a second")
  func connectRate() {
    func connect() -> [FairScheduler.ConnectionDecision] {
      (0..<100).map { _ in share.admit(bert, isCrowded: true, at: now) }
    }
    #expect(connect().count { $0 == .accepted } == 5)
    var welcomes: [FairScheduler.ConnectionDecision] = []
    for _ in 0..<20 {
      now = now + .milliseconds(100)
      let these = connect()
      #expect(these.count { $0 == .accepted } <= 1)
      #expect(these.count { $0 == .refused } <= 7)
      welcomes += these
    }
    #expect(welcomes.count { $0 == .accepted } == 10, "as many as in two seconds")
  }
}
