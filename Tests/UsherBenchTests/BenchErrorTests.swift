import CBench
import Testing
import UsherTestKit

@testable import usher_bench

@Suite("The errors of usher-bench", .mayBlock, .timeLimit(.minutes(10)))
struct BenchErrorTests {
  @Test(
    "usher-bench refuses numbers with which nothing can be measured",
    arguments: [
      "compare --seconds 0", "compare --seconds nan", "compare --seconds inf",
      "compare --rounds 0", "compare --warm=-1", "compare --token-bytes 0", "flows --rounds 0",
      "flows --seconds 0", "flows --workers 0", "flows --live 0", "accounts --rounds 0",
      "accounts --stored 1", "accounts --stored 100 --calls 99", "accounts --calls 0",
      "churn --connections 0", "count --calls 0", "count --calls 7", "fairness --rounds 0",
      "fairness --calls 0", "stall --seconds 0", "stall --calls 0", "stall --connections 0",
      "start --rounds 0", "start --connections 0",
      "load --provider p --clients 0", "load --provider p --seconds 0",
    ])
  func numbers(_ line: String) throws {
    let end = try run(
      BuiltProduct.path("usher-bench"), line.split(separator: " ").map(String.init))
    #expect(end.status == 64)
    #expect(end.output.isEmpty)
    #expect(end.errors.hasPrefix("Error: "))
    #expect(end.errors.contains("more than 0") || end.errors.contains("must be 1 to 65536"))
  }

  @Test(
    "an error of usher-bench is one sentence with a non-zero exit status",
    arguments: [
      (
        "compare --seconds 0",
        "--rounds and --seconds must be more than 0; --seconds and --warm at most 86400"
      ),
      (
        "compare --usherd /no/such/usherd",
        "cannot start /no/such/usherd: No such file or directory"
      ),
      ("compare --usherd /bin/false", "/bin/false ended before it answered"),
      ("start --usherd /bin/false", "/bin/false ended before it was ready"),
      // Detected before the measurement.
      (
        "compare --usherd /bin/false --json /no/such/place/c.json",
        "cannot write /no/such/place/c.json: No such file or directory"
      ),
      ("churn --usherd /bin/false --json /tmp", "cannot write /tmp: Is a directory"),
      ("count --write /tmp", "cannot write /tmp: Is a directory"),
      ("count --against /dev/null", "/dev/null has no expected instructions"),
      ("count --against /no/such/i.json", "/no/such/i.json: No such file or directory"),
      ("plot /no/such/c.json", "/no/such/c.json: No such file or directory"),
      ("plot /tmp", "/tmp: Is a directory"),
      ("plot /dev/null", "/dev/null: this is not what `usher-bench compare --json` writes"),
    ])
  func sentence(_ line: String, _ sentence: String) throws {
    let end = try run(
      BuiltProduct.path("usher-bench"), line.split(separator: " ").map(String.init))
    #expect(end.status != 0)
    #expect(end.errors.split(separator: "\n").first ?? "" == "Error: \(sentence)")
    #expect(end.output.isEmpty || end.output == "a debug build: its numbers mean nothing\n")
  }

  @Test("the error of usher-bench names a program that is not installed")
  func notInstalled() {
    let failure = #expect(throws: NotInstalled.self) {
      try ReferenceServer.program("no-such-program")
    }
    #expect(failure?.description.hasPrefix("no-such-program is not installed") == true)
  }

  @Test(
    "usher-bench reports a server that dies, closes or changes the size of its replies under load",
    arguments: [
      // The time may be over before the measure connects again.
      (
        "os._exit(0)",
        [
          ("echo: cannot connect to ", ": Connection refused"),
          ("echo under 1x1: ", " connections closed"),
        ]
      ),
      ("break", [("echo under 1x1: ", " connections closed")]),
      (#"c.sendall(b"rr\n")"#, [("echo under 1x1: ", ", 0 connections closed")]),
    ])
  func server(_ fault: String, _ expected: [(start: String, end: String)]) throws {
    let program = try FaultyServer.program(after: 5, fault)
    let server = try FaultyServer.server(program, reply: "r\n")
    let failure = #expect(throws: BenchError.self) {
      // On a busy machine, the server may not be asked often enough in a short time.
      for seconds in [0.1, 1, 10] {
        _ = try LoadMeasure(server, .one, warm: 0, seconds: seconds, at: nil)
      }
    }
    let words = try #require(failure).description
    #expect(expected.contains { words.hasPrefix($0.start) && words.hasSuffix($0.end) }, "\(words)")
    // At least one of the two numbers is not 0.
    #expect(!(words.contains(" 0 of another size") && words.contains(" 0 connections")))
  }

  @Test("usher-bench does not measure a server whose first reply is wrong")
  func wrongReply() throws {
    let program = try FaultyServer.program(after: 5, "pass")
    let failure = #expect(throws: BenchError.self) {
      try FaultyServer.server(program, reply: "another\n")
    }
    #expect(failure?.description == "echo sent an unexpected reply: r\n")
  }

  @Test("usher-bench replaces the old report file, creates no empty one, and reports a full disk")
  func report() throws {
    let place = try TemporaryDirectory()
    let file = try place.write("what was there before", to: "c.json")
    try ReportFile(file).write("{}\n")
    #expect(try wholeFile(file) == "{}\n")
    let other = place.file("other.json")
    do { _ = try ReportFile(other) }
    #expect(throws: BenchError.self) { try wholeFile(other) }
    let full = #expect(throws: BenchError.self) { try ReportFile("/dev/full").write("{}\n") }
    #expect(full?.description == "cannot write /dev/full: No space left on device")
  }

  @Test("a report of usher-bench marks only a missed goal as missed")
  func goals() throws {
    #expect(
      MeasurementResults.line("start", [1, 3, 2.5], "ms", goal: .atMost(2))
        == "      2.5 ms  start (goal ≤ 2.0, MISSED) [1.0 3.0 2.5]")
    #expect(
      MeasurementResults.line("start", [2], "ms", goal: .atMost(2))
        == "      2.0 ms  start (goal ≤ 2.0)")
    #expect(
      MeasurementResults.line("more", [2, 9, 3, 4, 5, 6], "×", goal: .atLeast(6))
        == "      5.0 ×  more (goal ≥ 6.0, MISSED) [2.0 to 9.0]")
    #expect(MeasurementResults.line("none", [.nan], "", goal: nil) == "        -   none")
    var results = try MeasurementResults("test", to: nil)
    results.add("reached", 6, "×", goal: .atLeast(6))
    #expect(!results.isMissed)
    results.add("missed", 5, "×", goal: .atLeast(6))
    #expect(results.isMissed)
  }
}

/// A server that replies correctly to a number of lines, and then misbehaves.
private enum FaultyServer {
  /// - Parameter fault: The misbehaviour, in Python.
  static func program(after replies: Int, _ fault: String) throws -> ReferenceServer {
    let script = """
      import os, socket, sys, threading
      listener = socket.socket(socket.AF_UNIX)
      listener.bind(sys.argv[1])
      listener.listen(64)
      left = \(replies)
      def serve(c):
          global left
          while c.recv(4096):
              left -= 1
              if left < 0:
                  \(fault)
              else:
                  c.sendall(b"r\\n")
          c.close()
      while True:
          threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
      """
    return try ReferenceServer("/usr/bin/python3", "faulty.sock") { ["-c", script, $0.socketPath] }
  }

  static func server(_ program: ReferenceServer, reply: String) throws -> MeasuredServer {
    try MeasuredServer(
      .echo, socketPath: program.socketPath, framing: BENCH_LINE, calls: [Array("call\n".utf8)],
      pids: [program.pid], owner: program
    ) { String(decoding: $0, as: UTF8.self) == reply }
  }
}
