import ArgumentParser
import Glibc

/// Checks that closed connections leave no memory and no descriptors in use.
struct Churn: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure memory and descriptors before and after many short connections.",
    discussion: """
      Of four connections, one makes one call, one makes two, one sends half a line, and one \
      closes before it reads its reply; \(overlap) are open at a time. The exit status is 1 if the \
      daemon has more descriptors at the end than before, or uses over 1 MB more memory of its own \
      than after the first tenth.
      """)

  @OptionGroup var program: MeasuredProgram

  @Option(help: "Number of connections.")
  var connections = 10_000

  @Option(help: "File to write the numbers to, as JSON.")
  var json: String?

  /// The number of connections that are open at a time.
  private static let overlap = 64

  func validate() throws {
    guard connections > 0 else { throw ValidationError("--connections must be more than 0") }
  }

  func run() throws {
    raiseFileLimit()
    var results = try MeasurementResults("churn", to: json)
    // Without this limit the daemon would refuse most of these connections.
    let limits = "[limits]\nconnections_per_user = 20000\n"
    let daemon = try MeasuredDaemon(
      try program.path, config: limits + MeasuredDaemon.silentProvider)
    sleep(1)
    let before = try ProcessCost(of: daemon.pid)
    let early = try openAndClose(0..<connections / 10, daemon)
    let late = try openAndClose(connections / 10..<connections, daemon)
    print("\(connections) connections")
    results.add(
      "RssAnon increase since the first tenth", late.anonymous - early.anonymous, "KiB",
      goal: .atMost(1024))
    results.add(
      "descriptor increase since before", Double(late.descriptors - before.descriptors), "",
      goal: .atMost(0))
    results.add(
      "RssAnon after all / after the first tenth", late.anonymous / early.anonymous, "×")
    for (name, cost) in [
      ("before", before), ("after the first tenth", early), ("after all", late),
    ] {
      results.add("VmRSS \(name)", cost.resident, "KiB")
      results.add("RssAnon \(name)", cost.anonymous, "KiB")
      results.add("descriptors \(name)", Double(cost.descriptors), "")
    }
    try results.write()
    if results.isMissed { throw ExitCode(1) }
  }

  /// - Returns: The resources that the daemon uses after all connections are closed.
  private func openAndClose(_ numbers: Range<Int>, _ daemon: MeasuredDaemon) throws -> ProcessCost {
    var open: [ShortConnection] = []
    for number in numbers {
      if open.count == Self.overlap { try open.removeFirst().finish() }
      open.append(try ShortConnection(number, daemon.socketPath))
    }
    while !open.isEmpty { try open.removeFirst().finish() }
    sleep(1)
    return try ProcessCost(of: daemon.pid)
  }
}

/// One connection that is opened, sends something and is closed.
private final class ShortConnection {
  private let descriptor: CInt
  private let kind: Int

  init(_ number: Int, _ socket: String) throws {
    descriptor = try BlockingClient.connected(socket)
    kind = number % 4
    try sendLine(kind == 2 ? Array(Calls.accounts.dropLast(20)) : Calls.accounts)
  }

  deinit { close(descriptor) }

  private func sendLine(_ line: [UInt8]) throws {
    guard send(descriptor, line, line.count, CInt(MSG_NOSIGNAL)) == line.count else {
      throw BenchError("the daemon closed a connection")
    }
  }

  /// Reads the replies that this kind of connection waits for.
  func finish() throws {
    switch kind {
    case 0: try receiveReply()
    case 1:
      try receiveReply()
      try sendLine(Calls.unknownFlow)
      try receiveReply()
    default: break
    }
  }

  private func receiveReply() throws {
    var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    var chunk = [UInt8](repeating: 0, count: 8192)
    repeat {
      guard poll(&poller, 1, 30_000) > 0 else { throw BenchError("no reply within 30 s") }
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { throw BenchError("the daemon closed a connection") }
      if chunk[count - 1] == UInt8(ascii: "\n") { return }
    } while true
  }
}
