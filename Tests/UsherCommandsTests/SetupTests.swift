import FoundationEssentials
import Glibc
import JSONRPC
import Synchronization
import Testing
import UsherCommands

@Suite("usherctl setup")
struct SetupTests {
  private let machine: FakeMachine
  private let key = (0..<32).map { UInt8($0 &+ 200) }
  private var hexadecimal: String { key.map { String($0, radix: 16) }.joined() }

  init() throws { machine = try FakeMachine() }

  /// A daemon that made itself a key file.
  private func started(active: Bool = true) throws {
    try machine.write(key, to: machine.keyFile)
    try machine.write(FakeMachine.database("old"), to: machine.database)
    machine.state.withLock { $0.isActive = active }
  }

  private func sealed() -> String? {
    machine.read(machine.sealed).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("where nothing is yet it seals a random key, starts the daemon, and prints a recovery key")
  func fresh() async throws {
    let done = try await machine.usherctl(
      ["setup"], asking: [.keys(hasRecoveryKey: false), .recoveryKey])
    #expect(done.status == 0, "\(done)")
    #expect(done.output == "AAAA-BBBB\n")
    #expect(done.error.contains("write it down"))
    let text = try #require(self.sealed())
    #expect(text.hasPrefix("this|usherd.master-key|") && text.count == 23 + 64)
    var status = stat()
    #expect(stat(machine.sealed, &status) == 0 && status.st_mode & 0o7777 == 0o600)
    #expect(machine.names(machine.places.sealed) == ["usherd.master-key"])
    #expect(machine.names(machine.places.state) == [])
    #expect(machine.runs.last == "systemctl start usherd.socket usherd-admin.socket usherd.service")
  }

  @Test("a key file becomes the credential, and goes when the daemon runs by it")
  func keyFile() async throws {
    try started()
    let done = try await machine.usherctl(
      ["setup"], asking: [.keys(hasRecoveryKey: false), .recoveryKey])
    #expect(done.status == 0, "\(done)")
    #expect(sealed() == "this|usherd.master-key|\(hexadecimal)")
    #expect(machine.read(machine.keyFile) == nil)
    #expect(machine.runs.contains("systemctl restart usherd.service"))
    // It is seen to open before anything is removed, and is in no command line.
    let order = machine.runs.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
    #expect(order.prefix(2) == ["systemd-creds encrypt", "systemd-creds decrypt"])
    #expect(!machine.runs.joined().contains(hexadecimal))
    #expect(!(done.output + done.error).contains(hexadecimal))
  }

  @Test("a daemon that began before is stopped, and the key that it made is the one that is sealed")
  func race() async throws {
    let (machine, key) = (machine, key)
    machine.state.withLock { state in
      state.isActive = true
      // It has made its key and its database by the time it has stopped.
      state.before = { [weak machine] line in
        guard let machine, line.hasPrefix("systemctl stop") else { return }
        try? machine.write(key, to: machine.keyFile)
        try? machine.write(FakeMachine.database("its"), to: machine.database)
      }
    }
    let done = try await machine.usherctl(
      ["setup"], asking: [.keys(hasRecoveryKey: false), .recoveryKey])
    #expect(done.status == 0 && sealed()?.hasSuffix(hexadecimal) == true, "\(done)")
    #expect(machine.read(machine.keyFile) == nil)
    // Nothing could start it while the key was made.
    let runs = machine.runs
    let stop = runs.firstIndex { $0.hasPrefix("systemctl stop usherd.socket") }
    let start = runs.firstIndex { $0.hasPrefix("systemctl start") }
    let seal = runs.firstIndex { $0.hasPrefix("systemd-creds encrypt") }
    #expect(try #require(stop) < #require(seal) && #require(seal) < #require(start))
  }

  @Test("where no key can be made the sockets listen again")
  func cannotMake() async throws {
    machine.state.withLock { state in
      state.isActive = true
      state.creds = "No TPM2 here"
    }
    let done = try await machine.usherctl(["setup"])
    #expect(done.status == 1 && done.error.contains("No TPM2 here"), "\(done)")
    #expect(machine.runs.last == "systemctl start usherd.socket usherd-admin.socket")
  }

  @Test("of a daemon that does not start, and two keys, it says what to do")
  func twoKeys() async throws {
    try started(active: false)
    try machine.seal([UInt8](repeating: 1, count: 32))
    machine.state.withLock { $0.refusal = { "was sealed under another master key" } }
    let done = try await machine.usherctl(["setup"])
    #expect(done.status == 1 && done.error.contains("was sealed under another"), "\(done)")
    #expect(done.error.contains("mv \(machine.sealed) \(machine.sealed).other"), "\(done)")
    #expect(machine.read(machine.keyFile) == key)
  }

  @Test("one that began to start before there was the credential is started anew")
  func starting() async throws {
    try started(active: false)
    let done = try await machine.usherctl(
      ["setup"],
      asking: [
        .keys("key file \(machine.keyFile)", hasRecoveryKey: false), .keys(hasRecoveryKey: false),
        .recoveryKey,
      ])
    #expect(done.status == 0 && machine.read(machine.keyFile) == nil, "\(done)")
    #expect(machine.runs.contains("systemctl restart usherd.service"))
  }

  @Test("root's status tells of a recovery key that was left, unless somebody is at it")
  func leftKey() async throws {
    try machine.seal(key)
    mkdir(machine.places.passing, 0o700)
    let left = machine.places.passing + "/usherd.recovery-key"
    try machine.write([1], to: left)
    let status = ["status", "--admin"]
    let told = try await machine.usherctl(status, asking: [.keys(hasRecoveryKey: true)])
    #expect(told.status == 0 && told.error.contains("is left in \(left)"), "\(told)")
    let user = try await machine.usherctl(
      status, user: 1000, asking: [.keys(hasRecoveryKey: true)])
    #expect(user.error == "", "\(user)")
    let lock = open(machine.places.sealed, O_RDONLY | O_DIRECTORY)
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX) == 0)
    let busy = try await machine.usherctl(status, asking: [.keys(hasRecoveryKey: true)])
    #expect(busy.error == "" && machine.read(left) == [1], "\(busy)")
  }

  @Test("run again it says what is there and changes nothing; a recovery key left over goes")
  func again() async throws {
    try machine.seal(key)
    mkdir(machine.places.passing, 0o700)
    try machine.write([1], to: machine.places.passing + "/usherd.recovery-key")
    machine.state.withLock { $0.isActive = true }
    let before = sealed()
    let done = try await machine.usherctl(["setup"], asking: [.keys(hasRecoveryKey: true)])
    #expect(done.status == 0 && done.output == "", "\(done)")
    #expect(done.error.contains("sealed already") && done.error.contains("--new-recovery-key"))
    #expect(sealed() == before && machine.names(machine.places.passing) == [])
    #expect(!machine.runs.contains { $0.contains("encrypt") || $0.contains("restart") })
  }

  @Test("killed after the sealing, it goes on: the file is the same key, and goes")
  func killedLate() async throws {
    try started()
    try machine.seal(key)
    let done = try await machine.usherctl(
      ["setup"],
      asking: [
        .keys("key file \(machine.keyFile)", hasRecoveryKey: false), .keys(hasRecoveryKey: false),
        .recoveryKey,
      ])
    #expect(done.status == 0, "\(done)")
    #expect(machine.read(machine.keyFile) == nil)
    #expect(machine.runs.contains("systemctl restart usherd.service"))
  }

  @Test("killed while sealing, it seals anew")
  func killedEarly() async throws {
    try started()
    mkdir(machine.places.sealed, 0o700)
    try machine.write([1, 2, 3], to: machine.sealed + ".new")
    let done = try await machine.usherctl(
      ["setup"], asking: [.keys(hasRecoveryKey: true)])
    #expect(done.status == 0, "\(done)")
    #expect(machine.names(machine.places.sealed) == ["usherd.master-key"])
    #expect(sealed()?.hasSuffix(hexadecimal) == true)
  }

  @Test("a key file that is another key than the sealed one stays")
  func otherFile() async throws {
    try started()
    try machine.seal([UInt8](repeating: 1, count: 32))
    let done = try await machine.usherctl(["setup"], asking: [.keys(hasRecoveryKey: true)])
    #expect(done.status == 0 && done.error.contains("it stays"), "\(done)")
    #expect(machine.read(machine.keyFile) == key)
  }

  @Test("what cannot be sealed, or not be opened again, leaves everything as it was")
  func cannotSeal() async throws {
    try started()
    let broken: [(String, @Sendable (inout FakeMachine.State) -> Void)] = [
      ("systemd-creds is not installed", { $0.missing = ["systemd-creds"] }),
      ("systemd-creds cannot seal: No TPM2 here", { $0.creds = "No TPM2 here" }),
      ("does not open as the same key", { $0.isLying = true }),
    ]
    for (words, change) in broken {
      machine.state.withLock {
        $0 = FakeMachine.State(isActive: true)
        change(&$0)
      }
      let done = try await machine.usherctl(["setup"])
      #expect(done.status == 1 && done.error.contains(words), "\(done)")
      #expect(machine.read(machine.keyFile) == key)
      #expect(machine.names(machine.places.sealed) == [])
      #expect(!machine.runs.contains { $0.hasPrefix("systemctl") })
    }
  }

  @Test("a credential of another host or name is not touched; the way out is told")
  func closed() async throws {
    try started(active: false)
    try machine.seal(key, on: "other")
    let before = sealed()
    let done = try await machine.usherctl(["setup"])
    #expect(done.status == 1, "\(done)")
    #expect(done.error.contains("does not open here: Decryption failed"))
    #expect(done.error.contains("usherctl recover"))
    #expect(sealed() == before && machine.read(machine.keyFile) == key)
  }

  @Test("a database without any key gets none")
  func noKey() async throws {
    try machine.write(FakeMachine.database("old"), to: machine.database)
    let done = try await machine.usherctl(["setup"])
    #expect(done.status == 1 && done.error.contains("there is a database and no master key"))
    #expect(done.error.contains("usherctl recover"))
    #expect(sealed() == nil)
  }

  @Test("a key file that is not the daemon's alone is not trusted", arguments: [0, 1, 2])
  func badFile(_ number: Int) async throws {
    try started()
    switch number {
    case 0: chmod(machine.keyFile, 0o644)
    case 1: try machine.write(Array(key.dropLast()), to: machine.keyFile)
    default:
      unlink(machine.keyFile)
      symlink("/etc/hostname", machine.keyFile)
    }
    let done = try await machine.usherctl(["setup"])
    #expect(done.status == 1 && done.error.contains(machine.keyFile), "\(done)")
    #expect(sealed() == nil)
  }

  @Test("a unit that does not take the credential keeps the key file")
  func otherUnit() async throws {
    try started()
    let origin = "key file \(machine.keyFile)"
    let done = try await machine.usherctl(
      ["setup"], asking: [.keys(origin, hasRecoveryKey: false)])
    #expect(done.status == 1 && done.error.contains("LoadCredentialEncrypted="), "\(done)")
    #expect(machine.read(machine.keyFile) == key)
  }

  @Test("where that unit's daemon made itself a key, there are two, and a way out")
  func otherUnitsKey() async throws {
    let (machine, key) = (machine, key)
    let origin = "key file \(machine.keyFile)"
    machine.state.withLock { state in
      state.before = { [weak machine] line in
        guard let machine, line.hasPrefix("systemctl start") else { return }
        try? machine.write(key, to: machine.keyFile)
        try? machine.write(FakeMachine.database("its"), to: machine.database)
      }
    }
    let done = try await machine.usherctl(
      ["setup"],
      asking: [.keys(origin, hasRecoveryKey: false), .keys(origin, hasRecoveryKey: false)])
    #expect(done.status == 1 && done.error.contains("LoadCredentialEncrypted="), "\(done)")
    #expect(done.error.contains("mv \(machine.sealed) \(machine.sealed).other"), "\(done)")
    // Which is one.
    #expect(rename(machine.sealed, machine.sealed + ".other") == 0)
    let again = try await machine.usherctl(
      ["setup"], asking: [.keys(hasRecoveryKey: false), .recoveryKey])
    #expect(again.status == 0 && sealed()?.hasSuffix(hexadecimal) == true, "\(again)")
  }

  @Test("a locked daemon keeps the key file until it is unlocked")
  func locked() async throws {
    try started()
    let done = try await machine.usherctl(["setup"], asking: [.lockedKeys])
    #expect(done.status == 75 && done.error.contains("usherctl unlock --admin"), "\(done)")
    #expect(machine.read(machine.keyFile) == key)
  }

  @Test("a daemon that does not start says why")
  func refused() async throws {
    try started()
    machine.state.withLock { $0.refusal = { "the database is damaged" } }
    let done = try await machine.usherctl(["setup"])
    #expect(done.status == 1 && done.error.contains("usherctl: the database is damaged"), "\(done)")
    #expect(machine.read(machine.keyFile) == key)
    machine.state.withLock { $0.isCredentialClosed = true }
    let closed = try await machine.usherctl(["setup"])
    #expect(closed.error.contains("cannot hand over the daemon's credentials"), "\(closed)")
  }

  @Test("a lost recovery key is replaced when that is asked for; and as JSON")
  func replaced() async throws {
    try machine.seal(key)
    machine.state.withLock { $0.isActive = true }
    let done = try await machine.usherctl(
      ["setup", "--new-recovery-key", "--json"],
      asking: [
        .keys(hasRecoveryKey: true),
        .ask("key.createRecovery", ["replace": true], #"{"recoveryKey":"CCCC"}"#),
      ])
    #expect(done.status == 0, "\(done)")
    #expect(
      done.output
        == #"{"masterKey":"systemd credential usherd.master-key","recoveryKey":"CCCC"}"# + "\n")
  }

  @Test("a user's own daemon, and one by hand, get a recovery key and no more")
  func own() async throws {
    for arguments in [["setup"], ["setup", "--state", machine.places.userState]] {
      let done = try await machine.usherctl(
        arguments, user: 1000,
        asking: [.keys("key file /k", hasRecoveryKey: false), .recoveryKey])
      #expect(done.status == 0 && done.output == "AAAA-BBBB\n", "\(done)")
    }
    let locked = try await machine.usherctl(["setup"], user: 1000, asking: [.lockedKeys])
    #expect(locked.status == 75)
    #expect(machine.runs == [])
  }

  @Test("only root sets up the system's daemon")
  func notRoot() async throws {
    for verb in ["setup", "recover", "restore /x"] {
      let done = try await machine.usherctl(
        verb.split(separator: " ").map(String.init), user: 1000, environment: [:])
      #expect(done.status == 77 && done.error.contains("only root"), "\(done)")
    }
  }
}
