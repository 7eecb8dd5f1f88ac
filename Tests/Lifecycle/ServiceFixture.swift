import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A booted system with usherd from its packages, a provider on loopback, the user `ada` in group
/// `usher`, and the user `ben`.
///
/// The tests use the sockets and the browser as root.
final class ServiceFixture: @unchecked Sendable {
  let system: BootedSystem

  /// - Parameters:
  ///   - isInstalled: Whether the packages are installed; all the rest is there in any case.
  ///   - config: Configuration in addition to the packages' and the provider "work".
  init(isInstalled: Bool = true, config: String = "") throws {
    let packages = try DebianPackages.built.get()
    system = try BootedSystem(binding: [
      Self.programs + "usher-sandbox": BuiltProduct.path("usher-sandbox"),
      Self.programs + "usher-bench": BuiltProduct.path("usher-bench"),
      Self.packages: packages.directory,
    ])
    try welcomePeople()
    try startProvider()
    try write(config: Self.provider() + config)
    if isInstalled { try install(.present) }
  }

  static let tools = "/opt/usher-test/"
  static let programs = "/opt/usher-programs/"
  static let packages = "/opt/usher-packages"
  static let issuer = "http://127.0.0.1:8765/oidc"
  static let socket = "/run/usherd/usherd.sock"
  static let adminSocket = "/run/usherd/usherd-admin.sock"
  static let state = "/var/lib/usherd"
  static let database = state + "/usherd.db"
  /// The drop-in file that changes the settings of the unit.
  static let override = "/etc/systemd/system/usherd.service.d/test.conf"

  /// Returns a `[[provider]]` table for the provider on loopback.
  static func provider(_ name: String = "work") -> String {
    """
    [[provider]]
    name = "\(name)"
    type = "oidc"
    issuer = "\(issuer)"
    scopes = ["openid", "profile", "email", "offline_access"]
    client_id = "usher"

    """
  }

  private func welcomePeople() throws {
    try system.write(
      """
      g usher -
      u ada 4001 "Ada" /home/ada /bin/sh
      u ben 4002 "Ben" /home/ben /bin/sh
      m ada usher
      """, to: "/etc/sysusers.d/people.conf")
    try system.run("systemd-sysusers", "/etc/sysusers.d/people.conf")
    for name in ["ada", "ben"] {
      try system.run("install", "-d", "-o", name, "-g", name, "-m", "0700", "/home/\(name)")
    }
    try system.run("mkdir", "--mode=1777", "/run/callers")
    // Without this, each installation would rebuild the manual's index, which takes longest of all.
    try system.run("rm", "-f", "/var/lib/man-db/auto-update")
    try system.copy(TestScript.asUser, to: Self.tools + "as_user.py")
    for name in ["hold_database.py", "https_issuer.py", "stop_thread.py"] {
      try system.copy(Self.file(name), to: Self.tools + name)
    }
  }

  private func startProvider() throws {
    try system.run(
      "systemd-run", "--quiet", "--unit=usher-sandbox.service",
      Self.programs + "usher-sandbox", "--port", "8765")
    try eventually("the provider listens") {
      (try? system.inNetwork { try Web.get(Self.issuer + "/.well-known/openid-configuration") })?
        .status == 200
    }
    // Tests compare tokens before and after a restart: none may expire meanwhile on a busy machine.
    try control("POST", "settings", ["accessTokenSeconds": 86_400, "idTokenSeconds": 86_400])
  }

  /// Returns the path of a file beside this one.
  static func file(_ name: String) -> String {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name).path
  }
}

// MARK: - The service

extension ServiceFixture {
  func install(_ release: DebianPackages.Release) throws {
    // The file system is in memory, so there is nothing to sync.
    let install = ["dpkg", "--force-unsafe-io", "--install"]
    try system.run(install + DebianPackages.built.get().inside(release), within: 120)
  }

  /// Writes the configuration in addition to the packages'.
  func write(config: String) throws {
    try system.write(config, to: "/etc/usherd/conf.d/50-test.toml")
  }

  /// Changes settings of the unit with a drop-in file.
  func override(_ settings: String) throws {
    try system.write("[Service]\n\(settings)\n", to: Self.override)
    try system.run("systemctl", "daemon-reload")
  }

  /// Connects to the app socket, which starts the daemon if it does not run.
  func client() throws -> RawClient { try RawClient(system.path(Self.socket)) }

  func admin() throws -> RawClient { try RawClient(system.path(Self.adminSocket)) }

  func property(_ name: String) throws -> String {
    try system.property(name, of: "usherd.service")
  }

  /// Returns the number of the daemon's process inside the system.
  func process() throws -> String { try property("MainPID") }

  var journal: String { system.journal(of: "usherd.service") }

  /// Returns the journal entries that match a field, in order.
  func entries(_ match: String) throws -> [JSONValue] {
    try system.run("journalctl", "--output=json", "--no-pager", match)
      .split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
  }

  /// Does something after which systemd starts the daemon again, and waits until it serves.
  ///
  /// - Returns: A connection that has made a call meanwhile, which must be answered.
  @discardableResult
  func startedAgain(by deed: () throws -> Void) throws -> RawClient {
    let before = try process()
    try deed()
    let queued = try client()
    try queued.send(#"{"jsonrpc":"2.0","id":"queued","method":"system.status"}"#)
    try daemon(within: 60, "is started again") {
      let now = try process()
      return try now != before && now != "0" && property("ActiveState") == "active"
    }
    return queued
  }

  /// Ends the daemon's process by a signal, and returns when systemd has reaped it. Until then the
  /// process could still accept a connection, which would end with it.
  func kill(by signal: String) throws {
    let process = try process()
    try system.run("kill", "-\(signal)", process)
    try eventually("process \(process) has ended") {
      try system.run("sh", "-c", "test -d /proc/$1 || echo ended", "sh", process)
        .contains("ended")
    }
  }

  /// Stops the daemon's process by SIGSTOP, and returns when all its threads have stopped.
  func freeze() throws {
    let process = try process()
    try system.run("kill", "-STOP", process)
    try eventually("process \(process) has stopped") {
      // A thread may end between the list of the threads and the look at it.
      let states = try system.run(
        "sh", "-c", "grep -hs ^State: /proc/$1/task/*/status || true", "sh", process)
      // Without a line, the process has ended.
      guard !states.isEmpty else { throw TestError("process \(process) has ended") }
      return states.split(separator: "\n").allSatisfy { $0.contains("stopped") }
    }
  }

  /// Waits until a condition holds; if it does not, the error contains the daemon's journal.
  func daemon(within seconds: Double = 60, _ does: String, _ holds: () throws -> Bool) throws {
    do {
      try eventually(within: seconds, "the daemon \(does)", holds)
    } catch {
      throw TestError("\(error): \(journal)")
    }
  }

  /// Returns the output of a `systemctl` verb, whatever its exit status.
  func says(_ verb: String, _ unit: String) throws -> String {
    try system.run("sh", "-c", #"systemctl "$1" "$2" 2>&1 || true"#, "sh", verb, unit)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Returns the inode, owner, mode and type of the file at a path.
  func identity(of path: String) throws -> String {
    try system.run("stat", "--format=%i %U:%G %a %F", path)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
