import Foundation

/// A program at the socket that a `[[client]]` tells from others by its path.
package struct NamedProgram {
  private let relay: RunningProgram
  private let socket: String

  /// Puts a program of this name into a place, and returns the rule that names it.
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

  /// Starts it.
  package init(_ name: String, in place: TemporaryDirectory, at daemon: DaemonUnderTest) throws {
    let socket = place.file("\(name).sock")
    let relay = try RunningProgram(
      place.file(name), [TestScript.asUser, "relay", socket, daemon.socketPath],
      log: place.file("\(name).log"))
    try eventually("\(name) has a relay") {
      guard relay.isRunning else { throw TestError("no relay: \(relay.log)") }
      return relay.log.contains("relaying")
    }
    self.relay = relay
    self.socket = socket
  }

  /// A connection that the daemon takes for this program's.
  package func client() throws -> RawClient { try RawClient(socket) }
}
