import ArgumentParser
import Glibc
import Synchronization
import UsherClient

/// Runs clients of the client library that ask for tokens without a pause.
struct Load: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Get tokens from a running usherd without pause, and count failures.",
    discussion: """
      Each client is a UsherClient with its own connection. The command prints "calling" when \
      every client has its first token. At the end, after --seconds or on SIGTERM, it prints how \
      many calls it made and how many failed. The exit status is 1 if a call failed.
      """)

  @Option(help: "Path of the daemon's socket.")
  var socket = "/run/usherd/usherd.sock"

  @Option(help: "Provider of the tokens; the caller must have an account there.")
  var provider: String

  @Option(help: "Number of clients.")
  var clients = 50

  @Option(help: "Seconds to run; SIGTERM ends it earlier.")
  var seconds = 60

  func validate() throws {
    guard clients > 0, seconds > 0 else {
      throw ValidationError("--clients and --seconds must be more than 0")
    }
  }

  func run() async throws {
    _ = isStopRequested.load(ordering: .relaxed)
    signal(SIGTERM) { _ in isStopRequested.store(true, ordering: .relaxed) }
    let end = ContinuousClock.now + .seconds(seconds)
    let (firstTokens, feed) = AsyncStream.makeStream(of: Void.self)
    let total = await withTaskGroup(of: Tally.self) { group in
      for _ in 0..<clients {
        group.addTask { await Self.requestTokens(socket, provider, until: end) { feed.yield() } }
      }
      group.addTask {
        var waiting = clients
        for await _ in firstTokens where waiting > 0 {
          waiting -= 1
          if waiting == 0 { report("calling") }
        }
        return Tally()
      }
      var total = Tally()
      for _ in 0..<clients {
        if let tally = await group.next() { total.add(tally) }
      }
      feed.finish()
      return total
    }
    report("calls \(total.calls)")
    report("slowest \(total.slowest / .milliseconds(1)) ms")
    report("failed \(total.failed)")
    for failure in total.failures { report("  \(failure)") }
    guard total.failed == 0 else { throw ExitCode(1) }
  }

  /// Makes one client's calls. Stops after a hundred failures in a row.
  private static func requestTokens(
    _ socket: String, _ provider: String, until end: ContinuousClock.Instant,
    onFirstToken: () -> Void
  ) async -> Tally {
    let client = UsherClient(socketPath: socket, name: "usher-bench")
    var (tally, failedInRow) = (Tally(), 0)
    while ContinuousClock.now < end, failedInRow < 100, !isStopRequested.load(ordering: .relaxed) {
      let start = ContinuousClock.now
      do {
        _ = try await client.token(provider: provider)
        if tally.calls == tally.failed { onFirstToken() }
        failedInRow = 0
      } catch {
        failedInRow += 1
        tally.fail("\(error)")
      }
      tally.calls += 1
      tally.slowest = max(tally.slowest, ContinuousClock.now - start)
    }
    await client.close()
    return tally
  }
}

/// Whether SIGTERM has been received.
private let isStopRequested = Atomic(false)

/// The outcome of a number of calls.
private struct Tally {
  var calls = 0
  var slowest = Duration.zero
  var failed = 0
  /// The first five failures.
  var failures: [String] = []

  mutating func fail(_ what: String) {
    failed += 1
    if failures.count < 5 { failures.append(what) }
  }

  mutating func add(_ other: Tally) {
    calls += other.calls
    slowest = max(slowest, other.slowest)
    failed += other.failed
    failures = Array((failures + other.failures).prefix(5))
  }
}

/// Prints a line and flushes it, so that the reader gets it at once.
private func report(_ line: String) {
  print(line)
  fflush(nil)
}
