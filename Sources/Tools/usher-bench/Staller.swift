import ArgumentParser
import FoundationEssentials
import Glibc

/// A helper process that sends slow lines as one user, one after another on each connection, until
/// its time is over. Then it prints the slowest ones.
struct Staller: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "staller", abstract: "Sends the lines that are slow to read.",
    shouldDisplay: false)

  @Option var socket: String
  @Option var user: UInt32
  @Option var connections: Int
  @Option var seconds: Double
  @Option var seed: UInt64
  @Option var lines: String?

  /// The lines to send: random lines, or those of a file over and over.
  private struct Source {
    var generator: StallLines
    let fileLines: [[UInt8]]
    private var position = 0

    init(seed: UInt64, file: String?) throws {
      generator = StallLines(seed: seed)
      // A line of the file may get no reply, so each is followed by a call that does.
      let answered = Array("\n\(#"{"jsonrpc":"2.0","id":"end","method":"system.status"}"#)\n".utf8)
      fileLines =
        try file.map { path in
          try Data(contentsOf: URL(filePath: path)).split(separator: UInt8(ascii: "\n"))
            .map { [UInt8]($0) + answered }
        } ?? []
      guard file == nil || !fileLines.isEmpty else {
        throw BenchError("\(file ?? "") has no lines")
      }
    }

    /// - Returns: A line, with its shape if it is a random one.
    mutating func next() -> (shape: StallLines.Shape?, line: [UInt8]) {
      guard !fileLines.isEmpty else {
        let shape = generator.next()
        return (shape, StallLines.line(shape))
      }
      defer { position += 1 }
      return (nil, fileLines[position % fileLines.count])
    }
  }

  struct Connection {
    var descriptor: CInt
    var shape: StallLines.Shape?
    var line: [UInt8]
    var sent = 0
    var begun = BlockingClient.now()
    /// The start of the reply that has not arrived completely.
    private var head: [UInt8] = []
    /// The start of the reply to the call after a line of a file.
    private static let lastReply = Array(#"{"jsonrpc":"2.0","id":"end","#.utf8)

    init(descriptor: CInt, shape: StallLines.Shape?, line: [UInt8]) {
      self.descriptor = descriptor
      self.shape = shape
      self.line = line
    }

    /// Returns whether the line is answered, now that these bytes have arrived: a random line by
    /// any reply, and a line of a file by the reply to the call after it.
    mutating func isAnswered(by bytes: ArraySlice<UInt8>) -> Bool {
      var (rest, isAnswered) = (bytes, false)
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        head += rest[..<end].prefix(Self.lastReply.count)
        if shape != nil || head.starts(with: Self.lastReply) { isAnswered = true }
        head = []
        rest = rest[(end + 1)...]
      }
      head += rest.prefix(Self.lastReply.count)
      return isAnswered
    }
  }

  func run() throws {
    // Reads the file before the change of user: the other user may not be allowed to read it.
    var source = try Source(seed: seed, file: lines)
    // Low priority, because the kernel's scheduling of processes is not what is measured.
    _ = nice(19)
    try switchUser(user)
    var connections = try (0..<self.connections).map { _ in
      try connection(to: BlockingClient.connected(socket), &source)
    }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let end = BlockingClient.now() + UInt64(seconds * 1e9)
    // The first lines have been sent by now.
    write(1, "\n", 1)
    var answered = 0
    while BlockingClient.now() < end {
      var states = connections.map {
        pollfd(
          fd: $0.descriptor, events: Int16($0.sent < $0.line.count ? POLLIN | POLLOUT : POLLIN),
          revents: 0)
      }
      poll(&states, nfds_t(states.count), 100)
      for (index, state) in states.enumerated() where state.revents != 0 {
        send(&connections[index])
        switch receive(&connections[index], &buffer) {
        case .nothing: break
        case .reply:
          answered += 1
          if let shape = connections[index].shape {
            source.generator.record(shape, BlockingClient.now() - connections[index].begun)
          }
          connections[index] = connection(to: connections[index].descriptor, &source)
        case .closed:
          close(connections[index].descriptor)
          connections[index] = connection(to: try BlockingClient.connected(socket), &source)
        }
      }
    }
    report(source.generator, answered)
  }

  private func connection(to descriptor: CInt, _ source: inout Source) -> Connection {
    let (shape, line) = source.next()
    var connection = Connection(descriptor: descriptor, shape: shape, line: line)
    send(&connection)
    return connection
  }

  private func send(_ connection: inout Connection) {
    while connection.sent < connection.line.count {
      let count = connection.line.withUnsafeBytes {
        Glibc.send(
          connection.descriptor, $0.baseAddress.map { $0 + connection.sent },
          $0.count - connection.sent, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      connection.sent += count
    }
  }

  private enum Received {
    case nothing
    case reply
    case closed
  }

  private func receive(_ connection: inout Connection, _ buffer: inout [UInt8]) -> Received {
    var hasReply = false
    while true {
      let count = recv(connection.descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
      if count < 0, errno == EAGAIN { return hasReply ? .reply : .nothing }
      guard count > 0 else { return .closed }
      if connection.isAnswered(by: buffer[..<count]) { hasReply = true }
    }
  }

  private func report(_ lines: StallLines, _ answered: Int) {
    let more = lines.slowest.isEmpty ? "" : "; the slowest of them:"
    print("the attacker's lines answered: \(answered)\(more)")
    for (shape, nanoseconds) in lines.slowest {
      let (name, element) = (
        StallLines.methods[shape.method].name, StallLines.elements[shape.element]
      )
      print(
        "  \(nanoseconds.microseconds) us  \(shape.bytes) bytes of \(element) in \(shape.place)"
          + " of \(name), depth \(shape.depth)")
    }
  }
}
