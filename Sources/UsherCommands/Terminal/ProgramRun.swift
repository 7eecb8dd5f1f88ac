import Dispatch
import Glibc
import UsherClient
import UsherCore

/// A run of a program, with limits for its time and its output. Its methods block the calling
/// thread.
final class ProgramRun {
  /// Upper bound for each output of a program, in bytes.
  static let outputLimit = 65_536
  /// The interval, in milliseconds, at which cancellation, the time limit and the program's end are
  /// checked.
  private static let pollInterval: CInt = 20
  /// How many polls a program has to end after SIGTERM, before it gets SIGKILL.
  private static let terminationPolls = 50

  /// How the run ended, with the standard output and, if it is read, the standard error.
  enum Ending {
    case exited(status: CInt, [[UInt8]])
    case killed(signal: CInt, [[UInt8]])
    case timedOut
    case outputTooLong
  }

  private let process: pid_t
  private let outputs: [Output]

  /// Runs a program to its end, but does not wait for processes that the program leaves in the
  /// background.
  ///
  /// - Parameters:
  ///   - arguments: The program, which is looked up in `PATH`, and its arguments.
  ///   - input: The whole standard input of the program.
  ///   - readsErrors: Whether the program's standard error is read; otherwise the program gets
  ///     usherctl's own.
  ///   - limit: The time after which the program and its process group are ended.
  /// - Throws: `CancellationError` when the task is cancelled; the program is then ended, too.
  ///   ``CommandFailure`` if the program cannot be started.
  static func run(
    _ arguments: [String], input: Secret, readsErrors: Bool = false, within limit: Duration
  ) async throws -> Ending {
    try await CancelFlag.run(on: .global()) { isCancelled in
      let run = try ProgramRun(arguments, input, readsErrors)
      return try run.end(by: ContinuousClock.now + limit, isCancelled)
    }
  }

  private init(_ arguments: [String], _ input: Secret, _ readsErrors: Bool) throws {
    let standardInput = try Pipe()
    defer { standardInput.close() }
    let outputs = try (0..<(readsErrors ? 2 : 1)).map { _ in try Output() }
    self.outputs = outputs
    defer { for output in outputs { output.closeWriter() } }
    // The input is written before the program starts, so the write neither blocks nor fails for
    // want of a reader.
    guard standardInput.fill(input) else {
      throw CommandFailure("the input of \(arguments[0]) is too long")
    }
    let files = [standardInput.reader] + outputs.map(\.pipe.writer)
    let launch = ProgramLaunch(arguments: arguments, files: files.map { .descriptor($0) })
    guard let process = launch.start() else {
      throw CommandFailure("\(arguments[0]) cannot be started")
    }
    self.process = process
  }

  private func end(
    by deadline: ContinuousClock.Instant, _ isCancelled: CancelFlag
  ) throws -> Ending {
    while true {
      if isCancelled.isRaised {
        kill()
        throw CancellationError()
      }
      if ContinuousClock.now >= deadline {
        kill()
        return .timedOut
      }
      waitForOutput()
      let status = waitStatus()
      for output in outputs { output.read() }
      if outputs.contains(where: \.isTooLong) {
        if status == nil { kill() }
        return .outputTooLong
      }
      guard let status else { continue }
      // The status is decoded here, because Swift does not import the macros of wait(2).
      let (signal, bytes) = (status & 0x7F, outputs.map(\.bytes))
      return signal == 0
        ? .exited(status: (status >> 8) & 0xFF, bytes) : .killed(signal: signal, bytes)
    }
  }

  /// Waits for output, or for one poll interval.
  private func waitForOutput() {
    var files = outputs.map { output in
      pollfd(
        fd: output.hasEnded ? -1 : output.pipe.reader, events: Int16(POLLIN), revents: 0)
    }
    poll(&files, nfds_t(files.count), Self.pollInterval)
  }

  /// Returns the status that `waitpid` gives; nil while the program is running.
  private func waitStatus() -> CInt? {
    var status: CInt = 0
    return waitpid(process, &status, WNOHANG) == process ? status : nil
  }

  /// Ends the program and all processes in its process group: SIGTERM, then SIGKILL.
  private func kill() {
    Glibc.kill(-process, SIGTERM)
    var polls = 0
    while waitStatus() == nil && polls < Self.terminationPolls {
      poll(nil, 0, Self.pollInterval)
      polls += 1
    }
    Glibc.kill(-process, SIGKILL)
    if polls == Self.terminationPolls { waitpid(process, nil, 0) }
  }
}

/// The standard output or error of a program, read from a pipe.
private final class Output {
  let pipe: Pipe
  private(set) var bytes: [UInt8] = []
  private(set) var hasEnded = false

  init() throws {
    pipe = try Pipe()
    _ = fcntl(pipe.reader, F_SETFL, O_NONBLOCK)
  }

  deinit { close(pipe.reader) }

  var isTooLong: Bool { bytes.count > ProgramRun.outputLimit }

  func closeWriter() { close(pipe.writer) }

  /// Reads from the pipe what the program has written so far, without waiting.
  func read() {
    while !hasEnded && !isTooLong {
      var count = 0
      let chunk = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, filled in
        count = Glibc.read(pipe.reader, buffer.baseAddress, buffer.count)
        filled = max(0, count)
      }
      if count == 0 { hasEnded = true }
      guard count > 0 else { return }
      bytes += chunk
    }
  }
}

/// A pipe that other programs do not inherit.
private struct Pipe {
  let reader: CInt
  let writer: CInt

  init() throws {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else { throw CommandFailure("no pipe can be created for a program") }
    (reader, writer) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  }

  /// Writes a text into the pipe without blocking.
  ///
  /// - Returns: False if the pipe has no room for the text.
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
