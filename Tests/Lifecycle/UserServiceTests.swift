import Foundation
import Testing
import UsherTestKit

@Suite(
  "a user's own daemon", .mayBlock, .serialized, .whereSystemsBoot, .ownSystem(),
  .timeLimit(.minutes(10)))
struct UserServiceTests {
  private static let runtime = "/run/user/4001"

  @Test("a user's manager starts it at the first call, apart from the system's")
  func ownDaemon() throws {
    let scene = try ServiceScene.here()
    // A user's manager wants its directory from logind, which is not here.
    try scene.system.write(
      """
      [Service]
      ExecStart=
      ExecStart=/usr/bin/install -d -m 0700 -o %i -g %i /run/user/%i
      ExecStop=
      """, to: "/etc/systemd/system/user-runtime-dir@.service.d/test.conf")
    try scene.system.run("systemctl", "daemon-reload")
    try scene.system.run("systemctl", "start", "user@4001.service")
    try own(scene, "systemctl", "--user", "start", "usherd.socket", "usherd-admin.socket")
    #expect(try state(scene) == "inactive")
    let status = try own(
      scene, "usherctl", "--socket", Self.runtime + "/usherd/usherd.sock", "--json", "status")
    #expect(status.contains("\"ready\":true") || status.contains("\"ready\" : true"), "\(status)")
    #expect(try state(scene) == "active")
    let made = try scene.identity(of: "/home/ada/.local/state/usherd/usherd.db")
    #expect(made.contains(" ada:ada 600 "), "\(made)")
    #expect(try scene.property("ActiveState") == "inactive", "the system's was not needed")
    try own(scene, "systemctl", "--user", "reload", "usherd.service")
    try eventually("it serves on") { try state(scene) == "active" }
    try own(scene, "systemctl", "--user", "stop", "usherd.service")
    let result = try own(
      scene, "systemctl", "--user", "show", "--value", "--property=Result", "usherd.service")
    #expect(result == "success\n")
  }

  @discardableResult
  private func own(_ scene: ServiceScene, _ command: String...) throws -> String {
    try scene.system.run(
      [
        "setpriv", "--reuid=ada", "--regid=ada", "--init-groups", "env", "HOME=/home/ada",
        "XDG_RUNTIME_DIR=\(Self.runtime)",
      ] + command)
  }

  private func state(_ scene: ServiceScene) throws -> String {
    try own(
      scene, "systemctl", "--user", "show", "--value", "--property=ActiveState", "usherd.service"
    ).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
