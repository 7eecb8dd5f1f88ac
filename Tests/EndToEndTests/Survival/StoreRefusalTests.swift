import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// What usherd does not start on: it says why in a sentence, ends with 1, and changes nothing.
@Suite("a state that is not to be trusted", .mayBlock, .ownProcess)
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
    let words: String
    let change: @Sendable (inout Data) -> Void

    init(_ name: String, _ words: String, _ change: @escaping @Sendable (inout Data) -> Void) {
      testDescription = name
      self.words = words
      self.change = change
    }
  }

  static let damages = [
    Damage("overwritten at its begin", "is damaged, or not an SQLite database") {
      $0.replaceSubrange(0..<64, with: Data(repeating: 0x55, count: 64))
    },
    Damage("cut in the middle", "damaged") { $0 = $0.prefix($0.count / 2) },
    Damage("emptied", "is damaged, or not an SQLite database") { $0 = Data() },
    Damage("overwritten from its second page on", "damaged") {
      $0.replaceSubrange(4096..<$0.count, with: Data(repeating: 0x55, count: $0.count - 4096))
    },
    Damage("another program's", "belongs to another program") {
      $0.replaceSubrange(68..<72, with: [1, 2, 3, 4])
    },
    Damage("of a newer usherd", "was written by a newer usherd") {
      $0.replaceSubrange(60..<64, with: [0, 0, 3, 232])
    },
  ]

  @Test("a database that is …", arguments: damages)
  func damage(_ damage: Damage) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: database))
    damage.change(&bytes)
    try bytes.write(to: URL(fileURLWithPath: database))
    try expectRefusal(damage.words, database)
  }

  @Test("another database's master key")
  func foreignKey() throws {
    try Data(repeating: 7, count: 32).write(to: URL(fileURLWithPath: key))
    try expectRefusal("was sealed under another master key", database)
  }

  @Test("a database whose master key is gone does not get a new one")
  func missingKey() throws {
    try FileManager.default.removeItem(atPath: key)
    try expectRefusal("there is a store but no master key", key)
    #expect(!FileManager.default.fileExists(atPath: key))
  }

  @Test("a master key that others can read")
  func openKey() throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
    try expectRefusal("must be readable by its owner only", key)
  }

  @Test("a master key that is cut short")
  func shortKey() throws {
    try Data(repeating: 7, count: 31).write(to: URL(fileURLWithPath: key))
    try expectRefusal("has 31 bytes, and must have 32", key)
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
    let other = try Workplace()
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

  @Test("a socket that a killed usherd left over is taken")
  func leftOver() throws {
    try daemon.start()
    daemon.killAtOnce()
    #expect(FileManager.default.fileExists(atPath: daemon.socketPath))
    try daemon.start()
    try expectAlive()
  }

  @Test("a state on a read-only file system")
  func readOnly() throws {
    let place = try Workplace()
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
    let command = daemon.commandLine
    let refused = try run(command[0], Array(command.dropFirst()), within: 60)
    #expect(refused.status == 1)
    let lines = refused.errors.split(separator: "\n")
    #expect(lines.last?.hasPrefix("usherd: ") == true, "\(refused.errors)")
    #expect(refused.errors.contains(words), "\(refused.errors)")
    #expect(refused.errors.contains(file), "\(refused.errors)")
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
