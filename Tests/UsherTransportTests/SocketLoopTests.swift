import Dispatch
import NIOCore
import Synchronization
import Testing
import UsherCore
import UsherSystem
import UsherTestKit

@testable import UsherTransport

@Suite("Event loop of the sockets", .timeLimit(.minutes(10)))
struct SocketLoopTests {
  /// Records entries on the loop, in order.
  private final class Log {
    var entries: [String] = []
  }

  private let loop: SocketLoop
  private let log: OnLoop<Log>

  init() throws {
    loop = try SocketLoop()
    log = OnLoop(Log(), loop)
  }

  private func recorded() async throws -> [String] {
    try await loop.submit { [log] in log.value.entries }
  }

  @Test("jobs from other threads run on the event loop, each thread's in its order")
  func execute() async throws {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { [loop, log] in
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
          for number in 0..<2000 {
            loop.execute { log.value.entries.append("\(thread) \(number)") }
          }
        }
        continuation.resume()
      }
    }
    let entries = try await recorded()
    #expect(entries.count == 16_000)
    for thread in 0..<8 {
      let own = entries.filter { $0.hasPrefix("\(thread) ") }
      #expect(own == (0..<2000).map { "\(thread) \($0)" })
    }
    await loop.stop()
  }

  @Test("a turn of the event loop handles ready sockets, then jobs, end handlers and due timers")
  func turn() async throws {
    let (near, far) = try FarEnd.pair()
    try await loop.submit { [loop, log] in
      let log = log.value
      let transport = Transport(near, on: loop, maxUnsent: 100)
      let user = Noting { log.entries.append("ready") }
      try transport.begin(for: user)
      // All of it is ready when the next turn begins.
      _ = far.send([1])
      loop.atEndOfIteration { log.entries.append("end") }
      _ = loop.scheduleTask(deadline: .now()) {
        log.entries.append("timer")
        _ = loop.scheduleTask(in: .nanoseconds(0)) { log.entries.append("next timer") }
      }
      loop.execute { [held = OnLoop(log, loop)] in held.value.entries.append("job") }
    }
    try await reached("timers") { try await recorded().contains("next timer") }
    let entries = try await recorded()
    let order = ["end", "timer", "ready", "job", "end", "next timer"]
    #expect(entries.starts(with: order), "\(entries)")
    await loop.stop()
    _ = far
  }

  private final class Noting: TransportUser {
    private let note: () -> Void

    init(_ note: @escaping () -> Void) { self.note = note }

    func received(_ bytes: UnsafeRawBufferPointer) { note() }

    func inputEnded() {}

    func roomChanged() {}

    func closed() {}
  }

  @Test("loop timers fire in order and not before their time, and cancelled ones never")
  func timers() async throws {
    let begun = NIODeadline.now()
    let (first, second) = await withCheckedContinuation { continuation in
      loop.execute { [loop, log] in
        var first: NIODeadline?
        _ = loop.scheduleTask(in: .milliseconds(30)) {
          log.value.entries.append("second")
          continuation.resume(returning: (first, NIODeadline.now()))
        }
        _ = loop.scheduleTask(in: .microseconds(1500)) { first = .now() }
        loop.scheduleTask(in: .milliseconds(5)) { log.value.entries.append("none") }.cancel()
      }
    }
    #expect(try #require(first) - begun >= .microseconds(1500))
    #expect(second - begun >= .milliseconds(30))
    #expect(try await recorded() == ["second"])
    await loop.stop()
  }

  @Test("a repeated task of the event loop runs at once and repeatedly until it is cancelled")
  func repeated() async throws {
    let task = loop.scheduleRepeatedTask(every: .milliseconds(1)) { [log] in
      log.value.entries.append("ping")
    }
    try await reached("the task has run five times") { try await recorded().count >= 5 }
    task.cancel()
    let count = try await recorded().count
    await withCheckedContinuation { continuation in
      loop.execute { [loop] in
        _ = loop.scheduleTask(in: .milliseconds(20)) { continuation.resume() }
      }
    }
    #expect(try await recorded().count == count)
    await loop.stop()
  }

  @Test("an advanced timer clock fires the timers due by then, and the loop's own time stays real")
  func moved() async throws {
    let shift = LoopTimeShift()
    let loop = try SocketLoop(timersMovedBy: shift)
    let log = OnLoop(Log(), loop)
    func planned(_ minutes: Int64...) async throws {
      try await loop.submit {
        for minutes in minutes {
          _ = loop.scheduleTask(in: .minutes(minutes)) { log.value.entries.append("\(minutes)") }
        }
      }
    }
    try await planned(20, 60)
    shift.advance(by: .minutes(30))
    try await reached("a timer has fired") { try await loop.submit { log.value.entries } == ["20"] }
    // A timer set after the advance has its whole delay before it.
    try await planned(29, 31)
    shift.advance(by: .minutes(30))
    try await reached("all due timers have fired") {
      try await loop.submit { log.value.entries } == ["20", "29", "60"]
    }
    #expect(loop.now < .now() + .minutes(1))
    await loop.stop()
  }

  @Test("stopping the event loop runs earlier jobs and closes sockets; later jobs are refused")
  func stop() async throws {
    let (near, far) = try FarEnd.pair()
    let done = Mutex(0)
    try await loop.submit { [loop] in
      try Transport(near, on: loop, maxUnsent: 100).begin(for: Noting {})
      _ = loop.scheduleTask(in: .hours(1)) { done.withLock { $0 = 1000 } }
    }
    for _ in 0..<100 { loop.execute { done.withLock { $0 += 1 } } }
    await loop.stop()
    #expect(done.withLock { $0 } == 100)
    #expect(far.receive() == nil)
    #expect(!loop.execute { done.withLock { $0 += 1 } })
    await #expect(throws: UsherError.self) { try await loop.submit { 1 } }
    await loop.stop()
    #expect(done.withLock { $0 } == 100)
  }

  @Test("a loop without a thread runs jobs and due timers when it is asked to, until it is stopped")
  func withoutThread() async throws {
    let loop = try SocketLoop.withoutThread()
    let entries = Mutex<[String]>([])
    #expect(!loop.runOnce() && !loop.hasPendingJobs && loop.nextTimer == nil)
    loop.execute { entries.withLock { $0.append("job") } }
    loop.execute {
      _ = loop.scheduleTask(in: .nanoseconds(1)) { entries.withLock { $0.append("timer") } }
      _ = loop.scheduleTask(in: .hours(1)) { entries.withLock { $0.append("much later") } }
    }
    #expect(loop.hasPendingJobs && entries.withLock { $0.isEmpty })
    while loop.nextTimer.map({ $0 < .now() + .minutes(1) }) ?? true { _ = loop.runOnce() }
    async let stopped: Void = loop.stop()
    while loop.execute({}) { _ = loop.runOnce() }
    await stopped
    #expect(entries.withLock { $0 } == ["job", "timer"])
    #expect(!loop.runOnce() && !loop.isOnLoop)
  }

  @Test("a key of SocketLoop's source table is never reused, although its slot is")
  func keys() async throws {
    let loop = loop
    try await loop.submit {
      var table = SourceTable()
      let sources = (0..<3).map { _ in LoopSource(DirectSocket(-1), on: loop) }
      let keys = sources.map { table.add($0) }
      #expect(Set(keys).count == 3)
      table.remove(keys[1])
      table.remove(keys[1])
      #expect(table[keys[1]] == nil && table.all.count == 2)
      let source = LoopSource(DirectSocket(-1), on: loop)
      let key = table.add(source)
      #expect(!keys.contains(key))
      #expect(
        table[keys[1]] == nil && table[key] === source && table[keys[2]] === sources[2])
      for key in [keys[0], key, keys[2]] { table.remove(key) }
      #expect(table.isEmpty && table[key] == nil && table[Poller.wakeUpKey] == nil)
    }
    await loop.stop()
  }
}
