import FoundationEssentials
import Glibc
import UsherSimulator

/// Runs seeds in several processes of this program, which print a line for each seed.
///
/// A process runs a few seeds: what a killed daemon leaves in memory is never released.
struct Workers {
  /// What a process says of a seed.
  enum Event: Codable {
    case ends(Simulation.Outcome)
    /// A second run of the seed did other things.
    case differs(UInt64)
  }

  private static let seedsOfProcess: UInt64 = 25

  private struct Worker {
    let process: pid_t
    let output: CInt
    /// The last of the seeds that the process runs.
    let last: UInt64
    /// The next seed of which it says that it has ended.
    var next: UInt64
    var bytes: [UInt8] = []
  }

  let range: ClosedRange<UInt64>
  /// The arguments of each process beside the seeds.
  let arguments: [String]
  let jobs: Int

  /// Runs all seeds.
  ///
  /// - Parameter take: Takes what a process says, or the seed at which it crashed. Returns whether
  ///   to go on.
  func run(_ take: (Result<Event, Crash>) -> Bool) throws {
    var waiting = [range]
    var workers: [Worker] = []
    defer { for worker in workers { kill(worker.process, SIGKILL) } }
    while !waiting.isEmpty || !workers.isEmpty {
      while workers.count < jobs, let seeds = waiting.popLast() {
        let last = min(seeds.upperBound, seeds.lowerBound + Self.seedsOfProcess - 1)
        workers.append(try start(seeds.lowerBound...last))
        if last < seeds.upperBound { waiting.append(last + 1...seeds.upperBound) }
      }
      var polled = workers.map { pollfd(fd: $0.output, events: Int16(POLLIN), revents: 0) }
      poll(&polled, nfds_t(polled.count), -1)
      for index in workers.indices.reversed() where polled[index].revents != 0 {
        guard Self.read(&workers[index], take) else { return }
        guard Self.hasEnded(workers[index]) else { continue }
        let worker = workers.remove(at: index)
        guard worker.next <= worker.last else { continue }
        guard take(.failure(Crash(seed: worker.next))) else { return }
        if worker.next < worker.last { waiting.append(worker.next + 1...worker.last) }
      }
    }
  }

  /// The process ended before it had run a seed.
  struct Crash: Error { let seed: UInt64 }

  private func start(_ seeds: ClosedRange<UInt64>) throws -> Worker {
    var ends: [CInt] = [0, 0]
    guard pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
    var process = pid_t()
    let range = "\(seeds.lowerBound)..\(seeds.upperBound)"
    var strings = (["usher-sim", "--seeds", range] + arguments).map { strdup($0) } + [nil]
    defer { for string in strings { free(string) } }
    let code = posix_spawn(&process, "/proc/self/exe", &actions, nil, &strings, environ)
    close(ends[1])
    guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EAGAIN) }
    return Worker(
      process: process, output: ends[0], last: seeds.upperBound, next: seeds.lowerBound)
  }

  /// Reads lines of a process; returns false if no more are wanted.
  private static func read(_ worker: inout Worker, _ take: (Result<Event, Crash>) -> Bool) -> Bool {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(worker.output, &chunk, chunk.count)
    if count > 0 { worker.bytes += chunk[..<count] }
    while let end = worker.bytes.firstIndex(of: UInt8(ascii: "\n")) {
      let line = Data(worker.bytes[..<end])
      worker.bytes.removeSubrange(...end)
      guard let event = try? JSONDecoder().decode(Event.self, from: line) else { continue }
      if case .ends(let outcome) = event { worker.next = outcome.seed + 1 }
      guard take(.success(event)) else { return false }
    }
    return true
  }

  /// Whether a process has closed its output; waits for its end then.
  private static func hasEnded(_ worker: Worker) -> Bool {
    var request = pollfd(fd: worker.output, events: Int16(POLLIN), revents: 0)
    guard poll(&request, 1, 0) > 0, request.revents & Int16(POLLIN) == 0 else { return false }
    close(worker.output)
    var status: CInt = 0
    waitpid(worker.process, &status, 0)
    return true
  }
}
