import CBench
import Glibc

/// A server that is sent the same call again and again.
struct MeasuredServer {
  let name: ServerName
  let socketPath: String
  let framing: bench_framing
  /// The calls, one after another, all of the same length.
  let calls: [UInt8]
  let callCount: Int
  let pids: [pid_t]
  /// The length of the reply to each call.
  let replyBytes: Int
  /// Keeps the server running as long as this value exists.
  private let owner: AnyObject

  /// - Parameters:
  ///   - calls: Calls of the same length, which a connection makes in turn.
  ///   - isRight: Whether the reply to the first call is the expected one.
  /// - Throws: `BenchError` if it is not.
  init(
    _ name: ServerName, socketPath: String, framing: bench_framing, calls: [[UInt8]],
    pids: [pid_t], owner: AnyObject, isRight: ([UInt8]) -> Bool
  ) throws {
    self.name = name
    self.socketPath = socketPath
    self.framing = framing
    self.calls = calls.flatMap { $0 }
    callCount = calls.count
    self.pids = pids
    self.owner = owner
    guard calls.allSatisfy({ $0.count == calls[0].count }) else {
      throw BenchError("\(name.rawValue)'s calls have different lengths")
    }
    let answer = try Self.answer(socketPath, framing, calls[0])
    guard isRight(answer) else {
      let text = String(decoding: answer.prefix(300), as: UTF8.self)
      throw BenchError("\(name.rawValue) sent an unexpected reply: \(text)")
    }
    replyBytes = answer.count
  }

  private static func answer(
    _ path: String, _ framing: bench_framing, _ call: [UInt8]
  ) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 1 << 18)
    let count = path.withCString { path in
      call.withUnsafeBufferPointer { call in
        var server = bench_server()
        server.path = path
        server.framing = framing
        server.request = call.baseAddress
        server.request_bytes = call.count
        return bench_ask(&server, &bytes, bytes.count)
      }
    }
    guard count > 0, count <= bytes.count else {
      throw BenchError("no reply at \(path): \(String(cString: strerror(errno)))")
    }
    return Array(bytes.prefix(count))
  }

  /// The resident memory of the server's processes, in KiB.
  var resident: Double {
    get throws { try pids.map { try ProcessCost(of: $0).resident }.reduce(0, +) }
  }
}

/// One measurement of one server under one load.
struct LoadMeasure {
  let requestsPerSecond: Double
  /// The server's processor time per call.
  let cpuMicroseconds: Double
  let p50Microseconds: Double
  let p99Microseconds: Double
  /// The share of the measured time that the client's processor was busy.
  let clientBusy: Double

  /// Applies the load and measures it.
  ///
  /// - Parameter processors: The processors of client and server; nil means any.
  /// - Throws: `BenchError` if a reply has another size than the first, or a connection was closed.
  init(
    _ server: MeasuredServer, _ load: LoadShape, warm: Double, seconds: Double,
    at processors: Processors?
  ) throws {
    if let processors {
      for pid in server.pids {
        let reason = bench_pin(pid, CInt(processors.server))
        guard reason == 0 else {
          let message = String(cString: strerror(reason))
          throw BenchError("\(server.name.rawValue) cannot be pinned to a processor: \(message)")
        }
      }
    }
    var shape = bench_load()
    shape.connections = CUnsignedInt(load.connections)
    shape.depth = CUnsignedInt(load.depth)
    shape.idle = CUnsignedInt(load.idle)
    shape.half_line = load.hasHalfLine ? 1 : 0
    shape.cpu = CInt(processors.map { load.sharesProcessor ? $0.server : $0.client } ?? -1)
    shape.warm_seconds = warm
    shape.seconds = seconds
    let result = try Self.run(server, shape)
    guard result.replies > 0, result.odd == 0, result.closed == 0 else {
      throw BenchError(
        "\(server.name.rawValue) under \(load.rawValue): \(result.replies) replies, "
          + "\(result.odd) of another size, \(result.closed) connections closed")
    }
    requestsPerSecond = Double(result.replies) / result.seconds
    cpuMicroseconds = result.server_cpu_seconds * 1_000_000 / Double(result.replies)
    p50Microseconds = Double(result.p50) / 1000
    p99Microseconds = Double(result.p99) / 1000
    clientBusy = result.client_cpu_seconds / result.seconds
  }

  private static func run(_ server: MeasuredServer, _ load: bench_load) throws -> bench_result {
    var (load, result) = (load, bench_result())
    var failure = [CChar](repeating: 0, count: Int(BENCH_ERROR))
    let status = server.socketPath.withCString { path in
      server.calls.withUnsafeBufferPointer { calls in
        server.pids.withUnsafeBufferPointer { pids in
          var target = bench_server()
          target.path = path
          target.framing = server.framing
          target.request = calls.baseAddress
          target.request_bytes = calls.count / server.callCount
          target.requests = server.callCount
          target.reply_bytes = server.replyBytes
          target.pids = pids.baseAddress
          target.pid_count = pids.count
          return bench_run(&target, &load, &result, &failure)
        }
      }
    }
    guard status == 0 else {
      let message = failure.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
      throw BenchError("\(server.name.rawValue): \(String(decoding: message, as: UTF8.self))")
    }
    return result
  }

  /// The processors of client and server.
  struct Processors {
    let client: Int
    let server: Int

    /// The first two processors that this process may use; the same for both if there is only one.
    static func ofThisMachine() -> Processors? {
      var cpus = [CInt](repeating: 0, count: 2)
      let count = bench_cpus(&cpus, CInt(cpus.count))
      guard count > 0 else { return nil }
      return Processors(client: Int(cpus[0]), server: Int(cpus[count > 1 ? 1 : 0]))
    }
  }
}
