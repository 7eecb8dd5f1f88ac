import ArgumentParser
import Glibc

/// A helper process that floods the daemon as one user until it is killed. It keeps its connections
/// full of calls, among them starts of flows, and replaces each connection that is closed.
struct Flooder: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "flooder", abstract: "Makes the flood.", shouldDisplay: false)

  @Option var socket: String
  @Option var user: UInt32
  @Option var connections: Int
  /// The number of calls sent before the first reply is awaited; 0 sends as many as fit.
  @Option var depth: Int
  /// The number of calls to send before the flood counts as running; ignored with a limited depth.
  /// A line on standard output reports that, after two seconds and a hundred replies or refusals at
  /// the earliest.
  @Option var calls = 100_000
  /// Yields the processors to the processes that are measured, because the kernel's scheduling is
  /// not the subject. Beside other busy processes such a flood may not start for minutes.
  @Flag var background = false

  private static let chunk = 65_536

  private struct Connection {
    var descriptor: CInt
    /// The position in ``Calls/flood``.
    var offset = 0
    var sentBytes = 0
    var unanswered = 0

    var sent: Int { sentBytes / (Calls.flood.count / Calls.inFlood) }
  }

  func run() throws {
    if background { _ = nice(19) }
    try switchUser(user)
    var connections = try (0..<self.connections).map { _ in try open() }
    var buffer = [UInt8](repeating: 0, count: Self.chunk)
    var (answered, sentBefore, hasReported) = (0, 0, false)
    let enough = depth == 0 ? calls : 0
    let begin = ContinuousClock.now
    let interest = Int16(POLLIN | (depth == 0 ? POLLOUT : 0))
    while true {
      var states = connections.map { pollfd(fd: $0.descriptor, events: interest, revents: 0) }
      poll(&states, nfds_t(states.count), -1)
      for (index, state) in states.enumerated() where state.revents != 0 {
        let replies = drain(&connections[index], &buffer)
        answered += replies ?? 0
        if replies == nil || !fill(&connections[index]) {
          sentBefore += connections[index].sent
          close(connections[index].descriptor)
          connections[index] = try open()
        }
      }
      if !hasReported, answered >= 100, ContinuousClock.now - begin > .seconds(2),
        connections.reduce(sentBefore, { $0 + $1.sent }) >= enough
      {
        hasReported = true
        write(1, "\n", 1)
      }
    }
  }

  private func open() throws -> Connection {
    var connection = Connection(descriptor: try BlockingClient.connected(socket))
    _ = fill(&connection)
    return connection
  }

  /// - Returns: The number of replies; nil if the connection has ended.
  private func drain(_ connection: inout Connection, _ buffer: inout [UInt8]) -> Int? {
    let count = recv(connection.descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
    if count < 0, errno == EAGAIN { return 0 }
    guard count > 0 else { return nil }
    let lines = buffer.prefix(count).count { $0 == UInt8(ascii: "\n") }
    connection.unanswered -= lines
    return lines
  }

  /// - Returns: False if the connection has ended.
  private func fill(_ connection: inout Connection) -> Bool {
    let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
    while depth == 0 || connection.unanswered < depth {
      let (start, end) = next(connection.offset)
      let sent = Calls.flood.withUnsafeBytes {
        send(connection.descriptor, $0.baseAddress.map { $0 + start }, end - start, flags)
      }
      if sent < 0 { return errno == EAGAIN }
      connection.offset = (start + sent) % Calls.flood.count
      connection.sentBytes += sent
      if start + sent == end { connection.unanswered += 1 }
    }
    return true
  }

  /// Returns the bytes to send next: one call if the depth is limited, otherwise all to the end.
  private func next(_ offset: Int) -> (start: Int, end: Int) {
    guard depth > 0 else { return (offset, Calls.flood.count) }
    let end = Calls.flood[offset...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 }
    return (offset, end ?? Calls.flood.count)
  }
}
