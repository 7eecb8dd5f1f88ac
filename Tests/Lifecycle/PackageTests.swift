import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Each test begins on a system on which the packages were never installed.
@Suite(
  "Installation, upgrade and removal of the packages", .mayBlock, .serialized, .whereSystemsBoot,
  .timeLimit(.minutes(10)))
struct PackageTests {
  private let fixture: ServiceFixture

  init() throws { fixture = try ServiceFixture(isInstalled: false) }

  @Test(
    "installing the packages opens the sockets without starting usherd; the first call starts it")
  func installing() throws {
    let packages = try DebianPackages.built.get()
    try fixture.system.run(
      ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends"]
        + packages.inside(.present), within: 120)
    for unit in ["usherd.socket", "usherd-admin.socket"] {
      #expect(try fixture.says("is-enabled", unit) == "enabled", "\(unit)")
      #expect(try fixture.system.property("SubState", of: unit) == "listening", "\(unit)")
    }
    #expect(try fixture.says("is-enabled", "usherd.service") == "enabled")
    #expect(try fixture.property("ActiveState") == "inactive")
    #expect(try fixture.outcome("pgrep", "--exact", "usherd").status == 1)
    let status = try fixture.outcome("usherctl", "status")
    #expect(status.status == 0 && status.output.contains("work"), "\(status)")
    try fixture.daemon("is active") { try fixture.property("ActiveState") == "active" }
    #expect(try fixture.identity(of: ServiceFixture.state).contains(" usherd:usherd 700 "))
    for command in [["usherd", "--version"], ["usherctl", "--version"]] {
      let said = try fixture.system.run(command).trimmingCharacters(in: .whitespacesAndNewlines)
      #expect(packages.version.hasPrefix(said), "\(command): \(said), \(packages.version)")
    }
  }

  @Test("a package upgrade restarts a running usherd without failing a call or replacing a socket")
  func upgrading() throws {
    try fixture.install(.present)
    try fixture.signIn("ada", by: fixture.program(of: "ada", unit: "ada.service")())
    let sockets = [ServiceFixture.socket, ServiceFixture.adminSocket]
    let before = try sockets.map { try fixture.identity(of: $0) }
    let process = try fixture.process()
    let load = try Load(fixture, clients: 10)
    try fixture.install(.next)
    #expect(try installed() == DebianPackages.built.get().nextVersion)
    try load.isThere()
    let end = try load.end()
    #expect(end.failed == 0 && end.calls > 50, "\(end.said)\n\(fixture.journal)")
    #expect(try fixture.process() != process)
    #expect(try sockets.map { try fixture.identity(of: $0) } == before)
    #expect(try fixture.property("NeedDaemonReload") == "no")
  }

  @Test("a package upgrade does not start a stopped usherd, and keeps a changed configuration file")
  func upgradingIdle() throws {
    try fixture.install(.present)
    let file = "/etc/usherd/usherd.toml"
    try fixture.system.run("sh", "-c", ##"echo '# mine' >>"$1""##, "sh", file)
    try fixture.install(.next)
    #expect(try fixture.property("ActiveState") == "inactive")
    #expect(try fixture.system.property("SubState", of: "usherd.socket") == "listening")
    #expect(try fixture.system.run("tail", "-n1", file) == "# mine\n")
    #expect(try fixture.client().call("system.status")["ready"] == true)
  }

  @Test(
    "removing the packages stops all units and keeps configuration and state for a new installation"
  )
  func removing() throws {
    let before = try fixture.files()
    try fixture.install(.present)
    try fixture.signIn(fixture.client())
    let token = try fixture.token(fixture.client())
    try fixture.system.run("dpkg", "--remove", "usherd", "usherctl")
    #expect(try fixture.runningUnits().isEmpty)
    #expect(try fixture.outcome("pgrep", "--uid", "usherd").status == 1)
    #expect(try fixture.outcome("test", "-e", ServiceFixture.socket).status == 1)
    let left = try fixture.files().subtracting(before)
      .filter { path in !(Self.dpkgsOwn + Self.others).contains(where: path.hasPrefix) }
    #expect(left.contains(ServiceFixture.database) && left.contains("/etc/usherd/usherd.toml"))
    for path in left where !["/etc/usherd", ServiceFixture.state].contains(where: path.hasPrefix) {
      Issue.record("the package left \(path)")
    }
    try fixture.install(.present)
    #expect(try fixture.token(fixture.client()) == token)
  }

  @Test("purging the packages leaves nothing but the user and the group usherd")
  func purging() throws {
    try fixture.system.run("mkdir", "-p", "/etc/credstore.encrypted")
    let (files, users) = (try fixture.files(), try fixture.usersAndGroups())
    try fixture.install(.present)
    try fixture.signIn(fixture.client())
    try fixture.system.write("sealed", to: "/etc/credstore.encrypted/usherd.master-key")
    try fixture.system.run("dpkg", "--purge", "usherd", "usherctl")
    #expect(try fixture.runningUnits().isEmpty)
    for path in try fixture.files().subtracting(files)
    where !Self.others.contains(where: path.hasPrefix) {
      Issue.record("the package left \(path)")
    }
    let gone = try files.subtracting(fixture.files()).filter { !$0.hasPrefix("/etc/usherd") }
    #expect(gone.isEmpty, "the removal deleted files of other packages: \(gone)")
    let new = try fixture.usersAndGroups().subtracting(users)
    #expect(Set(new.map { $0.prefix { $0 != ":" } }) == ["usherd"], "\(new)")
    #expect(try fixture.outcome("test", "-e", ServiceFixture.socket).status == 1)
  }

  private func installed() throws -> String {
    try fixture.system.run("dpkg-query", "--show", "--showformat=${Version}", "usherd")
  }

  /// The records of dpkg and its helpers about a package that was removed and not purged.
  private static let dpkgsOwn = [
    "/var/lib/dpkg/", "/var/lib/systemd/deb-systemd-", "/etc/systemd/",
  ]
  /// The files that any package leaves: records of dpkg, of the users and of the manual.
  private static let others = [
    "/etc/group-", "/etc/gshadow-", "/etc/passwd-", "/etc/shadow-", "/var/cache/man/",
    "/var/lib/dpkg/status-old", "/var/lib/dpkg/diversions-old", "/var/lib/dpkg/statoverride-old",
    "/var/log/",
  ]
}

extension ServiceFixture {
  /// Returns all paths in the directories in which a package may leave files.
  fileprivate func files() throws -> Set<String> {
    let found = try system.run("find", "/etc", "/home", "/opt", "/srv", "/usr", "/var", "-xdev")
    return Set(found.split(separator: "\n").map(String.init))
  }

  fileprivate func usersAndGroups() throws -> Set<String> {
    Set(
      try system.run("cat", "/etc/passwd", "/etc/group").split(separator: "\n").map(String.init))
  }

  /// Returns the active units of usherd.
  fileprivate func runningUnits() throws -> [Substring] {
    try system.run(
      "systemctl", "list-units", "--all", "--plain", "--no-legend", "--state=active", "usherd*"
    ).split(separator: "\n")
  }
}
