import Glibc

/// Starts programs as a service manager does, and hears what they tell it: sd_notify(3).
final class ReadyListener {
  private let path: String
  private let descriptor: CInt

  /// - Parameter place: A directory, in which it listens at `notify`.
  init(in place: String) throws {
    path = "\(place)/notify"
    descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array(path.utf8) + [0]
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    guard result == 0 else { throw BenchTrouble("cannot bind \(path)") }
  }

  deinit {
    close(descriptor)
    unlink(path)
  }

  /// A program that is ready.
  struct Ready {
    let program: ChildProcess
    /// From exec to READY=1.
    let milliseconds: Double
    /// How often it asked for more time (`EXTEND_TIMEOUT_USEC`).
    let extensions: Int
  }

  /// Starts a program and waits until it is ready.
  ///
  /// - Parameter patience: Seconds that it may be silent.
  func start(_ program: String, _ arguments: [String], patience: Int = 10) throws -> Ready {
    setenv("NOTIFY_SOCKET", path, 1)
    defer { unsetenv("NOTIFY_SOCKET") }
    let begun = BlockingClient.now()
    let child = try ChildProcess(program, arguments)
    var extensions = 0
    while let message = hears(CInt(patience) * 1000) {
      let lines = message.split(separator: "\n")
      extensions += lines.count { $0.hasPrefix("EXTEND_TIMEOUT_USEC=") }
      guard lines.contains("READY=1") else { continue }
      let milliseconds = Double(BlockingClient.now() - begun) / 1_000_000
      return Ready(program: child, milliseconds: milliseconds, extensions: extensions)
    }
    throw BenchTrouble("\(program) said nothing for \(patience) s and is not ready")
  }

  /// Forgets what was said and not heard.
  func drain() { while hears(0) != nil {} }

  /// The next message, if one comes within so many milliseconds.
  private func hears(_ milliseconds: CInt) -> String? {
    var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&poller, 1, milliseconds) > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}
