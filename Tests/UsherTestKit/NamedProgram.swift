import Foundation

/// A program at the socket that a `[[client]]` rule matches by the path of its executable.
package struct NamedProgram {
  private let relay: RunningProgram
  private let socket: String

  /// Installs a program with this name in a directory, and returns the rule that matches it.
  package static func rule(_ name: String, in place: TemporaryDirectory) throws -> String {
    let python = URL(fileURLWithPath: "/usr/bin/python3").resolvingSymlinksInPath().path
    try place.install(python, as: name)
    return """
      [[client]]
      name = "\(name)"
      match = { executable = "\(place.file(name))" }
      allow = ["*"]

      """
  }

  /// Starts the program.
  package init(_ name: String, in place: TemporaryDirectory, at daemon: DaemonUnderTest) throws {
    let socket = place.file("\(name).sock")
    let relay = try RunningProgram(
      place.file(name), [TestScript.asUser, "relay", socket, daemon.socketPath],
      log: place.file("\(name).log"))
    try eventually("the relay of program \(name) is ready") {
      guard relay.isRunning else { throw TestError("the relay has ended: \(relay.log)") }
      return relay.log.contains("relaying")
    }
    self.relay = relay
    self.socket = socket
  }

  /// Returns a connection that the daemon attributes to this program.
  package func client() throws -> RawClient { try RawClient(socket) }
}
