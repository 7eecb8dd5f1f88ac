import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The master key is sealed with the host's key; sealing with a TPM2 is not tested.
@Suite(
  "The sealed master key", .mayBlock, .serialized, .whereSystemsBoot, .ownSystem(),
  .timeLimit(.minutes(10)))
struct SealedKeyTests {
  enum Mishap: String, CaseIterable, CustomTestStringConvertible {
    case name = "for another name"
    case host = "by another host"

    var testDescription: String { rawValue }
  }

  private static let sealed = "/etc/credstore.encrypted/usherd.master-key"
  private static let keyFile = ServiceFixture.state + "/master.key"
  private static let backup = "/root/usherd.backup"

  private let fixture: ServiceFixture

  init() throws {
    fixture = try ServiceFixture.here()
    try fixture.system.run("systemctl", "stop", "usherd.service")
    try fixture.system.run("systemctl", "reset-failed")
    try fixture.system.run("rm", "-rf", ServiceFixture.state, Self.sealed, Self.backup)
  }

  @Test(
    "usherctl setup seals the existing key and prints a recovery key; a second run changes nothing")
  func setup() throws {
    try fixture.signIn(fixture.client())
    let token = try fixture.token(fixture.client())
    #expect(try fixture.identity(of: Self.keyFile).contains(" usherd:usherd 600 "))
    let recoveryKey = try setUp()
    #expect(recoveryKey.count(where: { $0 == "-" }) >= 7, "\(recoveryKey)")
    #expect(try fixture.outcome("test", "-e", Self.keyFile).status == 1)
    #expect(try fixture.identity(of: Self.sealed).contains(" root:root 600 "))
    try fixture.system.run("systemctl", "restart", "usherd.service")
    #expect(try fixture.token(fixture.client()) == token)
    let status = try fixture.admin().call("system.status")
    #expect(status["masterKey"]?.stringValue?.contains("credential") == true, "\(status.text)")
    #expect(status["hasRecoveryKey"] == true)
    let (sum, process) = (try fixture.system.run("sha256sum", Self.sealed), try fixture.process())
    let again = try fixture.outcome("usherctl", "setup")
    #expect(again.status == 0 && !again.output.contains(recoveryKey.prefix(15)), "\(again)")
    #expect(try fixture.system.run("sha256sum", Self.sealed) == sum)
    #expect(try fixture.process() == process)
    #expect(!fixture.journal.contains(recoveryKey.prefix(15)))
  }

  @Test(
    "a key sealed for another name or host keeps usherd from starting until usherctl recover has run",
    arguments: Mishap.allCases)
  func mishap(_ mishap: Mishap) throws {
    let recoveryKey = try setUp()
    try fixture.signIn(fixture.client())
    let token = try fixture.token(fixture.client())
    try bring(mishap)
    #expect(try fixture.outcome("systemctl", "restart", "usherd.service").status != 0)
    #expect(try fixture.property("ExecMainStatus") == "243", "usherd must not be executed")
    let setup = try fixture.outcome("usherctl", "setup")
    #expect(setup.status != 0 && setup.output.contains("usherctl recover"), "\(setup)")
    try fixture.system.run("systemctl", "reset-failed")
    let mistyped = try fixture.outcome(
      ["usherctl", "recover"], input: "2" + recoveryKey.dropFirst(2) + "0\n")
    #expect(mistyped.status != 0 && mistyped.output.contains("recovery key"), "\(mistyped)")
    let recovered = try fixture.outcome(["usherctl", "recover"], input: recoveryKey + "\n")
    #expect(recovered.status == 0, "\(recovered) \(fixture.journal)")
    #expect(try fixture.token(fixture.client()) == token)
    #expect(try fixture.outcome("test", "-e", Self.keyFile).status == 1)
    try fixture.system.run("systemctl", "restart", "usherd.service")
    #expect(try fixture.token(fixture.client()) == token)
    let left = try fixture.outcome("ls", "/run/credstore")
    #expect(!left.output.contains("recovery-key"), "\(left)")
  }

  private func bring(_ mishap: Mishap) throws {
    switch mishap {
    case .name:
      try fixture.system.run(
        "sh", "-c",
        """
        set -e
        systemd-creds decrypt --name=usherd.master-key "$1" - >/run/plain
        systemd-creds encrypt --with-key=host --name=usherd.other-key /run/plain "$1.new"
        mv "$1.new" "$1"
        rm /run/plain
        """, "sh", Self.sealed)
    case .host:
      try fixture.system.run("rm", "/var/lib/systemd/credential.secret")
      try fixture.system.run("systemd-creds", "setup")
    }
  }

  @Test("usherctl restore brings back a forgotten account, on another host with the recovery key")
  func backup() throws {
    let recoveryKey = try setUp()
    let account = try fixture.signIn(fixture.client())["result"]?["account"] ?? .null
    let token = try fixture.token(fixture.client())
    try fixture.system.run("usherctl", "backup", Self.backup)
    #expect(try fixture.identity(of: Self.backup).contains(" root:root 600 "))
    _ = try fixture.client().call("account.forget", ["account": account])
    let restored = try fixture.outcome("usherctl", "restore", Self.backup)
    #expect(restored.status == 0, "\(restored) \(fixture.journal)")
    #expect(try fixture.token(fixture.client()) == token)
    #expect(
      try fixture.outcome("test", "-e", ServiceFixture.database + ".before-restore").status == 0)

    let other = try ServiceFixture()
    // A refused restore must keep the tokens that the other host already has.
    try other.signIn(other.client())
    let others = try other.token(other.client())
    try other.system.copy(fixture.system.path(Self.backup), to: Self.backup)
    let refused = try other.outcome("usherctl", "restore", Self.backup)
    #expect(refused.status != 0 && refused.output.contains("--recovery-key"), "\(refused)")
    #expect(try other.token(other.client()) == others)
    let moved = try other.outcome(
      ["usherctl", "restore", "--recovery-key", Self.backup], input: recoveryKey + "\n")
    #expect(moved.status == 0, "\(moved) \(other.journal)")
    #expect(try other.token(other.client()) == token)
    #expect(try other.system.powerOff() == 0)
  }

  /// Runs `usherctl setup`.
  ///
  /// - Returns: The recovery key.
  private func setUp() throws -> String {
    let said = try fixture.system.run("usherctl", "setup", within: 60)
    return said.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
