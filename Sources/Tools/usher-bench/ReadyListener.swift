import Glibc

/// Starts programs as a service manager does, and receives their messages of sd_notify(3).
final class ReadyListener {
  private let path: String
  private let descriptor: CInt

  /// - Parameter directory: The directory of its socket, `notify`.
  init(in directory: ScratchDirectory) throws {
    path = directory.file("notify")
    descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard withSocketAddress(path, { bind(descriptor, $0, $1) }) == 0 else {
      throw BenchError("cannot bind \(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    close(descriptor)
    unlink(path)
  }

  /// A program that has reported READY=1.
  struct Ready {
    let program: ChildProcess
    /// The time from exec to READY=1.
    let milliseconds: Double
    /// The number of times that it asked for more time (`EXTEND_TIMEOUT_USEC`).
    let extensions: Int
  }

  /// Starts a program and waits until it is ready.
  ///
  /// - Parameter timeout: The seconds without a message after which the start fails.
  func start(_ program: String, _ arguments: [String], timeout: Int = 10) throws -> Ready {
    let begun = BlockingClient.now()
    let child = try ChildProcess(program, arguments, environment: ["NOTIFY_SOCKET": path])
    var (extensions, silent) = (0, 0)
    while silent < timeout * 10 {
      guard let message = nextMessage(100) else {
        guard child.isRunning else { throw BenchError("\(program) ended before it was ready") }
        silent += 1
        continue
      }
      silent = 0
      let lines = message.split(separator: "\n")
      extensions += lines.count { $0.hasPrefix("EXTEND_TIMEOUT_USEC=") }
      guard lines.contains("READY=1") else { continue }
      let milliseconds = Double(BlockingClient.now() - begun) / 1_000_000
      return Ready(program: child, milliseconds: milliseconds, extensions: extensions)
    }
    throw BenchError("\(program) sent no notification for \(timeout) s and is not ready")
  }

  /// Discards messages that have not been read.
  func drain() { while nextMessage(0) != nil {} }

  /// Returns the next message, or nil if none arrives within this many milliseconds.
  private func nextMessage(_ milliseconds: CInt) -> String? {
    var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&poller, 1, milliseconds) > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}
