import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// TPM2 is not tested: sealed is by the host's own key.
@Suite(
  "the sealed master key", .mayBlock, .serialized, .whereSystemsBoot, .ownSystem(),
  .timeLimit(.minutes(10)))
struct SealedKeyTests {
  enum Mishap: String, CaseIterable, CustomTestStringConvertible {
    case name = "for another name"
    case host = "by another host"

    var testDescription: String { rawValue }
  }

  private static let sealed = "/etc/credstore.encrypted/usherd.master-key"
  private static let keyFile = ServiceScene.state + "/master.key"
  private static let backup = "/root/usherd.backup"

  private let scene: ServiceScene

  init() throws {
    scene = try ServiceScene.here()
    try scene.system.run("systemctl", "stop", "usherd.service")
    try scene.system.run("systemctl", "reset-failed")
    try scene.system.run("rm", "-rf", ServiceScene.state, Self.sealed, Self.backup)
  }

  @Test("setup seals the key there is and makes a recovery key; run again it changes nothing")
  func setup() throws {
    try scene.signIn(scene.client())
    let token = try scene.token(scene.client())
    #expect(try scene.identity(of: Self.keyFile).contains(" usherd:usherd 600 "))
    let recoveryKey = try setUp()
    #expect(recoveryKey.count(where: { $0 == "-" }) >= 7, "\(recoveryKey)")
    #expect(try scene.outcome("test", "-e", Self.keyFile).status == 1)
    #expect(try scene.identity(of: Self.sealed).contains(" root:root 600 "))
    try scene.system.run("systemctl", "restart", "usherd.service")
    #expect(try scene.token(scene.client()) == token)
    let status = try scene.admin().call("system.status")
    #expect(status["masterKey"]?.stringValue?.contains("credential") == true, "\(status.text)")
    #expect(status["hasRecoveryKey"] == true)
    let (sum, process) = (try scene.system.run("sha256sum", Self.sealed), try scene.process())
    let again = try scene.outcome("usherctl", "setup")
    #expect(again.status == 0 && !again.output.contains(recoveryKey.prefix(15)), "\(again)")
    #expect(try scene.system.run("sha256sum", Self.sealed) == sum)
    #expect(try scene.process() == process)
    #expect(!scene.journal.contains(recoveryKey.prefix(15)))
  }

  @Test(
    "one that is sealed otherwise is refused with what to do, and that mends it",
    arguments: Mishap.allCases)
  func mishap(_ mishap: Mishap) throws {
    let recoveryKey = try setUp()
    try scene.signIn(scene.client())
    let token = try scene.token(scene.client())
    try bring(mishap)
    #expect(try scene.outcome("systemctl", "restart", "usherd.service").status != 0)
    #expect(try scene.property("ExecMainStatus") == "243", "systemd does not even start it")
    let setup = try scene.outcome("usherctl", "setup")
    #expect(setup.status != 0 && setup.output.contains("usherctl recover"), "\(setup)")
    try scene.system.run("systemctl", "reset-failed")
    let mistyped = try scene.outcome(
      ["usherctl", "recover"], input: "2" + recoveryKey.dropFirst(2) + "0\n")
    #expect(mistyped.status != 0 && mistyped.output.contains("recovery key"), "\(mistyped)")
    let recovered = try scene.outcome(["usherctl", "recover"], input: recoveryKey + "\n")
    #expect(recovered.status == 0, "\(recovered) \(scene.journal)")
    #expect(try scene.token(scene.client()) == token)
    #expect(try scene.outcome("test", "-e", Self.keyFile).status == 1)
    try scene.system.run("systemctl", "restart", "usherd.service")
    #expect(try scene.token(scene.client()) == token)
    let left = try scene.outcome("ls", "/run/credstore")
    #expect(!left.output.contains("recovery-key"), "\(left)")
  }

  private func bring(_ mishap: Mishap) throws {
    switch mishap {
    case .name:
      try scene.system.run(
        "sh", "-c",
        """
        set -e
        systemd-creds decrypt --name=usherd.master-key "$1" - >/run/plain
        systemd-creds encrypt --with-key=host --name=usherd.other-key /run/plain "$1.new"
        mv "$1.new" "$1"
        rm /run/plain
        """, "sh", Self.sealed)
    case .host:
      try scene.system.run("rm", "/var/lib/systemd/credential.secret")
      try scene.system.run("systemd-creds", "setup")
    }
  }

  @Test("a backup brings back what was forgotten since; on another host by the recovery key")
  func backup() throws {
    let recoveryKey = try setUp()
    let account = try scene.signIn(scene.client())["result"]?["account"] ?? .null
    let token = try scene.token(scene.client())
    try scene.system.run("usherctl", "backup", Self.backup)
    #expect(try scene.identity(of: Self.backup).contains(" root:root 600 "))
    _ = try scene.client().call("account.forget", ["account": account])
    let restored = try scene.outcome("usherctl", "restore", Self.backup)
    #expect(restored.status == 0, "\(restored) \(scene.journal)")
    #expect(try scene.token(scene.client()) == token)
    #expect(try scene.outcome("test", "-e", ServiceScene.database + ".before-restore").status == 0)

    let other = try ServiceScene()
    // What is there already is put aside.
    try other.signIn(other.client())
    let others = try other.token(other.client())
    try other.system.copy(scene.system.path(Self.backup), to: Self.backup)
    let refused = try other.outcome("usherctl", "restore", Self.backup)
    #expect(refused.status != 0 && refused.output.contains("--recovery-key"), "\(refused)")
    #expect(try other.token(other.client()) == others)
    let moved = try other.outcome(
      ["usherctl", "restore", "--recovery-key", Self.backup], input: recoveryKey + "\n")
    #expect(moved.status == 0, "\(moved) \(other.journal)")
    #expect(try other.token(other.client()) == token)
    #expect(try other.system.powerOff() == 0)
  }

  /// - Returns: The recovery key.
  private func setUp() throws -> String {
    let said = try scene.system.run("usherctl", "setup", within: 60)
    return said.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
