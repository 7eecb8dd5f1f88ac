import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite("SIGHUP and the log level", .mayBlock, .timeLimit(.minutes(10)), .ownProcess)
struct ReloadLifeTests {
  @Test("SIGHUP from the first moment on does not end a starting usherd, which then reloads")
  func starting() throws {
    // As under systemd, except that SIGHUP is ignored until the program's own code runs.
    let launcher = ["/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh"]
    let daemon = try DaemonUnderTest(config: "", launcher: launcher)
    try daemon.stop()
    let bell = Thread {
      while !Thread.current.isCancelled {
        // Until it has become the daemon, the shell may not have run `trap` yet.
        let name = try? String(contentsOfFile: "/proc/\(daemon.pid)/comm", encoding: .utf8)
        if name == "usherd\n" { kill(daemon.pid, SIGHUP) }
        usleep(1000)
      }
    }
    bell.start()
    try daemon.start()
    bell.cancel()
    #expect(daemon.isRunning)
    _ = try daemon.client().call("system.status")
    try eventually("the daemon logs the reload") { daemon.log.contains("notice reloaded") }
  }

  @Test("a reload changes the log level, unless the command line sets it")
  func level() throws {
    let daemon = try DaemonUnderTest(config: "", logLevel: "info")
    func isLogged(_ what: String, by log: () -> String) throws -> Bool {
      _ = try daemon.client().reason(of: what)
      let before = log().split(separator: "\n").count
      return log().split(separator: "\n").suffix(before).contains {
        $0.contains("the method does not exist")
      }
    }
    try daemon.place.write("[log]\nlevel = \"debug\"\n", to: "usherd.toml")
    _ = try daemon.admin().call("system.reload")
    #expect(try !isLogged("a.b") { daemon.log })
    try daemon.stop()
    let command = Array(daemon.commandLine.dropLast(2))
    try daemon.place.write("", to: "usherd.toml")
    let path = daemon.place.file("second.log")
    let program = try RunningProgram(command[0], Array(command.dropFirst()), log: path)
    try eventually("the daemon answers system.status") {
      (try? daemon.admin().call("system.status", within: 2)) != nil
    }
    #expect(try !isLogged("a.b") { program.log })
    try daemon.place.write("[log]\nlevel = \"debug\"\n", to: "usherd.toml")
    _ = try daemon.admin().call("system.reload")
    #expect(try isLogged("a.b") { program.log })
    try program.stop()
  }
}
