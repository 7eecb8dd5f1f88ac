import Testing
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTransport

@testable import UsherDaemon

private let start = Timestamp(seconds: 1_800_000_000)

@Suite("Rate limiter")
struct RateLimiterTests {
  @Test("the rate limiter allows a minute's calls at once, then one more per share of the minute")
  func steady() {
    let limiter = RateLimiter()
    for _ in 0..<4 { #expect(limiter.acquire(.anna, at: start, perMinute: 4) == nil) }
    #expect(limiter.acquire(.anna, at: start, perMinute: 4) == .seconds(15))
    #expect(limiter.acquire(.anna, at: start + .seconds(10), perMinute: 4) == .seconds(5))
    #expect(limiter.acquire(.anna, at: start + .seconds(15), perMinute: 4) == nil)
    #expect(limiter.acquire(.anna, at: start + .seconds(15), perMinute: 4) == .seconds(15))
  }

  @Test(
    "after a minute the rate limiter's whole allowance is back, and after an hour it is not larger")
  func full() {
    let limiter = RateLimiter()
    for pause: Duration in [.zero, .seconds(60), .seconds(3660)] {
      for _ in 0..<3 { #expect(limiter.acquire(.anna, at: start + pause, perMinute: 3) == nil) }
      #expect(limiter.acquire(.anna, at: start + pause, perMinute: 3) == .seconds(20))
    }
  }

  @Test("a clock set back by a day does not block calls for longer than their usual wait")
  func clockSetBack() {
    let limiter = RateLimiter()
    for _ in 0..<4 { #expect(limiter.acquire(.anna, at: start, perMinute: 4) == nil) }
    let earlier = start - .seconds(86_400)
    #expect(limiter.acquire(.anna, at: earlier, perMinute: 4) == .seconds(15))
    for second in 1...14 {
      #expect(limiter.acquire(.anna, at: earlier + .seconds(second), perMinute: 4) != nil)
    }
    #expect(
      limiter.acquire(.anna, at: earlier + .seconds(15), perMinute: 4) == nil, "it fills steadily")
  }

  @Test("one user's calls do not consume another user's allowance")
  func owners() {
    let limiter = RateLimiter()
    #expect(limiter.acquire(.anna, at: start, perMinute: 1) == nil)
    #expect(limiter.acquire(.anna, at: start, perMinute: 1) == .seconds(60))
    #expect(limiter.acquire(.bert, at: start, perMinute: 1) == nil)
  }

  @Test("a rate that does not divide a minute evenly allows exactly that many calls at once")
  func uneven() {
    for perMinute in [7, 11, 13, 59] {
      let limiter = RateLimiter()
      let taken = (0..<100).count { _ in
        limiter.acquire(.anna, at: start, perMinute: perMinute) == nil
      }
      #expect(taken == perMinute)
    }
  }
}

@Suite("Connection limits")
struct ConnectionCountTests {
  private func count(all: Int, reserve: Int, perUser: Int) -> ConnectionCount {
    var limits = Limits()
    limits.connections = all
    limits.adminReserve = reserve
    limits.connectionsPerUser = perUser
    var config = Config()
    config.limits = limits
    return ConnectionCount(.fake(config))
  }

  private func limit(_ body: () throws -> Void) -> String? {
    do {
      try body()
      return nil
    } catch {
      guard let error = error as? UsherError, error.reason == .overloaded else { return "other" }
      return error.detail.limit
    }
  }

  @Test("each local user has a limit of connections, and a closed connection makes room")
  func perUser() {
    let count = count(all: 100, reserve: 1, perUser: 2)
    for _ in 0..<2 { #expect(limit { try count.add(1000, isAdmin: false) } == nil) }
    #expect(limit { try count.add(1000, isAdmin: false) } == "connections_per_user")
    #expect(limit { try count.add(1001, isAdmin: false) } == nil)
    #expect(count.count(of: 1000) == 2)
    #expect(count.count(of: nil) == 3)
    count.remove(1000)
    #expect(limit { try count.add(1000, isAdmin: false) } == nil)
    for uid: UInt32 in [1000, 1000, 1001] { count.remove(uid) }
    #expect(count.count(of: 1000) == 0)
    #expect(count.count(of: nil) == 0)
  }

  @Test("the admin socket has reserved connections and ignores the per-user limit")
  func reserve() {
    let count = count(all: 4, reserve: 2, perUser: 2)
    for uid: UInt32 in [0, 1] { #expect(limit { try count.add(uid, isAdmin: false) } == nil) }
    #expect(limit { try count.add(2, isAdmin: false) } == "connections")
    for _ in 0..<2 { #expect(limit { try count.add(0, isAdmin: true) } == nil) }
    #expect(limit { try count.add(0, isAdmin: true) } == "connections")
    #expect(count.count(of: 0) == 3)
  }
}

@Suite("Index of flows in memory")
struct FlowIndexTests {
  @Test("reserved flow places count against the owner's limit until they are released")
  func places() {
    let index = FlowIndex()
    #expect(index.reserve(.anna, atMost: 2))
    #expect(index.reserve(.anna, atMost: 2))
    #expect(!index.reserve(.anna, atMost: 2))
    #expect(index.reserve(.bert, atMost: 2))
    index.release(.anna)
    #expect(index.reserve(.anna, atMost: 2))
    #expect(!index.reserve(.anna, atMost: 2))
  }
}
