import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherTestKit

/// A host is lost, or its master key, and everything is there again: by real daemons run by hand.
@Suite("backup, restore, recover", .mayBlock, .timeLimit(.minutes(10)))
struct BackupTests {
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest
  private let app: RawClient

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(config: sandbox.provider())
    app = try daemon.client()
  }

  private final class End: Sendable {
    let hasCome = Mutex(false)
  }

  private var backup: String { daemon.place.file("backup") }

  /// usherctl, with usherd in its `PATH`.
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

  private static func backUp(_ daemon: DaemonUnderTest, more options: [String] = []) throws {
    let done = try usherctl(["backup", daemon.place.file("backup")] + options, on: daemon)
    try must(done.status == 0, "\(done)")
  }

  /// A daemon on another host: with another master key, once used and stopped.
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

  @Test("on a new host the printed key opens the backup, once: flows, tokens and audit are there")
  func newHost() throws {
    try app.signIn()
    let flow = try app.startFlow()
    let key = try recoveryKey()
    try Self.backUp(daemon)
    #expect(left(daemon) == ["master.key", "usherd.db", "usherd.db.lock"])
    // What comes after the backup is not in it.
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
    // Its own master key opens it from now on.
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
    #expect(names.isEmpty, "the other host's own are aside")
    #expect(left(other).contains("usherd.db.before-restore"))
    #expect(try admin.call("system.status")["hasRecoveryKey"] == true)
  }

  @Test("where the key file is gone or another, recover brings the database under a new one")
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

  @Test("setup makes a recovery key once, and another when that is asked for; the old one is void")
  func recoveryKeys() throws {
    let first = try recoveryKey()
    #expect(first.split(separator: "-").map(\.count) == Array(repeating: 7, count: 8))
    let again = try Self.usherctl(["setup", "--state", daemon.statePath], on: daemon)
    #expect(again.status == 0 && again.output == "", "\(again)")
    let second = try Self.usherctl(
      ["setup", "--new-recovery-key", "--state", daemon.statePath], on: daemon)
    #expect(second.status == 0 && second.output.count == 64 && !second.output.contains(first))
    let status = try Self.usherctl(["status", "--admin"], on: daemon)
    #expect(status.output.contains("recovery key") && status.output.contains("there is one"))
    let admin = try daemon.admin()
    #expect(try admin.reason(of: "key.createRecovery") == "conflict")
    #expect(try app.reason(of: "key.createRecovery") == "method_not_found")
    #expect(try app.reason(of: "system.backup") == "method_not_found")
    #expect(try app.call("system.status")["hasRecoveryKey"] == nil)
    // It is told that it was asked for, and not what it is.
    var rows: [JSONValue] = []
    try eventually("three calls are in the audit") {
      rows = try admin.call("audit.list")["rows"]?.arrayValue ?? []
      return rows.filter { $0["method"] == "key.createRecovery" }.count == 3
    }
    #expect(!rows.map(\.text).joined().contains(first) && !daemon.log.contains(first))
    #expect(try daemon.stop() == 0)
    try FileManager.default.removeItem(atPath: "\(daemon.statePath)/master.key")
    let old = try Self.usherctl(["recover", "--state", daemon.statePath], on: daemon, input: first)
    #expect(old.status == 1, "\(old)")
    #expect(!FileManager.default.fileExists(atPath: "\(daemon.statePath)/master.key"))
    let new = try Self.usherctl(
      ["recover", "--state", daemon.statePath], on: daemon, input: second.output)
    #expect(new.status == 0, "\(new)")
  }

  @Test("locked it makes no backup and no key; stopped, nobody does")
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
    "a daemon that dies in a backup leaves nothing when it is back; a copy nobody fetched goes too",
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

  @Test(
    "a database and its log that were put aside come back with all that was in the log",
    .ownProcess)
  func logAside() throws {
    try Self.backUp(daemon)
    for name in ["a", "b", "c"] {
      _ = try daemon.admin().call("credential.set", ["name": .string(name), "value": "v"])
    }
    daemon.killAtOnce()
    #expect(FileManager.default.fileExists(atPath: "\(daemon.statePath)/usherd.db-wal"))
    for file in [backup, "\(daemon.statePath)/usherd.db.before-restore"] {
      let done = try Self.usherctl(["restore", "--state", daemon.statePath, file], on: daemon)
      #expect(done.status == 0, "\(done)")
    }
    try daemon.start()
    let kept = try daemon.admin().call("credential.list")["credentials"]?.arrayValue ?? []
    #expect(kept.compactMap { $0["name"]?.stringValue }.sorted() == ["a", "b", "c"])
  }

  @Test("where a restore was cut short no new database is made")
  func cutShort() throws {
    #expect(try daemon.stop() == 0)
    let database = "\(daemon.statePath)/usherd.db"
    try FileManager.default.moveItem(atPath: database, toPath: database + ".restoring")
    let command = daemon.commandLine
    let refused = try run(command[0], Array(command.dropFirst()), within: 60)
    #expect(refused.status == 1 && refused.errors.contains("usherctl restore again"), "\(refused)")
    #expect(!FileManager.default.fileExists(atPath: database))
  }

  @Test("who is told to end takes the recovery key out of memory", arguments: [SIGTERM, SIGHUP])
  func toldToEnd(_ signal: Int32) throws {
    #expect(try daemon.stop() == 0)
    // One that never comes to an end, so that it is told while it has the key.
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

  struct Damage: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let words: String
    let range: Range<Int>
    let bytes: [UInt8]
  }

  static let damages = [
    Damage(
      testDescription: "of a newer usherd", words: "was written by a newer usherd", range: 60..<64,
      bytes: [0, 0, 3, 232]),
    Damage(
      testDescription: "damaged in the middle", words: "damaged", range: 4096..<16384,
      bytes: [UInt8](repeating: 0x55, count: 16384 - 4096)),
  ]

  @Test("a backup that does not open leaves the database as it was", arguments: damages)
  func damaged(_ damage: Damage) throws {
    try app.signIn()
    try Self.backUp(daemon)
    let file = URL(fileURLWithPath: backup)
    var bytes = try Data(contentsOf: file)
    bytes.replaceSubrange(damage.range, with: damage.bytes)
    try bytes.write(to: file)
    #expect(try daemon.stop() == 0)
    let before = try Data(contentsOf: URL(fileURLWithPath: "\(daemon.statePath)/usherd.db"))
    let refused = try restore([], on: daemon)
    #expect(refused.status == 1 && refused.errors.contains(damage.words), "\(refused)")
    #expect(refused.errors.contains("the database is as it was"), "\(refused)")
    let after = try Data(contentsOf: URL(fileURLWithPath: "\(daemon.statePath)/usherd.db"))
    #expect(before == after)
    #expect(left(daemon) == ["master.key", "usherd.db", "usherd.db.lock"])
    try daemon.start()
    #expect(try daemon.client().call("token.get", ["provider": "demo"])["accessToken"] != nil)
  }

  @Test("a full disk leaves no half of anything, neither of a backup nor of a database")
  func fullDisk() throws {
    try Self.backUp(daemon)
    let folder = (BuiltProduct.path("usherctl") as NSString).deletingLastPathComponent
    // From now on every write beyond 32 KiB fails.
    let limited = "trap '' XFSZ; ulimit -f 64; exec \"$@\""
    for verb in [["backup", backup + "2"], ["restore", "--state", daemon.statePath, backup]] {
      let done = try run(
        "/bin/sh",
        ["-c", limited, "sh", "\(folder)/usherctl", "--admin-socket", daemon.adminSocketPath] + verb
      )
      #expect(
        done.status == 1 && done.errors.contains("cannot be written: File too large"), "\(done)")
      #expect(left(daemon) == ["master.key", "usherd.db", "usherd.db.lock"])
    }
    #expect(!daemon.place.everything().contains { $0.name.contains("backup2") })
  }

  @Test("backups under writing callers open, each as of one moment")
  func underWrites() throws {
    let key = try recoveryKey()
    let (daemon, end) = (daemon, End())
    _ = try atOnce(0..<5) { number in
      guard number < 4 else {
        defer { end.hasCome.withLock { $0 = true } }
        for _ in 0..<5 { try Self.backUp(daemon, more: ["--force"]) }
        return
      }
      let admin = try daemon.admin()
      var count = 0
      while !end.hasCome.withLock({ $0 }) {
        count += 1
        let name = "w\(number)-\(count)"
        _ = try admin.call("credential.set", ["name": .string(name), "value": "v"])
      }
    }
    let other = try otherHost()
    #expect(try restore(["--recovery-key"], on: other, input: key).status == 0)
    try other.start()
    let kept = try other.admin().call("credential.list")["credentials"]?.arrayValue ?? []
    let names = Set(kept.compactMap { $0["name"]?.stringValue })
    // Each writer's are there without gaps: as they were acknowledged.
    for writer in 0..<4 {
      let count = names.filter { $0.hasPrefix("w\(writer)-") }.count
      #expect(count > 0 && (1...count).allSatisfy { names.contains("w\(writer)-\($0)") })
    }
  }
}
