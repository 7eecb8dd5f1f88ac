import Foundation
import Testing
import UsherTestKit

@testable import usher_bench

@Suite("The end of usher-bench", .mayBlock, .timeLimit(.minutes(10)))
struct EndTests {
  private let bench = BuiltProduct.path("usher-bench")

  @Test(
    "a signal to usher-bench also ends the processes it has started and removes its files",
    arguments: [SIGINT, SIGTERM, SIGKILL])
  func killed(_ signal: Int32) throws {
    let stubborn = try StubbornDaemon(thenDoes: "exec sleep 1000")
    // A process that is started in the background may have SIGINT ignored.
    let program = try RunningProgram(
      "/usr/bin/env", ["--default-signal", bench, "churn", "--usherd", stubborn.path],
      log: stubborn.place.file("log"))
    try eventually("the daemon of usher-bench runs: \(program.log)") { try stubborn.left != nil }
    let left = try #require(try stubborn.left)
    #expect(left.processes.allSatisfy { !Self.isGone($0) })
    #expect(left.directory.hasPrefix("/tmp/usher-bench-"))
    kill(program.pid, signal)
    #expect(try program.exitStatus() == -signal)
    try eventually("usher-bench has left no process or file: \(left)") {
      left.processes.allSatisfy(Self.isGone) && !Self.exists(left.directory)
    }
  }

  @Test("an error of usher-bench ends the processes it has started and removes its files")
  func fails() throws {
    let stubborn = try StubbornDaemon(thenDoes: "exit 3")
    let end = try run(bench, ["churn", "--usherd", stubborn.path])
    #expect(end.status == 1)
    #expect(end.errors == "Error: \(stubborn.path) ended before it answered\n")
    let left = try #require(try stubborn.left)
    #expect(left.processes.allSatisfy(Self.isGone))
    #expect(!Self.exists(left.directory))
  }

  private static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path)
  }

  /// A zombie counts as gone: its parent has not waited for it yet.
  private static func isGone(_ process: Int32) -> Bool {
    guard let status = try? wholeFile("/proc/\(process)/stat") else { return true }
    return status.contains(") Z ")
  }
}

/// A program in place of the daemon that ignores signals, and has a child that ignores them, too.
private struct StubbornDaemon {
  let place: TemporaryDirectory
  let path: String

  struct Left {
    let processes: [Int32]
    let directory: String
  }

  init(thenDoes last: String) throws {
    place = try TemporaryDirectory()
    let script = try place.write(
      """
      #!/bin/sh
      trap '' INT TERM HUP
      sleep 1000 &
      echo "$$ $! ${2%/*/*}" >\(place.file("new"))
      mv \(place.file("new")) \(place.file("left"))
      \(last)

      """, to: "script")
    path = try place.install(script, as: "stubborn")
  }

  /// The processes and the directory that must disappear; nil until the program has started.
  var left: Left? {
    get throws {
      guard let text = try? wholeFile(place.file("left")) else { return nil }
      let words = text.split(whereSeparator: \.isWhitespace)
      let processes = words.dropLast().compactMap { Int32($0) }
      guard processes.count == 2, let directory = words.last else { throw TestError(text) }
      return Left(processes: processes, directory: String(directory))
    }
  }
}
