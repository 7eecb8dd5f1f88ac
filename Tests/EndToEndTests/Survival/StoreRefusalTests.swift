import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// What usherd does not start on: it says why in a sentence, ends with 1, and changes nothing.
@Suite("a state that is not to be trusted", .mayBlock)
struct StoreRefusalTests {
  /// Once used and stopped in order, so that database and key stand alone.
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
      words: "has 31 bytes, and must have 32", change: { $0 = Data(repeating: 7, count: 31) }),
    Damage(
      testDescription: "a master key that others can read", file: "master.key",
      words: "must be readable by its owner only", change: { _ in }, mode: 0o644),
  ]

  @Test("a state with this is refused, and named", arguments: damages)
  func damage(_ damage: Damage) throws {
    let file = "\(daemon.statePath)/\(damage.file)"
    var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
    damage.change(&bytes)
    try bytes.write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: damage.mode], ofItemAtPath: file)
    // Of a key that does not fit it is the database that cannot be opened.
    try expectRefusal(damage.words, damage.words.contains("sealed under") ? database : file)
  }

  @Test("a database whose master key is gone does not get a new one")
  func missingKey() throws {
    try FileManager.default.removeItem(atPath: key)
    try expectRefusal("there is a store but no master key", key)
    #expect(!FileManager.default.fileExists(atPath: key))
  }

  @Test("a state that another usherd works on; that one is not disturbed")
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

  @Test("a socket that somebody serves is not taken from him")
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

  @Test("a file that stands where the socket should be is left alone")
  func fileAtSocket() throws {
    let file = try daemon.place.write("mine", to: "u.sock")
    try expectRefusal("is in the way: it is not a socket", file)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
  }

  @Test("a socket that a killed usherd left over is taken", .ownProcess)
  func leftOver() throws {
    try daemon.start()
    daemon.killAtOnce()
    #expect(FileManager.default.fileExists(atPath: daemon.socketPath))
    try daemon.start()
    try expectAlive()
  }

  @Test("a state on a read-only file system")
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

  @Test("a disk that fails while it runs: nothing is acknowledged, and it recovers")
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

  /// - Parameter file: Has to be named.
  private func expectRefusal(_ words: String, _ file: String) throws {
    let before = try contents()
    do {
      try daemon.start()
      Issue.record("it has started")
    } catch let failure as TestError {
      #expect(failure.description.contains(words) && failure.description.contains(file))
    }
    #expect(try contents() == before)
  }

  /// What must not change: the lock and SQLite's shared memory hold nothing.
  private func contents() throws -> [String: Data] {
    let files = daemon.place.everything().filter { file in
      file.name.hasPrefix("state/") && !file.name.hasSuffix(".lock") && !file.name.hasSuffix("-shm")
    }
    return Dictionary(uniqueKeysWithValues: files.map { ($0.name, $0.bytes) })
      .filter { !$0.key.hasSuffix("-wal") || !$0.value.isEmpty }
  }
}
