import Glibc

/// Clients that start, advance and cancel flows, each with its own connection and one call at a
/// time.
///
/// The flows need no server outside: the app receives the redirect, and its backend exchanges the
/// code.
final class FlowWorkers {
  /// The configuration of the flows' provider. No server listens at its address.
  static let provider = """
    [[provider]]
    name = "wallet"
    type = "paysafe"
    base_url = "http://127.0.0.1:1/paysafe"
    brand_identity = "demo"
    client_id = "usher"
    exchange = "app"
    digital_fingerprint = false

    """

  /// What each client does with its flows.
  enum Task {
    /// Starts a flow, advances it and cancels it: three transitions.
    case rounds
    /// Starts flows and leaves them unfinished.
    case starts(Int)
  }

  private enum Phase {
    case starting, submitting, cancelling
    /// The client has nothing left to do.
    case idle
  }

  private struct Worker {
    let descriptor: CInt
    var phase = Phase.idle
    var reply: [UInt8] = []
    var flow = ""
  }

  private var workers: [Worker]
  private var chunk = [UInt8](repeating: 0, count: 65_536)

  init(_ socket: String, count: Int) throws {
    workers = try (0..<count).map { _ in
      Worker(descriptor: try BlockingClient.connected(socket))
    }
  }

  deinit { for worker in workers { close(worker.descriptor) } }

  private static let redirect = "https://app.example/back"
  private static let start = Calls.line(
    "flow.start",
    #"{"provider":"wallet","kind":"authorize","params":{"redirectURI":"\#(redirect)"}}"#)

  /// - Parameter seconds: The time after which no flow is started. Calls in progress are completed.
  /// - Returns: The number of transitions that were answered, and the seconds that they took.
  func run(_ task: Task, for seconds: Double) throws -> (transitions: Int, seconds: Double) {
    var starts: Int
    switch task {
    case .rounds: starts = .max
    case .starts(let most): starts = most
    }
    let begun = BlockingClient.now()
    let end = begun + UInt64(seconds * 1_000_000_000)
    var transitions = 0
    for index in workers.indices where starts > 0 {
      starts -= 1
      try send(Self.start, index, as: .starting)
    }
    var busy = workers.count { $0.phase != .idle }
    while busy > 0 {
      var states = workers.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
      guard poll(&states, nfds_t(states.count), 30_000) > 0 else {
        throw BenchError("no reply within 30 s")
      }
      for (index, state) in states.enumerated() where state.revents != 0 {
        guard let isAccepted = try receive(index, task) else { continue }
        if isAccepted { transitions += 1 } else { starts += 1 }
        guard workers[index].phase == .idle else { continue }
        if starts > 0, BlockingClient.now() < end {
          starts -= 1
          if !isAccepted { usleep(20_000) }
          try send(Self.start, index, as: .starting)
        } else {
          busy -= 1
        }
      }
    }
    return (transitions, Double(BlockingClient.now() - begun) / 1_000_000_000)
  }

  private func send(_ line: [UInt8], _ index: Int, as phase: Phase) throws {
    workers[index].phase = phase
    workers[index].reply.removeAll(keepingCapacity: true)
    let count = Glibc.send(
      workers[index].descriptor, line, line.count, CInt(MSG_NOSIGNAL))
    guard count == line.count else { throw BenchError("the daemon closed the connection") }
  }

  /// Reads from a connection, and continues with the flow if the reply is complete.
  ///
  /// - Returns: True if the call advanced a flow, false if it must be repeated later; nil if the
  ///   reply is not complete.
  private func receive(_ index: Int, _ task: Task) throws -> Bool? {
    let count = recv(workers[index].descriptor, &chunk, chunk.count, 0)
    guard count > 0 else { throw BenchError("the daemon closed the connection") }
    workers[index].reply += chunk.prefix(count)
    let reply = workers[index].reply
    guard reply.last == UInt8(ascii: "\n") else { return nil }
    guard reply.text(after: #""error":"#, upTo: 1) == nil else {
      let isTooEarly = reply.text(after: "flow_starts_per_minute", upTo: 1) != nil
      guard isTooEarly, case .starts = task else {
        throw BenchError("the daemon refused the call: \(String(decoding: reply, as: UTF8.self))")
      }
      workers[index].phase = .idle
      return false
    }
    try advance(index, reply, task)
    return true
  }

  private func advance(_ index: Int, _ reply: [UInt8], _ task: Task) throws {
    switch (workers[index].phase, task) {
    case (.starting, .rounds):
      guard let id = reply.text(after: "flw_", upTo: 26),
        let state = reply.text(after: "state=", upTo: 32)
      else { throw BenchError("the reply has no flow: \(String(decoding: reply, as: UTF8.self))") }
      workers[index].flow = "flw_\(id)"
      let answer =
        #"{"type":"openURL","redirectURL":"\#(Self.redirect)?code=abc&state=\#(state)"}"#
      let params = #"{"flow":"flw_\#(id)","revision":1,"input":\#(answer)}"#
      try send(Calls.line("flow.submit", params), index, as: .submitting)
    case (.submitting, _):
      let params = #"{"flow":"\#(workers[index].flow)"}"#
      try send(Calls.line("flow.cancel", params), index, as: .cancelling)
    case (.starting, .starts), (.cancelling, _), (.idle, _): workers[index].phase = .idle
    }
  }
}

extension [UInt8] {
  /// Returns at most `most` bytes after the first occurrence of a mark.
  fileprivate func text(after mark: StaticString, upTo most: Int) -> String? {
    let mark = UnsafeBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount)
    let start = withUnsafeBufferPointer { bytes -> Int? in
      guard bytes.count >= mark.count else { return nil }
      return (0...bytes.count - mark.count).first { offset in
        bytes[offset] == mark[0] && bytes[offset..<offset + mark.count].elementsEqual(mark)
      }
    }
    return start.map { String(decoding: self[($0 + mark.count)...].prefix(most), as: UTF8.self) }
  }
}
