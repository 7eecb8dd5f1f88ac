import Foundation
import JSONRPC
import UsherTestKit

/// A user of this machine with a program at the socket and a browser; to be one, root is needed.
final class OtherUser {
  static let isPossible = getuid() == 0

  private let place: Workplace
  private let identity: [String]
  private let daemon: DaemonUnderTest
  private let relay: RunningProgram

  init(_ uid: UInt32, groups: String, at daemon: DaemonUnderTest) throws {
    place = try Workplace()
    self.daemon = daemon
    identity = ["--reuid=\(uid)", "--regid=\(uid)", "--groups=\(groups)", "--inh-caps=-all"]
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("as_user.py")
    try place.write(String(contentsOf: script, encoding: .utf8), to: "as_user.py")
    try must(chown(place.path, uid, uid) == 0, "no place for uid \(uid)")
    relay = try RunningProgram(
      "/usr/bin/setpriv",
      identity + [
        "/usr/bin/python3", place.file("as_user.py"), "relay", place.file("s"), daemon.socketPath,
      ], log: place.file("relay.log"))
    try eventually(within: 10, "uid \(uid) has a relay") { [relay] in
      try must(relay.isRunning, "no relay: \(relay.log)")
      return relay.log.contains("relaying")
    }
  }

  /// A connection that the daemon takes for this user's.
  func client() throws -> RawClient { try RawClient(place.file("s")) }

  /// Opens a page in this user's browser.
  func browse(_ url: String) throws -> (status: Int64, page: String) {
    let reply = try JSONValue(parsing: Array(act("get", url).utf8))
    return (reply["status"]?.integerValue ?? 0, reply["page"]?.stringValue ?? "")
  }

  /// Signs the person of this user in.
  @discardableResult
  func signIn() throws -> JSONValue {
    let client = try client()
    let flow = try client.startFlow()
    guard let back = try Person.decide(at: flow.page()).location else {
      throw TestTrouble("no way back")
    }
    let reply = try browse(back)
    try must(reply.status == 200, "the listener answers \(reply.status)")
    let end = try client.finished(flow)
    try must(end["status"] == "succeeded", "not signed in: \(end.text)")
    return end
  }

  /// `connected`, or why not.
  func connect(to path: String) throws -> String {
    try act("connect", path).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private func act(_ what: String, _ argument: String) throws -> String {
    let done = try run(
      "/usr/bin/setpriv",
      identity + ["/usr/bin/python3", place.file("as_user.py"), what, argument])
    try must(done.status == 0, "\(what): \(done.errors)")
    return done.output
  }
}
