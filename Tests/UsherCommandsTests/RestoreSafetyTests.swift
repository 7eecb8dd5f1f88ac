import Glibc
import Synchronization
import Testing
import UsherCommands
import UsherCore

@Suite("The safety of usherctl restore", .timeLimit(.minutes(10)))
struct RestoreSafetyTests: RestoreFixture {
  let machine: FakeMachine

  init() throws { machine = try Self.prepared() }

  private var names: [String] {
    machine.names(machine.directories.state).filter { $0 != "usherd.db.lock" }
  }

  // MARK: Logs

  @Test("usherctl restore can restore a database that was moved aside together with its log")
  func withLog() async throws {
    try machine.write([7, 7], to: database + "-wal")
    #expect(try await machine.usherctl(["restore", backup] + byHand).status == 0)
    let back = try await machine.usherctl(["restore", aside] + byHand)
    #expect(back.status == 0, "\(back)")
    #expect(machine.read(database) == old && machine.read(database + "-wal") == [7, 7])
    #expect(machine.read(aside) == old && machine.read(aside + "-wal") == [7, 7])
    #expect(machine.read(aside + "-2") == new && machine.read(aside + "-2-wal") == nil)
    #expect(!names.contains { $0.contains("restoring") })
  }

  @Test("usherctl restore puts the old database and its log back if the backup does not open")
  func logPutBack() async throws {
    try machine.write([7, 7], to: database + "-wal")
    try machine.write([8], to: backup + "-wal")
    refuse(new)
    let done = try await machine.usherctl(["restore", backup] + byHand)
    #expect(
      done.status == 1 && done.error.contains("the previous database is back in place"), "\(done)")
    #expect(machine.read(database) == old && machine.read(database + "-wal") == [7, 7])
    #expect(names == ["usherd.db", "usherd.db-wal"])
    var status = stat()
    #expect(stat(database + "-wal", &status) == 0 && status.st_nlink == 1)
  }

  @Test("usherctl restore refuses a log that is not a file, and the database itself under any name")
  func refused() async throws {
    mkdir(backup + "-wal", 0o700)
    link(database, machine.folder + "/same")
    for (file, words) in [
      (backup, "is not a regular file"), (database, "is the database itself"),
      (machine.folder + "/same", "is the database itself"),
    ] {
      let done = try await machine.usherctl(["restore", file] + byHand)
      #expect(done.status == 1 && done.error.contains(words), "\(done)")
    }
    #expect(machine.runs == [] && names == ["usherd.db"])
  }

  // MARK: Killed, or failing, half-way

  @Test("usherctl restore keeps database and log together after a kill while the log had two names")
  func killedLinked() async throws {
    try machine.write(old, to: aside)
    try machine.write([7, 7], to: aside + "-wal")
    unlink(database)
    link(aside + "-wal", database + "-wal")
    try machine.write([1], to: database + ".restoring")
    let done = try await machine.usherctl(["restore", backup] + byHand)
    #expect(done.status == 0 && done.error.contains(aside), "\(done)")
    #expect(machine.read(database) == new)
    #expect(machine.read(aside) == old && machine.read(aside + "-wal") == [7, 7])
    #expect(names == ["usherd.db", "usherd.db.before-restore", "usherd.db.before-restore-wal"])
  }

  @Test(
    "usherctl restore leaves each file only under its own name if the files cannot be exchanged",
    arguments: [true, false])
  func failing(_ hasLog: Bool) async throws {
    if hasLog { try machine.write([7, 7], to: database + "-wal") }
    // The copy disappears just before it is put in place.
    let draft = database + ".restoring"
    machine.state.withLock { state in
      state.isActive = true
      state.before = { if $0.hasPrefix("systemctl stop") { unlink(draft) } }
    }
    let done = try await machine.usherctl(["restore", backup])
    #expect(done.status == 1 && done.error.contains("cannot be renamed to"), "\(done)")
    #expect(machine.read(database) == old)
    #expect(names == ["usherd.db"] + (hasLog ? ["usherd.db-wal"] : []))
    var status = stat()
    #expect(stat(database, &status) == 0 && status.st_nlink == 1)
    #expect(machine.state.withLock { $0.isActive })
  }

  // MARK: Others

  @Test("only one usherctl setup, restore or recover runs on a state directory at a time")
  func alone() async throws {
    let lock = open(machine.directories.state, O_RDONLY | O_DIRECTORY)
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX) == 0)
    for verb in [["setup"], ["restore", backup], ["recover"]] {
      for more in [[], byHand] {
        let done = try await machine.usherctl(verb + more, typed: [key])
        #expect(done.status == 75 && done.error.contains("is running on"), "\(done)")
      }
    }
    #expect(machine.runs == [] && names == ["usherd.db"])
  }

  @Test("usherctl restore locks the state directory until the database is open, then unlocks it")
  func held() async throws {
    let state = machine.directories.state
    let isFree = { @Sendable in
      let lock = open(state, O_RDONLY | O_DIRECTORY)
      defer { close(lock) }
      return flock(lock, LOCK_EX | LOCK_NB) == 0
    }
    machine.state.withLock { $0.before = { _ in #expect(!isFree()) } }
    #expect(try await machine.usherctl(["restore", backup] + byHand).status == 0)
    #expect(machine.runs.count == 1)
    #expect(isFree())
  }

  @Test("usherctl restore removes the recovery key of a killed run before it starts a daemon")
  func leftKey() async throws {
    var state = stat()
    try #require(stat(machine.directories.state, &state) == 0)
    let left = "\(machine.directories.memory)/usherctl-\(geteuid())-\(state.st_ino)"
    mkdir(left, 0o700)
    try machine.write(Array(key.utf8), to: left + "/usherd.recovery-key")
    machine.state.withLock { $0.before = { _ in #expect(access(left, F_OK) != 0) } }
    #expect(try await machine.usherctl(["restore", backup] + byHand).status == 0)
    #expect(machine.runs.count == 1)
  }

  @Test("usherctl setup, restore and recover refuse the state directory of another user")
  func others() async throws {
    var state = machine.directories.state
    if geteuid() == 0 { #expect(chown(state, 1234, 1234) == 0) } else { state = "/" }
    for verb in [["setup"], ["restore", "--recovery-key", backup], ["recover"]] {
      let done = try await machine.usherctl(verb + ["--state", state], typed: [key])
      #expect(done.status == 77 && done.error.contains("is owned by uid"), "\(done)")
    }
    #expect(machine.runs == [] && names == ["usherd.db"])
  }
}
