import Testing
import UsherCore
import UsherTestKit

@testable import UsherDaemon

@Suite("Gates and pauses")
struct GateTests {
  @Test("an open gate lets through at once, for good, everybody")
  func open() async {
    let gate = Gate()
    gate.open()
    gate.open()
    await gate.pass()
    await gate.pass()
  }

  @Test("all who wait pass when it opens")
  func waiting() async throws {
    let gate = Gate()
    let arrived = Gate()
    let waiting = (0..<10).map { number in
      Task {
        if number == 9 { arrived.open() }
        await gate.pass()
      }
    }
    await arrived.pass()
    gate.open()
    for task in waiting { await task.value }
  }

  @Test("who is cancelled waits no longer, before or after he came")
  func cancelled() async {
    let gate = Gate()
    let late = Task { await gate.pass() }
    late.cancel()
    await late.value
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await gate.pass()
    }
    await early.value
  }

  @Test("a pause lasts until its alarm, and leaves none behind")
  func pause() async throws {
    let clock = FakeClock()
    let alarms = FakeAlarms(clock)
    let pause = Task { await alarms.pause(.seconds(5)) }
    try await alarms.isSet(.seconds(5))
    alarms.advance(by: .seconds(4))
    #expect(alarms.pending == [.seconds(1)])
    alarms.advance(by: .seconds(1))
    await pause.value
    #expect(alarms.pending.isEmpty)
  }

  @Test("a cancelled pause ends at once and takes its alarm along")
  func cancelledPause() async throws {
    let alarms = FakeAlarms(FakeClock())
    let pause = Task { await alarms.pause(.seconds(3600)) }
    try await alarms.isSet(.seconds(3600))
    pause.cancel()
    await pause.value
    #expect(alarms.pending.isEmpty)
  }
}
