import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Each begins with a system on which the package never was.
@Suite("the package", .mayBlock, .serialized, .whereSystemsBoot, .timeLimit(.minutes(10)))
struct PackageTests {
  private let scene: ServiceScene

  init() throws { scene = try ServiceScene(isInstalled: false) }

  @Test("installing enables and opens the sockets, and starts no daemon; the first call does")
  func installing() throws {
    let packages = try DebianPackages.built.get()
    try scene.system.run(
      ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends"]
        + packages.inside(.present), within: 120)
    for unit in ["usherd.socket", "usherd-admin.socket"] {
      #expect(try scene.says("is-enabled", unit) == "enabled", "\(unit)")
      #expect(try scene.system.property("SubState", of: unit) == "listening", "\(unit)")
    }
    #expect(try scene.says("is-enabled", "usherd.service") == "enabled")
    #expect(try scene.property("ActiveState") == "inactive")
    #expect(try scene.outcome("pgrep", "--exact", "usherd").status == 1)
    let status = try scene.outcome("usherctl", "status")
    #expect(status.status == 0 && status.output.contains("work"), "\(status)")
    #expect(try scene.property("ActiveState") == "active")
    #expect(try scene.identity(of: ServiceScene.state).contains(" usherd:usherd 700 "))
    for command in [["usherd", "--version"], ["usherctl", "--version"]] {
      let said = try scene.system.run(command).trimmingCharacters(in: .whitespacesAndNewlines)
      #expect(packages.version.hasPrefix(said), "\(command): \(said), \(packages.version)")
    }
  }

  @Test("an upgrade restarts the daemon where it runs; clients and sockets see nothing of it")
  func upgrading() throws {
    try scene.install(.present)
    try scene.signIn("ada", by: scene.program(of: "ada", unit: "ada.service")())
    let sockets = [ServiceScene.socket, ServiceScene.adminSocket]
    let before = try sockets.map { try scene.identity(of: $0) }
    let process = try scene.process()
    let load = try Load(scene, clients: 10)
    try scene.install(.next)
    #expect(try installed() == DebianPackages.built.get().nextVersion)
    try load.isThere()
    let end = try load.end()
    #expect(end.failed == 0 && end.calls > 50, "\(end.said)\n\(scene.journal)")
    #expect(try scene.process() != process)
    #expect(try sockets.map { try scene.identity(of: $0) } == before)
    #expect(try scene.property("NeedDaemonReload") == "no")
  }

  @Test("an upgrade starts no daemon where none runs, and keeps a changed configuration file")
  func upgradingIdle() throws {
    try scene.install(.present)
    let file = "/etc/usherd/usherd.toml"
    try scene.system.run("sh", "-c", ##"echo '# mine' >>"$1""##, "sh", file)
    try scene.install(.next)
    #expect(try scene.property("ActiveState") == "inactive")
    #expect(try scene.system.property("SubState", of: "usherd.socket") == "listening")
    #expect(try scene.system.run("tail", "-n1", file) == "# mine\n")
    #expect(try scene.client().call("system.status")["ready"] == true)
  }

  @Test("removing stops all and keeps configuration and state; installed again, it goes on")
  func removing() throws {
    let before = try scene.files()
    try scene.install(.present)
    try scene.signIn(scene.client())
    let token = try scene.token(scene.client())
    try scene.system.run("dpkg", "--remove", "usherd", "usherctl")
    #expect(try scene.runningUnits().isEmpty)
    #expect(try scene.outcome("pgrep", "--uid", "usherd").status == 1)
    #expect(try scene.outcome("test", "-e", ServiceScene.socket).status == 1)
    let left = try scene.files().subtracting(before)
      .filter { path in !(Self.dpkgsOwn + Self.others).contains(where: path.hasPrefix) }
    #expect(left.contains(ServiceScene.database) && left.contains("/etc/usherd/usherd.toml"))
    for path in left where !["/etc/usherd", ServiceScene.state].contains(where: path.hasPrefix) {
      Issue.record("left over: \(path)")
    }
    try scene.install(.present)
    #expect(try scene.token(scene.client()) == token)
  }

  @Test("purging leaves the users, and nothing else")
  func purging() throws {
    try scene.system.run("mkdir", "-p", "/etc/credstore.encrypted")
    let (files, users) = (try scene.files(), try scene.usersAndGroups())
    try scene.install(.present)
    try scene.signIn(scene.client())
    try scene.system.write("sealed", to: "/etc/credstore.encrypted/usherd.master-key")
    try scene.system.run("dpkg", "--purge", "usherd", "usherctl")
    #expect(try scene.runningUnits().isEmpty)
    for path in try scene.files().subtracting(files)
    where !Self.others.contains(where: path.hasPrefix) {
      Issue.record("left over: \(path)")
    }
    let gone = try files.subtracting(scene.files()).filter { !$0.hasPrefix("/etc/usherd") }
    #expect(gone.isEmpty, "not ours: \(gone)")
    let new = try scene.usersAndGroups().subtracting(users)
    #expect(Set(new.map { $0.prefix { $0 != ":" } }) == ["usherd"], "\(new)")
    #expect(try scene.outcome("test", "-e", ServiceScene.socket).status == 1)
  }

  private func installed() throws -> String {
    try scene.system.run("dpkg-query", "--show", "--showformat=${Version}", "usherd")
  }

  /// What dpkg and its helpers know of a package that was removed and not purged.
  private static let dpkgsOwn = [
    "/var/lib/dpkg/", "/var/lib/systemd/deb-systemd-", "/etc/systemd/",
  ]
  /// What any package leaves: records of dpkg, of the users and of the manual.
  private static let others = [
    "/etc/group-", "/etc/gshadow-", "/etc/passwd-", "/etc/shadow-", "/var/cache/man/",
    "/var/lib/dpkg/status-old", "/var/lib/dpkg/diversions-old", "/var/lib/dpkg/statoverride-old",
    "/var/log/",
  ]
}

extension ServiceScene {
  /// All paths that a package may leave something at.
  fileprivate func files() throws -> Set<String> {
    let found = try system.run("find", "/etc", "/home", "/opt", "/srv", "/usr", "/var", "-xdev")
    return Set(found.split(separator: "\n").map(String.init))
  }

  fileprivate func usersAndGroups() throws -> Set<String> {
    Set(
      try system.run("cat", "/etc/passwd", "/etc/group").split(separator: "\n").map(String.init))
  }

  /// Those of usherd that systemd knows.
  fileprivate func runningUnits() throws -> [Substring] {
    try system.run(
      "systemctl", "list-units", "--all", "--plain", "--no-legend", "--state=active", "usherd*"
    ).split(separator: "\n")
  }
}
