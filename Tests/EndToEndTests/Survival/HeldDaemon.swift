import Foundation
import UsherTestKit

/// A usherd whose sockets another process holds, as systemd does: `socket_holder.py`.
final class HeldDaemon: @unchecked Sendable {
  private let place: TemporaryDirectory
  private let holder: RunningProgram

  var socketPath: String { place.file("u") }
  var log: String { holder.log }

  init(config: String) throws {
    place = try TemporaryDirectory()
    try place.write(config, to: "usherd.toml")
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("socket_holder.py").path
    holder = try RunningProgram(
      "/usr/bin/python3",
      [
        "-u", script, place.file("u"), place.file("a"), BuiltProduct.path("usherd"), "--config",
        place.file("usherd.toml"), "--state", place.file("state"), "--log-level", "info",
      ], log: place.file("log"))
    try eventually("usherd answers") {
      (try? client().call("system.status", within: 2)) != nil
    }
  }

  func client() throws -> RawClient { try RawClient(socketPath) }

  /// Returns when the old process has ended with status 0 and the next one has been started.
  func restart() throws {
    let before = starts
    kill(holder.pid, SIGHUP)
    try eventually("the holder starts usherd again: \(holder.log)") { starts > before }
    try must(ends.allSatisfy { $0 == "0" }, "usherd ended with the statuses \(ends)")
  }

  func stop() throws {
    let status = try holder.stop()
    try must(status == 0, "the holder ended with \(status)")
    try must(
      ends.allSatisfy { $0 == "0" } && ends.count == starts,
      "usherd ended with the statuses \(ends)")
  }

  private var starts: Int { holder.log.matches(of: /(?m)^started \d+$/).count }
  private var ends: [String] { holder.log.matches(of: /(?m)^ended (-?\d+)$/).map { String($0.1) } }
}
