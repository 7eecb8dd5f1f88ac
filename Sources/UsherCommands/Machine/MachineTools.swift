import Dispatch
import Glibc
package import UsherCore

/// Runs the programs of this machine that `PATH` leads to.
package struct MachineTools: Tools {
  /// Upper bound for the output of a program, in bytes.
  static let outputLimit = 65_536

  private let folders: [String]

  /// - Parameter environment: Supplies `PATH`, of which relative directories are ignored.
  package init(environment: [String: String]) {
    let path = environment["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin"
    folders = path.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
  }

  package func path(of name: String) -> String? {
    folders.lazy.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
  }

  package func run(
    _ program: String, _ arguments: [String], input: Secret, within limit: Duration
  ) async throws -> ToolEnding {
    let isCancelled = CancelFlag()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(
            with: Result {
              let running = try RunningTool(program, arguments, input)
              return try running.end(by: ContinuousClock.now + limit, isCancelled)
            })
        }
      }
    } onCancel: {
      isCancelled.raise()
    }
  }
}

/// A running program. Its methods block the calling thread.
private final class RunningTool {
  /// Poll interval for cancellation, the time limit and the program's end, in milliseconds.
  private static let pollInterval: CInt = 20

  private let name: String
  private let process: pid_t
  private var output: Stream
  private var errors: Stream

  /// The bytes read from a pipe so far.
  private struct Stream {
    let descriptor: CInt
    var bytes: [UInt8] = []
    var hasEnded = false

    mutating func read() {
      while !hasEnded, bytes.count <= MachineTools.outputLimit {
        let chunk = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
          let got = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
          hasEnded = got == 0
          count = max(0, got)
        }
        guard !chunk.isEmpty else { return }
        bytes += chunk
      }
    }
  }

  init(_ program: String, _ arguments: [String], _ input: Secret) throws {
    name = program.split(separator: "/").last.map(String.init) ?? program
    let standardInput = try Pipe()
    defer { standardInput.close() }
    let pipes = try (output: Pipe(), errors: Pipe())
    defer {
      Glibc.close(pipes.output.writer)
      Glibc.close(pipes.errors.writer)
    }
    output = Stream(descriptor: pipes.output.reader)
    errors = Stream(descriptor: pipes.errors.reader)
    for pipe in [pipes.output, pipes.errors] { _ = fcntl(pipe.reader, F_SETFL, O_NONBLOCK) }
    let launch = ProgramLaunch(
      arguments: [program] + arguments,
      files: [
        .descriptor(standardInput.reader), .descriptor(pipes.output.writer),
        .descriptor(pipes.errors.writer),
      ])
    // The program does not read yet, so the input must fit into the pipe.
    guard standardInput.fill(input), let process = launch.start() else {
      for pipe in [pipes.output, pipes.errors] { Glibc.close(pipe.reader) }
      throw CommandFailure("\(program) cannot be started")
    }
    self.process = process
  }

  deinit {
    Glibc.close(output.descriptor)
    Glibc.close(errors.descriptor)
  }

  func end(by deadline: ContinuousClock.Instant, _ isCancelled: CancelFlag) throws -> ToolEnding {
    while true {
      var files = [output, errors].map {
        pollfd(fd: $0.hasEnded ? -1 : $0.descriptor, events: Int16(POLLIN), revents: 0)
      }
      poll(&files, 2, Self.pollInterval)
      var waitStatus: CInt = 0
      let hasEnded = waitpid(process, &waitStatus, WNOHANG) == process
      output.read()
      errors.read()
      if hasEnded { return ending(waitStatus) }
      let isTooLong = max(output.bytes.count, errors.bytes.count) > MachineTools.outputLimit
      guard isCancelled.isRaised || ContinuousClock.now >= deadline || isTooLong else { continue }
      kill()
      if isCancelled.isRaised { throw CancellationError() }
      throw CommandFailure("\(name) ran too long or printed too much")
    }
  }

  private func ending(_ waitStatus: CInt) -> ToolEnding {
    let signal = waitStatus & 0x7F
    return ToolEnding(
      status: signal != 0 ? 128 + signal : (waitStatus >> 8) & 0xFF, output: output.bytes,
      errors: String(decoding: errors.bytes, as: UTF8.self))
  }

  private func kill() {
    Glibc.kill(-process, SIGKILL)
    waitpid(process, nil, 0)
  }
}
