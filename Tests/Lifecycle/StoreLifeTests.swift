import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Databases of other releases", .mayBlock, .serialized, .whereSystemsBoot, .ownSystem(),
  .timeLimit(.minutes(10)))
struct StoreLifeTests {
  private let fixture: ServiceFixture

  init() throws { fixture = try ServiceFixture.here() }

  @Test(
    "usherd upgrades the database of any released schema to the present one",
    arguments: [1, 2, 3, 4])
  func upgrade(_ schema: Int) throws {
    try begin(with: schema)
    #expect(try fixture.client().call("system.status")["ready"] == true, "\(fixture.journal)")
    let credentials = try fixture.admin().call("credential.list")["credentials"]
    #expect(credentials?.text.contains("work-client-secret") == true)
    #expect(try (schemaNow() ?? 0) >= 5)
    try fixture.signIn(fixture.client())
  }

  @Test(
    "usherd refuses the database of a newer release, names both schemas and leaves it unchanged")
  func downgrade() throws {
    try begin(with: 1)
    _ = try fixture.client().call("system.status")
    let known = try #require(try schemaNow())
    try fixture.system.run("systemctl", "stop", "usherd.service")
    try database("PRAGMA user_version = \(known + 7)")
    let sum = try fixture.system.run("sha256sum", ServiceFixture.database)
    let lastReady = try fixture.property("ActiveEnterTimestampMonotonic")
    #expect(try fixture.outcome("systemctl", "start", "usherd.service").status != 0)
    try fixture.daemon("says why") {
      fixture.journal.contains("its schema is \(known + 7), this one knows \(known)")
    }
    try fixture.system.run("systemctl", "stop", "usherd.service")
    #expect(try fixture.property("ActiveEnterTimestampMonotonic") == lastReady)
    #expect(try fixture.system.run("sha256sum", ServiceFixture.database) == sum)
    try database("PRAGMA user_version = \(known)")
    #expect(try fixture.client().call("system.status")["ready"] == true)
  }

  /// Replaces the state by the database of a released schema; the next call starts the daemon.
  private func begin(with schema: Int) throws {
    try fixture.system.run("systemctl", "stop", "usherd.service")
    try fixture.system.run("systemctl", "reset-failed")
    let state = ServiceFixture.state
    try fixture.system.run("rm", "-rf", state)
    try fixture.system.run("install", "-d", "-m", "0700", state)
    try fixture.system.copy(
      ServiceFixture.file("../UsherStoreTests/Fixtures/schema-\(schema).db"),
      to: ServiceFixture.database)
    // The master key of the store's tests.
    try Data((0..<32).map { UInt8($0) }).write(
      to: URL(fileURLWithPath: fixture.system.path(state + "/master.key")))
    try fixture.system.run("chmod", "0600", ServiceFixture.database, state + "/master.key")
    try fixture.system.run("chown", "-R", "usherd:usherd", state)
    // Remove the samples of the store's tests that only the store can read; keep the credential.
    let samples = [
      "flows", "journal", "requests", "accounts", "tokens", "consents", "local_auth",
      "confirmations",
    ]
    let tables = try database("SELECT name FROM sqlite_schema").split(separator: "\n")
    for name in samples where tables.contains(Substring(name)) {
      try database("DELETE FROM \(name)")
    }
    if tables.contains("notes") { try database("DELETE FROM notes WHERE name = 'lock'") }
  }

  @discardableResult
  private func database(_ statement: String) throws -> String {
    try fixture.run(as: "usherd", "sqlite3", ServiceFixture.database, statement)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private func schemaNow() throws -> Int? { Int(try database("PRAGMA user_version")) }
}
