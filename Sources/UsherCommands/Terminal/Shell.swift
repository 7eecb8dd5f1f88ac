import Dispatch
import Glibc
package import UsherCore

/// Runs command lines with `/bin/sh`.
package struct Shell: Programs {
  /// Upper bound for the output of a command, in bytes.
  package static let outputLimit = 65_536

  package init() {}

  package func run(
    _ command: String, input: Secret, within limit: Duration
  ) async throws -> CommandEnding {
    let isCancelled = CancelFlag()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(
            with: Result {
              let running = try RunningCommand(command, input)
              return try running.end(by: ContinuousClock.now + limit, isCancelled)
            })
        }
      }
    } onCancel: {
      isCancelled.raise()
    }
  }
}

/// A running command line. Its methods block the calling thread.
private final class RunningCommand {
  /// Poll interval for cancellation, the time limit and the command's end, in milliseconds.
  private static let pollInterval: CInt = 20
  /// The number of polls before a command that ignores SIGTERM is killed.
  private static let terminationPolls = 50

  private let process: pid_t
  private let output: CInt
  private var bytes: [UInt8] = []
  private var isDrained = false

  /// - Throws: ``CommandFailure`` if no pipe or process can be created, or if the input does not fit into
  ///   a pipe.
  init(_ command: String, _ input: Secret) throws {
    let standardInput = try Pipe()
    defer { standardInput.close() }
    let standardOutput = try Pipe()
    // Written before the command starts, so the write neither blocks nor fails because nothing
    // reads it.
    guard standardInput.fill(input) else {
      standardOutput.close()
      throw CommandFailure("the input of the command is too long")
    }
    let launch = ProgramLaunch(
      arguments: ["/bin/sh", "-c", command],
      files: [.descriptor(standardInput.reader), .descriptor(standardOutput.writer), .shared])
    let process = launch.start()
    Glibc.close(standardOutput.writer)
    guard let process else {
      Glibc.close(standardOutput.reader)
      throw CommandFailure("the command cannot be started")
    }
    self.process = process
    output = standardOutput.reader
    _ = fcntl(output, F_SETFL, O_NONBLOCK)
  }

  deinit { Glibc.close(output) }

  /// - Throws: `CancellationError`.
  func end(by deadline: ContinuousClock.Instant, _ isCancelled: CancelFlag) throws -> CommandEnding
  {
    while true {
      if isCancelled.isRaised {
        kill()
        throw CancellationError()
      }
      if ContinuousClock.now >= deadline {
        kill()
        return .outOfTime
      }
      wait()
      let ending = ending()
      read()
      if bytes.count > Shell.outputLimit {
        if ending == nil { kill() }
        return .outputTooLong
      }
      if let ending { return ending.with(output: bytes) }
    }
  }

  /// Waits for output, or for one poll interval.
  private func wait() {
    var file = pollfd(fd: isDrained ? -1 : output, events: Int16(POLLIN), revents: 0)
    poll(&file, 1, Self.pollInterval)
  }

  /// Reads the output that is available.
  private func read() {
    while !isDrained && bytes.count <= Shell.outputLimit {
      var count = 0
      let chunk = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, filled in
        count = Glibc.read(output, buffer.baseAddress, buffer.count)
        filled = max(0, count)
      }
      if count == 0 { isDrained = true }
      guard count > 0 else { return }
      bytes += chunk
    }
  }

  /// Returns the exit status; nil while the command is running.
  private func ending() -> ExitStatus? {
    var status: CInt = 0
    guard waitpid(process, &status, WNOHANG) == process else { return nil }
    return ExitStatus(waitStatus: status)
  }

  /// Ends the command and all that it has started: SIGTERM, then SIGKILL.
  private func kill() {
    Glibc.kill(-process, SIGTERM)
    var polls = 0
    while ending() == nil && polls < Self.terminationPolls {
      poll(nil, 0, Self.pollInterval)
      polls += 1
    }
    Glibc.kill(-process, SIGKILL)
    if polls == Self.terminationPolls { waitpid(process, nil, 0) }
  }
}

/// The status that `waitpid` returns. Swift does not import the macros that decode it.
private struct ExitStatus {
  let waitStatus: CInt

  func with(output: [UInt8]) -> CommandEnding {
    let signal = waitStatus & 0x7F
    let status = (waitStatus >> 8) & 0xFF
    if signal != 0 { return .killed(signal: signal) }
    if status != 0 { return .failed(status: status) }
    return .done(output: Secret(String(validating: output, as: UTF8.self) ?? ""))
  }
}

/// A pipe that other programs do not inherit.
struct Pipe {
  let reader: CInt
  let writer: CInt

  init() throws {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else { throw CommandFailure("no pipe can be created for the command") }
    (reader, writer) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  }

  /// Writes a text without blocking.
  ///
  /// - Returns: False if the text does not fit into the pipe.
  func fill(_ text: Secret) -> Bool {
    _ = fcntl(writer, F_SETFL, O_NONBLOCK)
    var text = text.revealed()
    return text.withUTF8 { bytes in
      Glibc.write(writer, bytes.baseAddress, bytes.count) == bytes.count
    }
  }

  func close() {
    Glibc.close(reader)
    Glibc.close(writer)
  }
}
