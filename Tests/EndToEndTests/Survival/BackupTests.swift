import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Recovers the state after the loss of a host or of a master key, with daemons that run without
/// systemd.
@Suite("Backup, restore and recovery", .mayBlock, .timeLimit(.minutes(10)))
struct BackupTests {
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest
  private let app: RawClient

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(config: sandbox.provider())
    app = try daemon.client()
  }

  private var backup: String { daemon.place.file("backup") }

  /// Runs usherctl with usherd in its `PATH`.
  private static func usherctl(
    _ arguments: [String], on daemon: DaemonUnderTest, input: String = ""
  ) throws -> (status: Int32, output: String, errors: String) {
    let folder = (BuiltProduct.path("usherd") as NSString).deletingLastPathComponent
    return try run(
      BuiltProduct.path("usherctl"),
      ["--socket", daemon.socketPath, "--admin-socket", daemon.adminSocketPath] + arguments,
      environment: ["PATH": "\(folder):/usr/bin:/bin", "XDG_RUNTIME_DIR": daemon.place.path],
      input: input)
  }

  private func recoveryKey() throws -> String {
    let setup = try Self.usherctl(["setup", "--state", daemon.statePath], on: daemon)
    try #require(setup.status == 0, "\(setup)")
    return setup.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private static func backUp(_ daemon: DaemonUnderTest) throws {
    let done = try usherctl(["backup", daemon.place.file("backup")], on: daemon)
    try must(done.status == 0, "\(done)")
  }

  /// Creates the daemon of another host: with its own master key, used once and stopped.
  private func otherHost() throws -> DaemonUnderTest {
    let other = try DaemonUnderTest(config: sandbox.provider())
    _ = try other.admin().call("credential.set", ["name": "a", "value": "b"])
    #expect(try other.stop() == 0)
    return other
  }

  private func restore(
    _ options: [String], on other: DaemonUnderTest, input: String = ""
  ) throws -> (status: Int32, output: String, errors: String) {
    try Self.usherctl(
      ["restore", "--state", other.statePath] + options + [backup], on: other, input: input)
  }

  private func left(_ daemon: DaemonUnderTest) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: daemon.statePath)) ?? []
    return names.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.sorted()
  }

  @Test(
    "usherctl restore with the recovery key brings flows, tokens and the audit log to a new host")
  func newHost() throws {
    try app.signIn()
    let flow = try app.startFlow()
    let key = try recoveryKey()
    try Self.backUp(daemon)
    #expect(left(daemon) == ["master.key", "usherd.db", "usherd.db.lock"])
    // The backup does not contain later flows.
    let late = try app.startFlow()
    #expect(try daemon.stop() == 0)
    let other = try otherHost()
    let refused = try restore([], on: other)
    #expect(refused.status == 1 && refused.errors.contains("another master key"), "\(refused)")
    #expect(refused.errors.contains("--recovery-key"), "\(refused)")
    #expect(left(other) == ["master.key", "usherd.db", "usherd.db.lock"])
    let masterKey = FileManager.default.contents(atPath: "\(other.statePath)/master.key")
    let restored = try restore(["--recovery-key"], on: other, input: key.lowercased() + "\n")
    #expect(restored.status == 0, "\(restored)")
    #expect(FileManager.default.contents(atPath: "\(other.statePath)/master.key") == masterKey)
    // The new host's own master key now opens the restored database.
    try other.start()
    let (client, admin) = (try other.client(), try other.admin())
    #expect(try client.call("token.get", ["provider": "demo"])["accessToken"] != nil)
    #expect(try client.call("flow.get", ["flow": flow["id"] ?? .null])["flow"] != nil)
    #expect(try client.reason(of: "flow.get", ["flow": late["id"] ?? .null]) == "not_found")
    let back = try #require(try Person.decide(at: flow.page()).location)
    try other.comeBack(to: back)
    #expect(try client.finished(flow)["status"] == "succeeded")
    #expect(try admin.call("audit.verify")["findings"]?.arrayValue ?? [] == [])
    let names = try admin.call("credential.list")["credentials"]?.arrayValue ?? []
    #expect(names.isEmpty, "credentials of the replaced store must not be listed")
    #expect(left(other).contains("usherd.db.before-restore"))
    #expect(try admin.call("system.status")["hasRecoveryKey"] == true)
  }

  @Test("usherctl recover makes the database usable again if the master key is missing or wrong")
  func recover() throws {
    try app.signIn()
    let key = try recoveryKey()
    let running = try Self.usherctl(
      ["recover", "--state", daemon.statePath], on: daemon, input: key)
    #expect(running.status == 1 && running.errors.contains("stop it first"), "\(running)")
    #expect(try daemon.stop() == 0)
    let file = URL(fileURLWithPath: "\(daemon.statePath)/master.key")
    for isGone in [true, false] {
      if isGone {
        try FileManager.default.removeItem(at: file)
      } else {
        try Data(repeating: 7, count: 32).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
      }
      let command = daemon.commandLine
      let refused = try run(command[0], Array(command.dropFirst()), within: 60)
      #expect(refused.status == 1 && refused.errors.contains("usherctl recover"), "\(refused)")
      var wrong = Array(key)
      wrong[wrong.count - 1] = wrong.last == "0" ? "1" : "0"
      let mistyped = try Self.usherctl(
        ["recover", "--state", daemon.statePath], on: daemon, input: String(wrong))
      #expect(mistyped.status == 1 && mistyped.errors.contains("mistyped"), "\(mistyped)")
      let other = "0000000-0000000-0000000-0000000-0000000-0000000-0000000-007FE2G"
      let refusal = try Self.usherctl(
        ["recover", "--state", daemon.statePath], on: daemon, input: other)
      #expect(refusal.status == 1 && refusal.errors.contains("usherctl: "), "\(refusal)")
      let done = try Self.usherctl(
        ["recover", "--state", daemon.statePath], on: daemon, input: key)
      #expect(done.status == 0, "\(done)")
      try daemon.start()
      #expect(try daemon.client().call("token.get", ["provider": "demo"])["accessToken"] != nil)
      #expect(try daemon.stop() == 0)
    }
    for file in daemon.place.everything() {
      #expect(file.bytes.range(of: Data(key.utf8)) == nil, "\(file.name)")
    }
  }

  @Test(
    "usherctl backup and setup fail while usherd is locked; backup fails while usherd is stopped")
  func locked() throws {
    _ = try daemon.admin().call("system.lock")
    for verb in [["backup", backup], ["setup", "--state", daemon.statePath]] {
      let done = try Self.usherctl(verb, on: daemon)
      #expect(done.status == 75 && done.errors.contains("locked"), "\(done)")
    }
    #expect(try daemon.stop() == 0)
    let done = try Self.usherctl(["backup", backup], on: daemon)
    #expect(done.status == 69, "\(done)")
    #expect(!daemon.place.everything().contains { $0.name.contains("backup") })
  }

  @Test(
    "usherd deletes at its next start a partial backup copy, and a copy that was never fetched",
    .ownProcess)
  func died() throws {
    try daemon.restart(environment: ["USHER_FAILPOINT": "store.copied:1"])
    let done = try Self.usherctl(["backup", backup], on: daemon)
    #expect(done.status == 69, "\(done)")
    #expect(left(daemon).contains { $0.contains(".backup-") })
    try daemon.start(environment: ["USHER_FAILPOINT": ""])
    #expect(left(daemon) == ["master.key", "usherd.db", "usherd.db.lock"])
    let reply = try daemon.admin().call("system.backup")
    let path = reply["path"]?.stringValue ?? ""
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64
    #expect(size == reply["bytes"]?.integerValue)
    try daemon.restart()
    #expect(left(daemon) == ["master.key", "usherd.db", "usherd.db.lock"])
  }

  @Test("usherd does not start after an interrupted restore, and creates no new database")
  func cutShort() throws {
    #expect(try daemon.stop() == 0)
    let database = "\(daemon.statePath)/usherd.db"
    try FileManager.default.moveItem(atPath: database, toPath: database + ".restoring")
    let command = daemon.commandLine
    let refused = try run(command[0], Array(command.dropFirst()), within: 60)
    #expect(refused.status == 1 && refused.errors.contains("usherctl restore again"), "\(refused)")
    #expect(!FileManager.default.fileExists(atPath: database))
  }

  @Test(
    "usherctl recover deletes its copy of the recovery key when it gets SIGTERM or SIGHUP",
    arguments: [SIGTERM, SIGHUP])
  func toldToEnd(_ signal: Int32) throws {
    #expect(try daemon.stop() == 0)
    // A usherd that does not end, so that the signal arrives while usherctl holds the key.
    let script = try daemon.place.write("#!/bin/sh\nexec sleep 60\n", to: "script")
    try daemon.place.install(script, as: "usherd")
    let key = "0000000-0000000-0000000-0000000-0000000-0000000-0000000-007FE2G"
    try daemon.place.write(key, to: "typed")
    let usherctl = try RunningProgram(
      "/bin/sh",
      [
        "-c", "exec env --default-signal=HUP \"$@\" <\(daemon.place.file("typed"))", "sh",
        BuiltProduct.path("usherctl"),
        "recover", "--state", daemon.statePath,
      ],
      environment: [
        "PATH": "\(daemon.place.path):/usr/bin:/bin", "XDG_RUNTIME_DIR": daemon.place.path,
      ],
      log: daemon.place.file("usherctl.log"))
    let isThere = {
      let names = try FileManager.default.contentsOfDirectory(atPath: daemon.place.path)
      return names.contains { $0.hasPrefix("usherctl-") }
    }
    try eventually("the recovery key is in memory") { try isThere() }
    #expect(kill(usherctl.pid, signal) == 0)
    #expect(try usherctl.exitStatus() == 130, "\(usherctl.log)")
    #expect(try !isThere())
  }

  @Test("usherctl restore refuses the backup of a newer usherd and leaves the database unchanged")
  func newer() throws {
    try app.signIn()
    try Self.backUp(daemon)
    let file = URL(fileURLWithPath: backup)
    var bytes = try Data(contentsOf: file)
    bytes.replaceSubrange(60..<64, with: [0, 0, 3, 232])
    try bytes.write(to: file)
    #expect(try daemon.stop() == 0)
    let before = try Data(contentsOf: URL(fileURLWithPath: "\(daemon.statePath)/usherd.db"))
    let refused = try restore([], on: daemon)
    #expect(refused.status == 1 && refused.errors.contains("written by a newer usherd"))
    #expect(refused.errors.contains("the previous database is back in place"), "\(refused)")
    let after = try Data(contentsOf: URL(fileURLWithPath: "\(daemon.statePath)/usherd.db"))
    #expect(before == after)
    #expect(left(daemon) == ["master.key", "usherd.db", "usherd.db.lock"])
    try daemon.start()
    #expect(try daemon.client().call("token.get", ["provider": "demo"])["accessToken"] != nil)
  }
}
