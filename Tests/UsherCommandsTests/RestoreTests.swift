import FoundationEssentials
import Glibc
import JSONRPC
import Synchronization
import Testing
import UsherCommands
import UsherCore

/// A simulated machine with a database, and a backup of another database.
protocol RestoreFixture { var machine: FakeMachine { get } }

extension RestoreFixture {
  var old: [UInt8] { FakeMachine.database("old") }
  var new: [UInt8] { FakeMachine.database("new") }
  var key: String { RecoveryKey([UInt8](repeating: 9, count: 32)).text.revealed() }
  var backup: String { machine.folder + "/backup" }
  var database: String { machine.database }
  var aside: String { machine.database + ".before-restore" }
  var byHand: [String] { ["--state", machine.directories.state] }

  static func prepared() throws -> FakeMachine {
    let machine = try FakeMachine()
    try machine.write(FakeMachine.database("old"), to: machine.database)
    try machine.write(FakeMachine.database("new"), to: machine.folder + "/backup")
    return machine
  }

  /// Makes usherd refuse a database with this content.
  func refuse(_ bytes: [UInt8], _ words: String = "no") {
    let (database, machine) = (database, machine)
    machine.state.withLock { state in
      state.refusal = { [weak machine] in machine?.read(database) == bytes ? words : nil }
    }
  }
}

@Suite("usherctl restore and recover", .timeLimit(.minutes(10)))
struct RestoreTests: RestoreFixture {
  let machine: FakeMachine

  init() throws { machine = try Self.prepared() }

  @Test("usherctl restore replaces the database by the backup and keeps the old database")
  func restored() async throws {
    let done = try await machine.usherctl(["restore", backup] + byHand)
    #expect(done.status == 0 && done.error.contains(aside), "\(done)")
    #expect(machine.read(database) == new && machine.read(aside) == old)
    var status = stat()
    #expect(stat(database, &status) == 0 && status.st_mode & 0o7777 == 0o600)
    #expect(
      machine.names(machine.directories.state)
        == ["usherd.db", "usherd.db.before-restore", "usherd.db.lock"])
    #expect(machine.runs == ["env /fake/usherd --state \(machine.directories.state) --check-store"])
    let again = try await machine.usherctl(["restore", backup] + byHand)
    #expect(again.status == 0 && machine.read(aside) == old)
    #expect(machine.read(aside + "-2") == new)
  }

  @Test(
    "usherctl restore stops the system's daemon with its sockets, and starts them on the backup")
  func system() async throws {
    machine.state.withLock { $0.isActive = true }
    let done = try await machine.usherctl(["restore", backup])
    #expect(done.status == 0, "\(done)")
    #expect(machine.read(database) == new && machine.read(aside) == old)
    let units = "usherd.socket usherd-admin.socket usherd.service"
    #expect(
      machine.runs == [
        "systemctl stop \(units)", "systemctl reset-failed \(units)", "systemctl start \(units)",
      ])
    #expect(machine.state.withLock { $0.isActive })
  }

  @Test(
    "usherctl restore repeats a stop that systemd cancels to restart the daemon for two seconds")
  func cancelledStop() async throws {
    machine.state.withLock { ($0.isActive, $0.stopsToCancel) = (true, 3) }
    let done = try await machine.usherctl(["restore", backup])
    #expect(done.status == 0 && machine.read(database) == new, "\(done)")
    #expect(machine.runs.count { $0.hasPrefix("systemctl stop") } == 4)
    machine.state.withLock { $0.stopsToCancel = .max }
    let refused = try await machine.usherctl(["restore", backup])
    #expect(refused.status == 1)
    #expect(refused.error.contains("systemctl stop failed: Job for usherd.socket canceled."))
    #expect(machine.read(database) == new)
  }

  @Test("usherctl restore stops and starts a user's own daemon only if the user's systemd runs it")
  func users() async throws {
    let own = machine.directories.userState + "/usherd.db"
    try machine.write(old, to: own)
    let units = "usherd.socket usherd-admin.socket usherd.service"
    let check = "env /fake/usherd --state \(machine.directories.userState) --check-store"
    for isRunning in [false, true] {
      machine.state.withLock {
        $0.runs = []
        $0.isActive = isRunning
      }
      let done = try await machine.usherctl(["restore", backup], user: 1000)
      #expect(done.status == 0 && machine.read(own) == new, "\(done)")
      let runs = machine.runs.filter { !$0.contains("is-active") && !$0.contains("reset-failed") }
      #expect(
        runs
          == (isRunning
            ? ["systemctl --user stop \(units)", check, "systemctl --user start \(units)"]
            : [check])
      )
      #expect(done.error.contains("start usherd again") == !isRunning)
    }
    #expect(machine.read(database) == old)
  }

  @Test(
    "usherctl restore puts the old database back if the backup does not open",
    arguments: [true, false])
  func putBack(_ isSystem: Bool) async throws {
    refuse(new, "the database was sealed under another master key")
    try machine.write([7, 7], to: database + "-wal")
    let done = try await machine.usherctl(["restore", backup] + (isSystem ? [] : byHand))
    #expect(done.status == 1, "\(done)")
    #expect(done.error.contains("usherctl: the database was sealed under another master key"))
    #expect(done.error.contains("the previous database is back in place"))
    #expect(done.error.contains("--recovery-key"))
    #expect(machine.read(database) == old && machine.read(database + "-wal") == [7, 7])
    #expect(
      machine.names(machine.directories.state) == ["usherd.db", "usherd.db-wal", "usherd.db.lock"])
    #expect(machine.state.withLock { $0.isActive } == isSystem)
  }

  @Test("usherctl restore leaves the old database its log, and the backup gets none of that log")
  func log() async throws {
    try machine.write([7, 7], to: database + "-wal")
    try machine.write([8], to: database + "-shm")
    let done = try await machine.usherctl(["restore", backup] + byHand)
    #expect(done.status == 0, "\(done)")
    #expect(machine.read(aside) == old && machine.read(aside + "-wal") == [7, 7])
    #expect(
      machine.names(machine.directories.state).filter { !$0.contains("before") }
        == ["usherd.db", "usherd.db.lock"])
  }

  @Test("usherctl restore that was killed half-way can be run again without loss")
  func killed() async throws {
    // The state between two renames: the database is moved, its log is not, the copy is incomplete.
    try machine.write(old, to: aside)
    try machine.write([7, 7], to: database + "-wal")
    try machine.write([1], to: database + ".restoring")
    unlink(database)
    let done = try await machine.usherctl(["restore", backup] + byHand)
    #expect(done.status == 0, "\(done)")
    #expect(machine.read(database) == new && machine.read(aside) == old)
    #expect(machine.names(machine.directories.state).contains { $0.hasSuffix("-wal") })
    #expect(machine.read(database + "-wal") == nil)
  }

  @Test(
    "usherctl restore of a backup that does not open leaves no database on a host that had none")
  func newHost() async throws {
    unlink(database)
    refuse(new, "no")
    let refused = try await machine.usherctl(["restore", backup] + byHand)
    #expect(refused.status == 1 && refused.error.contains("there is still no database"))
    #expect(machine.read(database) == nil)
    machine.state.withLock { $0.refusal = { nil } }
    #expect(try await machine.usherctl(["restore", backup] + byHand).status == 0)
    #expect(machine.read(database) == new)
  }

  @Test(
    "usherctl restore refuses an invalid or incomplete backup before it stops the daemon",
    arguments: 0..<6)
  func noBackup(_ number: Int) async throws {
    var bytes = new
    let words: String
    switch number {
    case 0: (bytes, words) = (Array("hello".utf8), "is not a backup of a usherd database")
    case 1: (bytes[70], words) = (0, "is not a backup of a usherd database")
    case 2: (bytes, words) = (FakeMachine.database("new", pages: 9), "is truncated")
    case 3: words = "does not exist"
    case 4: words = "is a symbolic link"
    default: words = "is not a regular file"
    }
    try machine.write(bytes, to: backup)
    if number > 2 { unlink(backup) }
    if number == 4 { symlink(database, backup) }
    if number == 5 { mkdir(backup, 0o700) }
    for more in [[], byHand] {
      let done = try await machine.usherctl(["restore", backup] + more)
      #expect(done.status == 1 && done.error.contains(words), "\(done)")
    }
    #expect(machine.names(machine.directories.state) == ["usherd.db"])
    #expect(machine.read(database) == old && machine.runs == [])
  }

  @Test("usherctl restore and recover refuse to run while a daemon without systemd is running")
  func running() async throws {
    let lock = open(database + ".lock", O_RDWR | O_CREAT, 0o600)
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX) == 0)
    let done = try await machine.usherctl(["restore", backup] + byHand)
    #expect(done.status == 1 && done.error.contains("is in use by a running usherd"), "\(done)")
    #expect(machine.read(database) == old && machine.read(aside) == nil)
    #expect(machine.read(database + ".restoring") == nil)
    let recover = try await machine.usherctl(["recover"] + byHand, typed: [key])
    #expect(
      recover.status == 1 && recover.error.contains("is in use by a running usherd"), "\(recover)")
  }

  @Test("usherctl restore passes the recovery key in memory, for one start, and on no command line")
  func recoveryKey() async throws {
    let done = try await machine.usherctl(
      ["restore", "--recovery-key", backup] + byHand, typed: [key.lowercased()])
    #expect(done.status == 0, "\(done)")
    #expect(machine.state.withLock { $0.handed } == key)
    #expect(machine.names(machine.folder).filter { $0.hasPrefix("usherctl-") } == [])
    let all = machine.runs.joined() + done.output + done.error
    #expect(!all.contains(key) && all.contains("CREDENTIALS_DIRECTORY=\(machine.folder)/usherctl-"))
  }

  @Test(
    "usherctl restore removes a leftover recovery key and uses no folder that is open to others")
  func leftOver() async throws {
    var status = stat()
    #expect(stat(machine.directories.state, &status) == 0)
    let folder = "\(machine.directories.memory)/usherctl-\(geteuid())-\(status.st_ino)"
    mkdir(folder, 0o700)
    try machine.write([1], to: folder + "/usherd.recovery-key")
    #expect(try await machine.usherctl(["restore", backup] + byHand).status == 0)
    #expect(access(folder, F_OK) != 0)
    let arguments = ["restore", "--recovery-key", backup] + byHand
    mkdir(folder, 0o700)
    try machine.write([1], to: folder + "/mine")
    chmod(folder, 0o755)
    let done = try await machine.usherctl(arguments, typed: [key])
    #expect(
      done.status == 1 && done.error.contains("is not a private directory of yours"), "\(done)")
    #expect(machine.names(folder) == ["mine"] && machine.read(database) == new)
  }

  @Test("usherctl restore --recovery-key on another host seals a new master key for the daemon")
  func otherHost() async throws {
    unlink(database)
    machine.state.withLock { $0.isActive = true }
    let done = try await machine.usherctl(["restore", "--recovery-key", backup], typed: [key])
    #expect(done.status == 0, "\(done)")
    #expect(machine.read(machine.sealed) != nil && machine.read(database) == new)
    #expect(machine.names(machine.directories.transientCredentials) == [])
    // The daemon that got the recovery key is replaced by one that did not.
    #expect(machine.runs.contains("systemctl restart usherd.service"))
    #expect(machine.state.withLock { $0.handed } == nil)
  }

  @Test("usherctl restore refuses a mistyped recovery key before it stops the daemon")
  func mistyped() async throws {
    var typed = Array(key)
    typed.swapAt(0, 1)
    typed[3] = typed[3] == "0" ? "1" : "0"
    for verb in [["restore", "--recovery-key", backup], ["recover"]] {
      let done = try await machine.usherctl(verb, typed: [String(typed)])
      #expect(done.status == 1 && done.error.contains("the recovery key is mistyped"), "\(verb)")
      let none = try await machine.usherctl(verb)
      #expect(none.status == 1 && none.error.contains("the recovery key is missing"), "\(none)")
    }
    #expect(machine.runs.allSatisfy { $0 == "systemctl is-active usherd.service" })
    #expect(machine.read(database) == old)
  }

  // MARK: Recover

  @Test("usherctl recover moves a credential that does not open aside, and seals a new key")
  func recovered() async throws {
    try machine.seal([UInt8](repeating: 1, count: 32), on: "other")
    let before = machine.read(machine.sealed)
    let done = try await machine.usherctl(["recover"], typed: [key])
    #expect(
      done.status == 0 && done.error.contains("the master key opens the database again"), "\(done)")
    #expect(machine.read(machine.sealed + ".unreadable") == before)
    #expect(machine.read(machine.sealed)?.starts(with: Array("this|".utf8)) == true)
    #expect(machine.names(machine.directories.transientCredentials) == [])
    #expect(machine.runs.last == "systemctl restart usherd.service")
    #expect(machine.read(database) == old)
  }

  @Test("usherctl recover --accept-changes passes its credential to one start and then removes it")
  func accepted() async throws {
    for arguments in [[], byHand] {
      machine.state.withLock { ($0.isAccepting, $0.isActive) = (false, false) }
      let done = try await machine.usherctl(["recover", "--accept-changes"] + arguments)
      #expect(done.status == 0 && done.error.contains("usherctl unlock --admin"), "\(done)")
      #expect(machine.state.withLock { $0.isAccepting && $0.handed == nil })
      #expect(machine.names(machine.folder).filter { $0.hasPrefix("usherctl-") } == [])
      #expect(machine.read(database) == old)
    }
    #expect(machine.names(machine.directories.transientCredentials) == [])
    #expect(machine.runs.contains("systemctl restart usherd.service"))
  }

  @Test("usherctl recover with a wrong recovery key reports it and leaves no key in memory")
  func wrongKey() async throws {
    refuse(old, "the database was sealed under another master key and another recovery key")
    let done = try await machine.usherctl(["recover"], typed: [key])
    #expect(done.status == 1 && done.error.contains("another recovery key"), "\(done)")
    #expect(machine.state.withLock { $0.handed } == key)
    #expect(machine.names(machine.directories.transientCredentials) == [])
    let hand = try await machine.usherctl(["recover"] + byHand, typed: [key])
    #expect(hand.status == 1 && hand.error.contains("another recovery key"), "\(hand)")
    #expect(machine.names(machine.folder).filter { $0.hasPrefix("usherctl-") } == [])
  }

  @Test("usherctl recover does nothing if the daemon runs, and fails without a database")
  func nothing() async throws {
    machine.state.withLock { $0.isActive = true }
    let runs = try await machine.usherctl(["recover"])
    #expect(runs.status == 0 && runs.error.contains("its master key opens the database"))
    #expect(machine.read(machine.sealed) == nil)
    unlink(database)
    let none = try await machine.usherctl(["recover"])
    #expect(none.status == 1 && none.error.contains("\(database) does not exist"))
  }
}
