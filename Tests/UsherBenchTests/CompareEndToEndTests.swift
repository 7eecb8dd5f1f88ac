import CBench
import Glibc
import Testing
import UsherTestKit

@testable import usher_bench

@Suite("usher-bench with real programs", .mayBlock, .serialized, .timeLimit(.minutes(10)))
struct CompareEndToEndTests {
  private let bench = BuiltProduct.path("usher-bench")

  @Test(
    "usher-bench compare reports every load of the echo server as text, as JSON and as a picture")
  func compare() throws {
    let place = try TemporaryDirectory()
    let end = try run(
      bench,
      [
        "compare", "--usherd", BuiltProduct.path("usherd"), "--server", "echo", "--rounds", "2",
        "--seconds", "0.05", "--warm", "0.02", "--json", place.file("c.json"),
      ])
    #expect(end.status == 0, "\(end.output)\(end.errors)")
    #expect(end.output.contains("p99 / itself under 50x1"))
    let comparison = try Comparison(json: Array(try wholeFile(place.file("c.json")).utf8))
    #expect(comparison.rounds == 2)
    #expect(comparison.results.count == 2 * LoadShape.allCases.count)
    for result in comparison.results {
      for measure in Comparison.Measure.allCases {
        #expect(result[measure].count == 2)
        // A busy machine may leave the server no processor time during a round this short.
        let isPossible: (Double) -> Bool = measure == .cpuMicroseconds ? { $0 >= 0 } : { $0 > 0 }
        #expect(result[measure].allSatisfy(isPossible), "\(result)")
      }
      #expect(zip(result.p50Microseconds, result.p99Microseconds).allSatisfy { $0 <= $1 })
      #expect(result.rssKiB > 100)
      #expect(0...1.01 ~= result.clientBusy)
    }
    #expect(comparison.results.contains { $0.cpuMicroseconds.contains { $0 > 0 } })
    let drawn = try run(bench, ["plot", place.file("c.json")])
    #expect(drawn.status == 0)
    #expect(drawn.output.contains("</svg>"))
  }

  @Test("a load of usher-bench counts every reply and is not disturbed by idle clients")
  func counted() throws {
    let echo = try ReferenceServer(bench, "e.sock") {
      ["echo", "--socket", $0.socketPath, "--reply-bytes", "100"]
    }
    for (depth, idle) in [(1, 0), (16, 0), (3, 20)] {
      let result = try Self.load(echo, depth: depth, idle: idle, replyBytes: 100)
      #expect(result.replies > 0)
      #expect(result.odd == 0)
      #expect(result.closed == 0)
      #expect(result.p50 <= result.p99)
      #expect(result.p99 <= result.longest)
      #expect(result.server_cpu_seconds > 0)
    }
    let odd = try Self.load(echo, depth: 1, idle: 0, replyBytes: 101)
    #expect(odd.odd >= odd.replies && odd.replies > 0, "the replies have another size")
    #expect(throws: BenchError.self, "the depth exceeds the slots of a connection") {
      try Self.load(echo, depth: 65, idle: 0, replyBytes: 100)
    }
    unlink(echo.socketPath)
    #expect(throws: BenchError.self, "no server listens") {
      try Self.load(echo, depth: 1, idle: 0, replyBytes: 100)
    }
  }

  @Test("usher-bench counts a connection that closes before all its replies once")
  func closing() throws {
    // The client sends the fifth call when it has the first reply, and ends its measurement then.
    let script = """
      import socket, sys, threading
      listener = socket.socket(socket.AF_UNIX)
      listener.bind(sys.argv[1])
      listener.listen(64)
      def serve(c):
          left = 0
          for calls in (4, 1):
              left += calls * 50
              while left > 0:
                  part = c.recv(left)
                  if not part: return
                  left -= len(part)
              c.sendall(b"r\\n")
          c.close()
      while True:
          threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
      """
    let server = try ReferenceServer("/usr/bin/python3", "closing.sock") {
      ["-c", script, $0.socketPath]
    }
    let result = try Self.load(
      server, connections: 1, depth: 4, idle: 0, replyBytes: 2, seconds: 0)
    #expect(result.replies == 1)
    #expect(result.odd == 0)
    #expect(result.closed == 1)
  }

  private static func load(
    _ echo: ReferenceServer, connections: Int = 5, depth: Int, idle: Int, replyBytes: Int,
    seconds: Double = 0.05
  ) throws -> bench_result {
    let call = [UInt8](repeating: UInt8(ascii: "a"), count: 49) + [UInt8(ascii: "\n")]
    var load = bench_load()
    load.connections = CUnsignedInt(connections)
    load.depth = CUnsignedInt(depth)
    load.idle = CUnsignedInt(idle)
    load.half_line = 1
    load.cpu = -1
    load.seconds = seconds
    var result = bench_result()
    var failure = [CChar](repeating: 0, count: Int(BENCH_ERROR))
    let status = echo.socketPath.withCString { path in
      call.withUnsafeBufferPointer { call in
        var pid = echo.pid
        return withUnsafePointer(to: &pid) { pid in
          var server = bench_server()
          server.path = path
          server.framing = BENCH_LINE
          server.request = call.baseAddress
          server.request_bytes = call.count
          server.requests = 1
          server.reply_bytes = replyBytes
          server.pids = pid
          server.pid_count = 1
          return bench_run(&server, &load, &result, &failure)
        }
      }
    }
    guard status == 0 else { throw BenchError("\(failure)") }
    return result
  }
}
