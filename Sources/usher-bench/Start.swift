import ArgumentParser
import Glibc

/// How long a start takes, and what a daemon that does nothing costs.
struct Start: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "From exec to READY=1, and the memory of a daemon that waits for calls.",
    discussion: """
      Times are medians over the rounds, beside those of other programs from exec to their end, \
      measured in turn with it. Memory is the kernel's account of it (/proc/PID/status): VmRSS \
      counts pages of programs and libraries that others share, RssAnon is the daemon's own.
      """)

  @Option(help: "The usherd to measure; without it, the one beside this program.")
  var usherd: String?

  @Option(help: "How often it is started.")
  var rounds = 30

  @Option(help: "Connections that are opened and left alone.")
  var connections = 1000

  @Flag(help: "Ends with 1 where a goal is not reached: a release build's.")
  var judges = false

  /// What an installed daemon is to keep to.
  private static let goals = (
    milliseconds: 25.0, anonymous: 6.0 * 1024, resident: 45.0 * 1024, connection: 8.0
  )

  func run() throws {
    if Self.isYardstick { return }
    let program = try usherd ?? MeasuredDaemon.besideThisProgram()
    let times = try self.times(program)
    let memory = try self.memory(program)
    guard judges else { return }
    guard times <= Self.goals.milliseconds, memory.before.anonymous <= Self.goals.anonymous,
      memory.before.resident <= Self.goals.resident, memory.connection <= Self.goals.connection
    else { throw ExitCode(1) }
  }
}

// MARK: - Time

extension Start {
  private static let yardstickMark = "USHER_BENCH_YARDSTICK"
  private static var isYardstick: Bool { getenv(yardstickMark) != nil }

  /// - Returns: Milliseconds of a start.
  private func times(_ program: String) throws -> Double {
    let place = try StartPlace()
    let first = try place.start(program)
    let own = try ChildProcess.own()
    var (start, plain, swift): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<rounds {
      start.append(try place.start(program))
      plain.append(try Self.wholeRun("/bin/true", []))
      setenv(Self.yardstickMark, "1", 1)
      swift.append(try Self.wholeRun(own, ["start"]))
      unsetenv(Self.yardstickMark)
    }
    print("milliseconds, median of \(rounds)")
    print(start.median.short, " usherd, exec to READY=1 (goal \(Self.goals.milliseconds))")
    print(first.short, " usherd, its first start: it makes its key and its database")
    print(plain.median.short, " /bin/true, exec to its end")
    print(swift.median.short, " a Swift program that does nothing, exec to its end")
    print("ratios")
    print((start.median / plain.median).short, " usherd / /bin/true")
    print((start.median / swift.median).short, " usherd / a Swift program that does nothing")
    return start.median
  }

  private static func wholeRun(_ path: String, _ arguments: [String]) throws -> Double {
    let begun = BlockingClient.now()
    let child = try ChildProcess(path, arguments)
    child.join()
    return Double(BlockingClient.now() - begun) / 1_000_000
  }
}

/// Where a daemon is started again and again on the same state.
private final class StartPlace {
  private let path: String
  private let notify: CInt

  init() throws {
    path = try MeasuredDaemon.freshPlace()
    try MeasuredDaemon.write(MeasuredDaemon.silentProvider, to: "\(path)/usherd.toml")
    notify = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array("\(path)/notify".utf8) + [0]
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(notify, $0, size) }
    }
    guard result == 0 else { throw BenchTrouble("cannot bind \(path)/notify") }
  }

  deinit {
    close(notify)
    MeasuredDaemon.remove(path)
  }

  /// Starts it, waits until it is ready, and stops it.
  ///
  /// - Returns: Milliseconds from exec to READY=1.
  func start(_ program: String) throws -> Double {
    setenv("NOTIFY_SOCKET", "\(path)/notify", 1)
    defer { unsetenv("NOTIFY_SOCKET") }
    let begun = BlockingClient.now()
    let child = try ChildProcess(program, MeasuredDaemon.arguments(in: path))
    try hear("READY=1")
    let end = BlockingClient.now()
    child.stop()
    while hears(0) != nil {}
    return Double(end - begun) / 1_000_000
  }

  private func hear(_ line: String) throws {
    while let message = hears(10_000) {
      if message.split(separator: "\n").contains(Substring(line)) { return }
    }
    throw BenchTrouble("no \(line) within 10 s")
  }

  /// The next message, if one comes within so many milliseconds.
  private func hears(_ milliseconds: CInt) -> String? {
    var poller = pollfd(fd: notify, events: Int16(POLLIN), revents: 0)
    guard poll(&poller, 1, milliseconds) > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(notify, &bytes, bytes.count, 0)
    return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}

// MARK: - Memory

extension Start {
  /// In KiB.
  private struct Memory {
    let resident: Double
    let anonymous: Double

    init(of pid: pid_t) throws {
      let text = try Self.status(of: pid)
      func number(_ name: String) throws -> Double {
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        guard let word = line?.split(whereSeparator: \.isWhitespace).dropFirst().first,
          let kib = Double(word)
        else { throw BenchTrouble("no \(name) of the daemon") }
        return kib
      }
      resident = try number("VmRSS")
      anonymous = try number("RssAnon")
    }

    private static func status(of pid: pid_t) throws -> String {
      let descriptor = open("/proc/\(pid)/status", O_RDONLY | O_CLOEXEC)
      defer { close(descriptor) }
      var bytes = [UInt8](repeating: 0, count: 16_384)
      let count = read(descriptor, &bytes, bytes.count)
      guard count > 0 else { throw BenchTrouble("/proc/\(pid)/status cannot be read") }
      return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
  }

  /// - Returns: What it has before anybody calls, and KiB of its own for each connection.
  private func memory(_ program: String) throws -> (before: Memory, connection: Double) {
    raiseFileLimit()
    let daemon = try MeasuredDaemon(
      program,
      config: """
        [limits]
        connections = \(connections + 64)
        connections_per_user = \(connections + 32)

        \(MeasuredDaemon.silentProvider)
        """)
    // What it makes ahead of the first calls is made by then.
    sleep(1)
    let before = try Memory(of: daemon.pid)
    let clients = try (0..<connections).map { _ in
      let client = try BlockingClient(daemon.socketPath)
      _ = try client.time(Calls.status)
      return client
    }
    sleep(1)
    let after = try Memory(of: daemon.pid)
    withExtendedLifetime(clients) {}
    let each = (after.anonymous - before.anonymous) / Double(max(connections, 1))
    print("KiB")
    print(before.resident.short, " VmRSS, waiting for calls (goal \(Self.goals.resident))")
    print(before.anonymous.short, " RssAnon, waiting for calls (goal \(Self.goals.anonymous))")
    print(
      each.short, " RssAnon for each of \(connections) connections that wait",
      "(goal \(Self.goals.connection))")
    return (before, each)
  }
}
