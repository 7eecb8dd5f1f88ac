import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// States on which usherd does not start: it names the reason and the file, and changes nothing.
@Suite("Refusal of a bad state or socket path", .mayBlock, .timeLimit(.minutes(10)))
struct StoreRefusalTests {
  /// A daemon that was used and stopped, so that its state is only the database and the key.
  private let daemon: DaemonUnderTest
  private let database: String
  private let key: String

  init() throws {
    daemon = try DaemonUnderTest(config: "")
    _ = try daemon.admin().call("credential.set", ["name": "a", "value": "b"])
    #expect(try daemon.stop() == 0)
    database = "\(daemon.statePath)/usherd.db"
    key = "\(daemon.statePath)/master.key"
  }

  struct Damage: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let file: String
    let words: String
    let change: @Sendable (inout Data) -> Void
    var mode = 0o600
  }

  static let damages = [
    Damage(
      testDescription: "an overwritten database", file: "usherd.db",
      words: "is damaged, or not an SQLite database",
      change: { $0.replaceSubrange(0..<64, with: Data(repeating: 0x55, count: 64)) }),
    Damage(
      testDescription: "a database overwritten from its second page on", file: "usherd.db",
      words: "damaged",
      change: { $0.replaceSubrange(4096..., with: Data(repeating: 0x55, count: $0.count - 4096)) }),
    Damage(
      testDescription: "another program's database", file: "usherd.db",
      words: "belongs to another program",
      change: { $0.replaceSubrange(68..<72, with: [1, 2, 3, 4]) }),
    Damage(
      testDescription: "the database of a newer usherd", file: "usherd.db",
      words: "was written by a newer usherd",
      change: { $0.replaceSubrange(60..<64, with: [0, 0, 3, 232]) }),
    Damage(
      testDescription: "another database's master key", file: "master.key",
      words: "was sealed under another master key",
      change: { $0 = Data(repeating: 7, count: 32) }),
    Damage(
      testDescription: "a master key that is cut short", file: "master.key",
      words: "has 31 bytes; it must have 32", change: { $0 = Data(repeating: 7, count: 31) }),
    Damage(
      testDescription: "a master key that others can read", file: "master.key",
      words: "must be readable by its owner only", change: { _ in }, mode: 0o644),
  ]

  @Test(
    "usherd does not start on a damaged or foreign state, and names the reason and the file",
    arguments: damages)
  func damage(_ damage: Damage) throws {
    let file = "\(daemon.statePath)/\(damage.file)"
    var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
    damage.change(&bytes)
    try bytes.write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: damage.mode], ofItemAtPath: file)
    // For a key of another database, the error names the database.
    try expectRefusal(damage.words, damage.words.contains("sealed under") ? database : file)
  }

  @Test("a name in a changed database cannot control the terminal on which usherd prints it")
  func controlCharacters() throws {
    let script = """
      import sqlite3, sys
      database = sqlite3.connect(sys.argv[1])
      database.execute('CREATE TABLE "a\\x1b[2J" (x)')
      database.commit()
      """
    let done = try run("/usr/bin/python3", ["-c", script, database])
    #expect(done.status == 0, "\(done.errors)")
    let command = daemon.commandLine + ["--check-store"]
    let check = try run(command[0], Array(command.dropFirst()))
    #expect(check.status == 1)
    #expect(check.errors.contains(#"the table "a\u{1b}[2J" differs"#), "\(check.errors)")
  }

  @Test("usherd does not start on a database without its master key, and creates no new key")
  func missingKey() throws {
    try FileManager.default.removeItem(atPath: key)
    try expectRefusal("the database has no master key", key)
    #expect(!FileManager.default.fileExists(atPath: key))
  }

  @Test("a second usherd does not start on a state in use, and does not disturb the first one")
  func secondOnState() throws {
    try daemon.start()
    var command = daemon.commandLine
    for (option, name) in [("--socket", "u2.sock"), ("--admin-socket", "a2.sock")] {
      command[try #require(command.firstIndex(of: option)) + 1] = daemon.place.file(name)
    }
    let second = try run(command[0], Array(command.dropFirst()))
    #expect(second.status == 1)
    #expect(second.errors.contains("is in use by another usherd"))
    #expect(!FileManager.default.fileExists(atPath: daemon.place.file("u2.sock")))
    try expectAlive()
  }

  @Test(
    "a second usherd does not take a socket that another usherd serves, and does not disturb it")
  func secondOnSocket() throws {
    try daemon.start()
    var command = daemon.commandLine
    let other = try TemporaryDirectory()
    command[try #require(command.firstIndex(of: "--state")) + 1] = other.file("state")
    let second = try run(command[0], Array(command.dropFirst()))
    #expect(second.status == 1)
    #expect(second.errors.contains("another usherd is serving \(daemon.socketPath)"))
    try expectAlive()
  }

  @Test("usherd does not start if its socket path is a regular file, and leaves the file unchanged")
  func fileAtSocket() throws {
    let file = try daemon.place.write("mine", to: "u.sock")
    try expectRefusal("exists and is not a socket", file)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
  }

  @Test("usherd takes over the socket file that a killed usherd has left behind", .ownProcess)
  func leftOver() throws {
    try daemon.start()
    daemon.killAtOnce()
    #expect(FileManager.default.fileExists(atPath: daemon.socketPath))
    try daemon.start()
    try expectAlive()
  }

  @Test("usherd exits with 1 if its state is on a read-only file system, and names that reason")
  func readOnly() throws {
    let place = try TemporaryDirectory()
    let disk = try SmallDisk(in: place)
    let daemon = try DaemonUnderTest(config: "", launcher: disk.launcher, at: place)
    _ = try daemon.admin().call("credential.set", ["name": "a", "value": "b"])
    try daemon.stop()
    try disk.makeReadOnly()
    let command = disk.launcher + daemon.commandLine
    let refused = try run(command[0], Array(command.dropFirst()))
    #expect(refused.status == 1)
    #expect(refused.errors.contains("Read-only file system"), "\(refused.errors)")
  }

  @Test("on a failing disk flow.start starts no flow; when the disk works again a sign-in succeeds")
  func failingDisk() throws {
    let sandbox = try SandboxUnderTest()
    let daemon = try DaemonUnderTest(
      config: sandbox.provider(), launcher: ["/bin/sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"])
    let client = try daemon.client()
    let flow = try client.startFlow()
    // From now on every write fails with EFBIG.
    try limitFiles(of: daemon, "0:unlimited")
    let start: JSONValue = ["provider": "demo", "kind": "authorize", "params": [:]]
    let error = try client.error(of: "flow.start", start)
    #expect(error["data"]?["reason"] == "storage_unavailable")
    #expect(error["message"] == "the disk under the database failed a read or a write")
    #expect(try client.call("flow.list")["flows"]?.arrayValue?.count == 1)
    try limitFiles(of: daemon, "unlimited:unlimited")
    try Person.signIn(at: flow.page())
    #expect(try client.finished(flow)["status"] == "succeeded")
  }

  private func limitFiles(of daemon: DaemonUnderTest, _ limit: String) throws {
    let done = try run("/usr/bin/prlimit", ["--pid", "\(daemon.pid)", "--fsize=\(limit)"])
    try #require(done.status == 0, "\(done.errors)")
  }

  private func expectAlive() throws {
    let entries = try daemon.admin().call("credential.list")["credentials"]?.arrayValue
    #expect(entries?.first?["name"] == "a")
  }

  /// Expects that the daemon does not start and changes nothing.
  ///
  /// - Parameter file: The path that the error must name.
  private func expectRefusal(_ words: String, _ file: String) throws {
    let before = try contents()
    do {
      try daemon.start()
      Issue.record("the daemon started although the store must be refused")
    } catch let failure as TestError {
      #expect(failure.description.contains(words) && failure.description.contains(file))
    }
    #expect(try contents() == before)
  }

  /// The files that must not change; the lock file and SQLite's shared memory hold no data.
  private func contents() throws -> [String: Data] {
    let files = daemon.place.everything().filter { file in
      file.name.hasPrefix("state/") && !file.name.hasSuffix(".lock") && !file.name.hasSuffix("-shm")
    }
    return Dictionary(uniqueKeysWithValues: files.map { ($0.name, $0.bytes) })
      .filter { !$0.key.hasSuffix("-wal") || !$0.value.isEmpty }
  }
}
