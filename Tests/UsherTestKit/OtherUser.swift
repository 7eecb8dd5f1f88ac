import Foundation
import JSONRPC

/// Another user of this machine, with a program at the socket and a browser. Requires root.
package final class OtherUser {
  package static let isPossible = getuid() == 0

  private let place: TemporaryDirectory
  private let identity: [String]
  private let relay: RunningProgram

  package init(_ uid: UInt32, groups: String, at daemon: DaemonUnderTest) throws {
    place = try TemporaryDirectory()
    identity = ["--reuid=\(uid)", "--regid=\(uid)", "--groups=\(groups)", "--inh-caps=-all"]
    try place.write(String(contentsOfFile: TestScript.asUser, encoding: .utf8), to: "as_user.py")
    guard chown(place.path, uid, uid) == 0 else {
      throw TestError("cannot give the directory to uid \(uid)")
    }
    relay = try RunningProgram(
      "/usr/bin/setpriv",
      identity + [
        "/usr/bin/python3", place.file("as_user.py"), "relay", place.file("s"), daemon.socketPath,
      ], log: place.file("relay.log"))
    try eventually("the relay of uid \(uid) is ready") { [relay] in
      guard relay.isRunning else { throw TestError("the relay has ended: \(relay.log)") }
      return relay.log.contains("relaying")
    }
  }

  /// Returns a connection that the daemon attributes to this user.
  package func client() throws -> RawClient { try RawClient(place.file("s")) }

  /// Opens a page in this user's browser.
  package func browse(_ url: String) throws -> (status: Int64, page: String) {
    let reply = try JSONValue(parsing: Array(act("get", url).utf8))
    return (reply["status"]?.integerValue ?? 0, reply["page"]?.stringValue ?? "")
  }

  /// Returns `connected` or the name of the error.
  package func connect(to path: String) throws -> String {
    try act("connect", path).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private func act(_ what: String, _ argument: String) throws -> String {
    let done = try run(
      "/usr/bin/setpriv",
      identity + ["/usr/bin/python3", place.file("as_user.py"), what, argument])
    guard done.status == 0 else { throw TestError("\(what): \(done.errors)") }
    return done.output
  }
}
