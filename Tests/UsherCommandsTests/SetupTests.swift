import FoundationEssentials
import Glibc
import JSONRPC
import Synchronization
import Testing
import UsherCommands

@Suite("usherctl setup", .timeLimit(.minutes(10)))
struct SetupTests {
  private let machine: FakeMachine
  private let key = (0..<32).map { UInt8($0 &+ 200) }
  private var hexadecimal: String { key.map { String($0, radix: 16) }.joined() }

  init() throws { machine = try FakeMachine() }

  /// Simulates a daemon that has made a key file and a database.
  private func started(active: Bool = true) throws {
    try machine.write(key, to: machine.keyFile)
    try machine.write(FakeMachine.database("old"), to: machine.database)
    machine.state.withLock { $0.isActive = active }
  }

  private func sealed() -> String? {
    machine.read(machine.sealed).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(
    "usherctl setup on a new machine seals a random key, starts the daemon and prints a recovery key"
  )
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
    #expect(machine.names(machine.directories.sealed) == ["usherd.master-key"])
    #expect(machine.names(machine.directories.state) == [])
    #expect(machine.runs.last == "systemctl start usherd.socket usherd-admin.socket usherd.service")
  }

  @Test("usherctl setup seals the key file, and removes it when the daemon uses the credential")
  func keyFile() async throws {
    try started()
    let done = try await machine.usherctl(
      ["setup"], asking: [.keys(hasRecoveryKey: false), .recoveryKey])
    #expect(done.status == 0, "\(done)")
    #expect(sealed() == "this|usherd.master-key|\(hexadecimal)")
    #expect(machine.read(machine.keyFile) == nil)
    #expect(machine.runs.contains("systemctl restart usherd.service"))
    // The credential is opened before anything is removed, and no command line contains the key.
    let order = machine.runs.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
    #expect(order.prefix(2) == ["systemd-creds encrypt", "systemd-creds decrypt"])
    #expect(!machine.runs.joined().contains(hexadecimal))
    #expect(!(done.output + done.error).contains(hexadecimal))
  }

  @Test("usherctl setup stops a daemon that started before, and seals the key that the daemon made")
  func race() async throws {
    let (machine, key) = (machine, key)
    machine.state.withLock { state in
      state.isActive = true
      // The daemon has made its key and its database by the time it has stopped.
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
    // Nothing can start the daemon while the key is sealed.
    let runs = machine.runs
    let stop = runs.firstIndex { $0.hasPrefix("systemctl stop usherd.socket") }
    let start = runs.firstIndex { $0.hasPrefix("systemctl start") }
    let seal = runs.firstIndex { $0.hasPrefix("systemd-creds encrypt") }
    #expect(try #require(stop) < #require(seal) && #require(seal) < #require(start))
  }

  @Test("usherctl setup starts the sockets again if no key can be sealed")
  func cannotMake() async throws {
    machine.state.withLock { state in
      state.isActive = true
      state.creds = "No TPM2 here"
    }
    let done = try await machine.usherctl(["setup"])
    #expect(done.status == 1 && done.error.contains("No TPM2 here"), "\(done)")
    #expect(machine.runs.last == "systemctl start usherd.socket usherd-admin.socket")
  }

  @Test("usherctl setup prints a way out if the daemon does not start and there are two keys")
  func twoKeys() async throws {
    try started(active: false)
    try machine.seal([UInt8](repeating: 1, count: 32))
    machine.state.withLock { $0.refusal = { "was sealed under another master key" } }
    let done = try await machine.usherctl(["setup"])
    #expect(done.status == 1 && done.error.contains("was sealed under another"), "\(done)")
    #expect(done.error.contains("mv \(machine.sealed) \(machine.sealed).other"), "\(done)")
    #expect(machine.read(machine.keyFile) == key)
  }

  @Test("usherctl setup restarts a daemon that began to start before the credential existed")
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

  @Test("usherctl status warns root of a leftover recovery key, unless a command is in progress")
  func leftKey() async throws {
    try machine.seal(key)
    mkdir(machine.directories.transientCredentials, 0o700)
    let left = machine.directories.transientCredentials + "/usherd.recovery-key"
    try machine.write([1], to: left)
    let status = ["status", "--admin"]
    let told = try await machine.usherctl(status, asking: [.keys(hasRecoveryKey: true)])
    #expect(told.status == 0 && told.error.contains("is still in \(left)"), "\(told)")
    #expect(told.output.contains(/recovery key +set\n/), "\(told)")
    let user = try await machine.usherctl(
      status, user: 1000, asking: [.keys(hasRecoveryKey: true)])
    #expect(user.error == "", "\(user)")
    let lock = open(machine.directories.sealed, O_RDONLY | O_DIRECTORY)
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX) == 0)
    let busy = try await machine.usherctl(status, asking: [.keys(hasRecoveryKey: true)])
    #expect(busy.error == "" && machine.read(left) == [1], "\(busy)")
  }

  @Test("a repeated usherctl setup changes nothing and removes a leftover recovery key")
  func again() async throws {
    try machine.seal(key)
    mkdir(machine.directories.transientCredentials, 0o700)
    try machine.write([1], to: machine.directories.transientCredentials + "/usherd.recovery-key")
    machine.state.withLock { $0.isActive = true }
    let before = sealed()
    let done = try await machine.usherctl(["setup"], asking: [.keys(hasRecoveryKey: true)])
    #expect(done.status == 0 && done.output == "", "\(done)")
    #expect(done.error.contains("sealed already") && done.error.contains("--new-recovery-key"))
    #expect(sealed() == before && machine.names(machine.directories.transientCredentials) == [])
    #expect(!machine.runs.contains { $0.contains("encrypt") || $0.contains("restart") })
  }

  @Test("usherctl setup that was killed after sealing continues and removes the key file")
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

  @Test("usherctl setup that was killed while sealing seals the key again")
  func killedEarly() async throws {
    try started()
    mkdir(machine.directories.sealed, 0o700)
    try machine.write([1, 2, 3], to: machine.sealed + ".new")
    let done = try await machine.usherctl(
      ["setup"], asking: [.keys(hasRecoveryKey: true)])
    #expect(done.status == 0, "\(done)")
    #expect(machine.names(machine.directories.sealed) == ["usherd.master-key"])
    #expect(sealed()?.hasSuffix(hexadecimal) == true)
  }

  @Test("usherctl setup keeps a key file with another key than the sealed one")
  func otherFile() async throws {
    try started()
    try machine.seal([UInt8](repeating: 1, count: 32))
    let done = try await machine.usherctl(["setup"], asking: [.keys(hasRecoveryKey: true)])
    #expect(done.status == 0 && done.error.contains("was not removed"), "\(done)")
    #expect(machine.read(machine.keyFile) == key)
  }

  @Test("usherctl setup changes nothing if the key cannot be sealed or opened again")
  func cannotSeal() async throws {
    try started()
    let broken: [(String, @Sendable (inout FakeMachine.State) -> Void)] = [
      ("systemd-creds is not installed", { $0.missing = ["systemd-creds"] }),
      ("systemd-creds cannot seal: No TPM2 here", { $0.creds = "No TPM2 here" }),
      ("opens as another key", { $0.isLying = true }),
    ]
    for (words, change) in broken {
      machine.state.withLock {
        $0 = FakeMachine.State(isActive: true)
        change(&$0)
      }
      let done = try await machine.usherctl(["setup"])
      #expect(done.status == 1 && done.error.contains(words), "\(done)")
      #expect(machine.read(machine.keyFile) == key)
      #expect(machine.names(machine.directories.sealed) == [])
      #expect(!machine.runs.contains { $0.hasPrefix("systemctl") })
    }
  }

  @Test("usherctl setup leaves a credential of another host untouched and names usherctl recover")
  func closed() async throws {
    try started(active: false)
    try machine.seal(key, on: "other")
    let before = sealed()
    let done = try await machine.usherctl(["setup"])
    #expect(done.status == 1, "\(done)")
    #expect(done.error.contains("cannot be opened on this host: Decryption failed"))
    #expect(done.error.contains("usherctl recover"))
    #expect(sealed() == before && machine.read(machine.keyFile) == key)
  }

  @Test("usherctl setup makes no key for a database whose key is missing")
  func noKey() async throws {
    try machine.write(FakeMachine.database("old"), to: machine.database)
    let done = try await machine.usherctl(["setup"])
    #expect(done.status == 1 && done.error.contains("the master key of the database is missing"))
    #expect(done.error.contains("usherctl recover"))
    #expect(sealed() == nil)
  }

  @Test(
    "usherctl setup refuses a key file that is not private to the daemon", arguments: [0, 1, 2])
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

  @Test("usherctl setup keeps the key file if the unit does not load the credential")
  func otherUnit() async throws {
    try started()
    let origin = "key file \(machine.keyFile)"
    let done = try await machine.usherctl(
      ["setup"], asking: [.keys(origin, hasRecoveryKey: false)])
    #expect(done.status == 1 && done.error.contains("LoadCredentialEncrypted="), "\(done)")
    #expect(machine.read(machine.keyFile) == key)
  }

  @Test("usherctl setup prints a way out if a unit without the credential made a second key")
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
    // The way out works.
    #expect(rename(machine.sealed, machine.sealed + ".other") == 0)
    let again = try await machine.usherctl(
      ["setup"], asking: [.keys(hasRecoveryKey: false), .recoveryKey])
    #expect(again.status == 0 && sealed()?.hasSuffix(hexadecimal) == true, "\(again)")
  }

  @Test("usherctl setup keeps the key file of a locked daemon")
  func locked() async throws {
    try started()
    let done = try await machine.usherctl(["setup"], asking: [.lockedKeys])
    #expect(done.status == 75 && done.error.contains("usherctl unlock --admin"), "\(done)")
    #expect(machine.read(machine.keyFile) == key)
  }

  @Test("usherctl setup prints why the daemon does not start")
  func refused() async throws {
    try started()
    machine.state.withLock { $0.refusal = { "the database is damaged" } }
    let done = try await machine.usherctl(["setup"])
    #expect(done.status == 1 && done.error.contains("usherctl: the database is damaged"), "\(done)")
    #expect(machine.read(machine.keyFile) == key)
    machine.state.withLock { $0.isCredentialClosed = true }
    let closed = try await machine.usherctl(["setup"])
    #expect(closed.error.contains("cannot pass the daemon its credentials"), "\(closed)")
  }

  @Test("usherctl setup --new-recovery-key replaces the recovery key and prints it as JSON")
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

  @Test("usherctl setup makes only a recovery key for a user's own daemon or one without systemd")
  func own() async throws {
    for arguments in [["setup"], ["setup", "--state", machine.directories.userState]] {
      let done = try await machine.usherctl(
        arguments, user: 1000,
        asking: [.keys("key file /k", hasRecoveryKey: false), .recoveryKey])
      #expect(done.status == 0 && done.output == "AAAA-BBBB\n", "\(done)")
    }
    let locked = try await machine.usherctl(["setup"], user: 1000, asking: [.lockedKeys])
    #expect(locked.status == 75)
    #expect(machine.runs == [])
  }

  @Test("setup, restore and recover of the system's daemon require root")
  func notRoot() async throws {
    for verb in ["setup", "recover", "restore /x"] {
      let done = try await machine.usherctl(
        verb.split(separator: " ").map(String.init), user: 1000, environment: [:])
      #expect(done.status == 77 && done.error.contains("only root"), "\(done)")
    }
  }
}
