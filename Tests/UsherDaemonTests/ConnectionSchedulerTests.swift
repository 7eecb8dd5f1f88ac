import Glibc
import Testing
import UsherTransport

@testable import UsherDaemon

@Suite("Connection scheduler", .timeLimit(.minutes(10)))
struct ConnectionSchedulerTests {
  private let harness: ConnectionHarness

  init() async throws { harness = try await ConnectionHarness() }

  @Test("a user is not charged for the time in which the event loop waits for a processor")
  func waiting() async throws {
    let (working, other) = (try await harness.connect(), try await harness.connect(as: 2000))
    // The first round has no pause, so that everything has been called once.
    for pause in [0, 20_000] as [UInt32] {
      let isHeardAtOnce = try await working.handler.loop.submit {
        [working = working.handler, other = other.handler] in
        let (working, other) = (working.value, other.value)
        let scheduler = working.scheduler
        guard scheduler.mayWork(other), scheduler.mayWork(working) else { return false }
        let slice = scheduler.slice(for: working)
        // As if other processes used the processors. The pause is real, because the scheduler
        // compares the machine's clock with the thread's processor time. It may be longer.
        usleep(pause)
        _ = scheduler.recordWork(working, slice, remaining: .nothing)
        return scheduler.mayWork(working)
      }
      #expect(isHeardAtOnce, "\(pause)")
    }
    await harness.end()
  }
}
