import Glibc
import Testing

@testable import UsherDaemon

@Suite("The scheduler of connections", .timeLimit(.minutes(2)))
struct ConnectionSchedulerTests {
  private let harness: ConnectionHarness

  init() async throws { harness = try await ConnectionHarness() }

  @Test("a user does not pay for the time in which the loop waits for a processor")
  func waiting() async throws {
    let (working, other) = (try await harness.connect(), try await harness.connect(as: 2000))
    // The first time is without a pause: all that is called has been called then.
    for pause in [0, 20_000] as [UInt32] {
      let isHeardAtOnce = try await working.handler.loop.submit {
        [working = working.handler, other = other.handler] in
        let (working, other) = (working.value, other.value)
        let turns = working.turns
        guard turns.mayWork(other), turns.mayWork(working) else { return false }
        let slice = turns.slice(for: working)
        // As if other processes had the processors.
        usleep(pause)
        _ = turns.worked(working, slice, leaving: .nothing)
        return turns.mayWork(working)
      }
      #expect(isHeardAtOnce, "\(pause)")
    }
    await harness.end()
  }
}
