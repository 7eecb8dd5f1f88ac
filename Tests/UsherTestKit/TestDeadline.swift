package import Dispatch
import Foundation
import Synchronization

/// The time limit of a wait for something outside the test: a task, a connection or a process.
///
/// The limit scales with the speed of the machine, which ``MachineSpeed`` measures meanwhile: on a
/// machine that is three times slower than an idle one, a limit of one minute lasts three minutes.
package struct TestDeadline: Sendable {
  private let end: Duration

  /// - Parameter seconds: The limit on an idle machine.
  package init(within seconds: Double = 60) {
    end = MachineSpeed.shared.idleTime + .seconds(seconds)
  }

  package var isOver: Bool { MachineSpeed.shared.idleTime >= end }

  /// Calls `look` until it returns true or the time is over.
  ///
  /// - Parameter look: The condition. It pauses before it returns false, unless its argument says
  ///   that this is the last look, which is after the end.
  /// - Returns: The last result of `look`.
  package func isMet(by look: (_ isLast: Bool) throws -> Bool) rethrows -> Bool {
    while true {
      let isLast = isOver
      if try look(isLast) { return true }
      if isLast { return false }
    }
  }

  /// Waits until a descriptor can be read, or its other end is closed.
  package func isReadable(_ descriptor: CInt) -> Bool { isReady(descriptor, POLLIN) }

  /// Waits until a descriptor can be written, or its other end is closed.
  package func isWritable(_ descriptor: CInt) -> Bool { isReady(descriptor, POLLOUT) }

  private func isReady(_ descriptor: CInt, _ events: Int32) -> Bool {
    isMet { isLast in
      var request = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      return poll(&request, 1, isLast ? 0 : 50) > 0
    }
  }

  /// Waits for a signal of a semaphore.
  package func isSignalled(_ semaphore: DispatchSemaphore) -> Bool {
    isMet { isLast in
      semaphore.wait(timeout: .now() + .milliseconds(isLast ? 0 : 50)) == .success
    }
  }
}

/// Measures the speed of the machine all the time, from the first wait of the test process on.
package final class MachineSpeed: Sendable {
  package static let shared = MachineSpeed()

  private struct State {
    var idleTime = Duration.zero
    var lastMeasurement = ContinuousClock.now
  }

  private static let pause = Duration.milliseconds(20)
  /// The greatest factor: the usual waits, of 60 to 120 s, then end within the ten minutes of a
  /// suite, and the error says what was waited for.
  private static let most = 5.0

  private let state = Mutex(State())
  private let load = open("/proc/loadavg", O_RDONLY | O_CLOEXEC)

  private init() {
    // Sleeps in the thread pool that tests share with the servers of this process: if the pool is
    // busy, the sleep takes as much longer as they do.
    Task.detached { [self] in
      while true {
        try? await Task.sleep(for: Self.pause)
        measure()
      }
    }
  }

  /// The time for which an idle machine would have needed to do what this one has done until now.
  package var idleTime: Duration {
    state.withLock { $0.idleTime + ($0.lastMeasurement.duration(to: .now) / Self.most) }
  }

  private func measure() {
    let waiting = threadsPerProcessor()
    state.withLock { state in
      let now = ContinuousClock.now
      let slept = state.lastMeasurement.duration(to: now)
      state.idleTime += slept / Self.slowness(slept: slept, threadsPerProcessor: waiting)
      state.lastMeasurement = now
    }
  }

  /// Returns how many times slower the machine is than an idle one.
  ///
  /// - Parameters:
  ///   - slept: How long a sleep of 20 ms took.
  ///   - threadsPerProcessor: How many threads that can run share a processor.
  package static func slowness(slept: Duration, threadsPerProcessor: Double) -> Double {
    min(max(1, slept / pause, threadsPerProcessor), most)
  }

  /// Returns the number of threads that can run, for each processor of the machine; 0 if unknown.
  private func threadsPerProcessor() -> Double {
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = pread(load, &bytes, bytes.count, 0)
    // The fourth field is "can run/all" (proc_loadavg(5)).
    let fields = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
    guard fields.count > 3, let running = fields[3].split(separator: "/").first,
      let threads = Double(running)
    else { return 0 }
    return threads / Double(ProcessInfo.processInfo.activeProcessorCount)
  }
}

/// Polls until the condition holds, for changes in tasks that the test cannot await.
package func reached(
  _ what: @autoclosure () -> String, _ holds: () async throws -> Bool
) async throws {
  let deadline = TestDeadline(within: 90)
  while true {
    let isLast = deadline.isOver
    if try await holds() { return }
    guard !isLast else { throw TestError("not reached: \(what())") }
    try await Task.sleep(for: .milliseconds(1))
  }
}
