import FoundationEssentials
import Glibc
import Testing
import UsherCommands
import UsherCore
import UsherTestKit

@Suite("usherctl's runner of shell command lines", .timeLimit(.minutes(10)))
struct ShellTests {
  private func run(
    _ command: String, input: String = "", within limit: Duration = .seconds(60)
  ) async throws -> CommandEnding {
    try await Shell().run(command, input: Secret(input), within: limit)
  }

  @Test("a shell command of usherctl reads its whole input, and its whole output is returned")
  func output() async throws {
    #expect(try await run("cat; echo more", input: "in\n") == .done(output: Secret("in\nmore\n")))
    #expect(try await run("exec true", input: "nobody reads this") == .done(output: Secret("")))
    #expect(try await run(#"printf '\377'"#) == .done(output: Secret("")))
  }

  @Test("a shell command of usherctl ends with its exit status or with the signal that killed it")
  func status() async throws {
    #expect(try await run("cat >/dev/null; exit 3") == .failed(status: 3))
    #expect(try await run("/no/such/program 2>/dev/null") == .failed(status: 127))
    #expect(try await run("kill -KILL $$") == .killed(signal: 9))
  }

  @Test("a shell command of usherctl has default signal handling and a session of its own")
  func surroundings() async throws {
    // 0x1002 is SIGINT and SIGPIPE. In /proc/PID/stat, the session follows name, state, parent and
    // group.
    let signals = """
      while read name value; do
        case $name in SigBlk:) echo $((0x$value)) ;; SigIgn:) echo $((0x$value & 0x1002)) ;; esac
      done </proc/$$/status
      """
    #expect(try await run(signals) == .done(output: Secret("0\n0\n")))
    let session =
      "read process name state parent group session rest </proc/$$/stat; echo $((session - $$))"
    #expect(try await run(session) == .done(output: Secret("0\n")))
  }

  @Test("the input of usherctl's shell command is neither in its arguments nor in its environment")
  func secrecy() async throws {
    let all = "cat /proc/$$/cmdline /proc/$$/environ | tr '\\0' '\\n' | grep -c s3[c]r3t"
    #expect(try await run("cat >/dev/null; \(all)", input: "s3cr3t") == .failed(status: 1))
  }

  @Test("usherctl ends a shell command whose time is over, even if the command ignores SIGTERM")
  func limit() async throws {
    #expect(try await run("sleep 60 & sleep 60", within: .zero) == .timedOut)
    #expect(try await run("trap '' TERM; exec sleep 60", within: .zero) == .timedOut)
  }

  @Test("usherctl kills a shell command that writes without end, with the processes it has started")
  func outputTooLong() async throws {
    let path = FakeDaemon.freshPath()
    defer { FakeDaemon.removeFolder(of: path) }
    let stubborn = "sh -c 'trap \"\" TERM; echo $$ >\(path); exec sleep 900'"
    let ending = try await run(
      "\(stubborn) & until [ -s \(path) ]; do :; done; exec cat /dev/zero")
    #expect(ending == .outputTooLong)
    let text = try String(contentsOf: URL(filePath: path), encoding: .utf8)
    let process = try #require(Int(text.dropLast()))
    do {
      try await reached("the started process has ended") { !isRunning(process) }
    } catch {
      kill(pid_t(process), SIGKILL)
      throw error
    }
  }

  /// A zombie counts as ended: its parent has not waited for it yet.
  private func isRunning(_ process: Int) -> Bool {
    let path = URL(filePath: "/proc/\(process)/stat")
    guard let text = try? String(contentsOf: path, encoding: .utf8) else { return false }
    return !text.contains(") Z ")
  }

  @Test("usherctl does not wait for the background processes of a shell command")
  func background() async throws {
    let group = try await run("sleep 900 & echo $$")
    guard case .done(let text) = group, let number = Int32(text.revealed().dropLast()) else {
      Issue.record("\(group)")
      return
    }
    #expect(kill(-number, SIGKILL) == 0, "the background process still runs")
  }

  @Test("usherctl ends a shell command that is cancelled")
  func cancelled() async throws {
    let running = Task { try await run("exec sleep 60") }
    running.cancel()
    await #expect(throws: CancellationError.self) { try await running.value }
  }

  @Test("usherctl refuses input for a shell command that exceeds the size of a pipe")
  func tooLong() async throws {
    await #expect(throws: (any Error).self) {
      try await run("cat", input: String(repeating: "x", count: 1 << 20))
    }
  }
}
