import Foundation
import Testing
import UsherTestKit

@Suite(
  "A user's own usherd", .mayBlock, .serialized, .whereSystemsBoot, .ownSystem(),
  .timeLimit(.minutes(10)))
struct UserServiceTests {
  private static let runtime = "/run/user/4001"

  @Test(
    "a user manager starts the user's own usherd at the first call, without the system's usherd")
  func ownDaemon() throws {
    let fixture = try ServiceFixture.here()
    // A user manager needs a runtime directory from logind, which does not run here.
    try fixture.system.write(
      """
      [Service]
      ExecStart=
      ExecStart=/usr/bin/install -d -m 0700 -o %i -g %i /run/user/%i
      ExecStop=
      """, to: "/etc/systemd/system/user-runtime-dir@.service.d/test.conf")
    try fixture.system.run("systemctl", "daemon-reload")
    try fixture.system.run("systemctl", "start", "user@4001.service")
    try own(fixture, "systemctl", "--user", "start", "usherd.socket", "usherd-admin.socket")
    #expect(try state(fixture) == "inactive")
    let status = try own(
      fixture, "usherctl", "--socket", Self.runtime + "/usherd/usherd.sock", "--json", "status")
    #expect(status.contains("\"ready\":true") || status.contains("\"ready\" : true"), "\(status)")
    // The daemon may answer before systemd has read that it is ready.
    try eventually("the user's usherd is active") { try state(fixture) == "active" }
    let made = try fixture.identity(of: "/home/ada/.local/state/usherd/usherd.db")
    #expect(made.contains(" ada:ada 600 "), "\(made)")
    #expect(try fixture.property("ActiveState") == "inactive", "the system's usherd is not started")
    try own(fixture, "systemctl", "--user", "reload", "usherd.service")
    try eventually("the reload has ended") { try state(fixture) == "active" }
    try own(fixture, "systemctl", "--user", "stop", "usherd.service")
    let result = try own(
      fixture, "systemctl", "--user", "show", "--value", "--property=Result", "usherd.service")
    #expect(result == "success\n")
  }

  @discardableResult
  private func own(_ fixture: ServiceFixture, _ command: String...) throws -> String {
    try fixture.system.run(
      [
        "setpriv", "--reuid=ada", "--regid=ada", "--init-groups", "env", "HOME=/home/ada",
        "XDG_RUNTIME_DIR=\(Self.runtime)",
      ] + command)
  }

  private func state(_ fixture: ServiceFixture) throws -> String {
    try own(
      fixture, "systemctl", "--user", "show", "--value", "--property=ActiveState", "usherd.service"
    ).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
