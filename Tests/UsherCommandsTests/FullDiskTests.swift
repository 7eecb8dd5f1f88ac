import Glibc
import Testing
import UsherCommands

@Suite("usherctl backup and restore on a full disk")
struct FullDiskTests {
  @Test(
    "usherctl backup or restore that fills the disk leaves no partial file and the old database")
  func fullDisk() async throws {
    await #expect(processExitsWith: .success) {
      let machine = try RestoreTests.prepared()
      let (state, old) = (machine.directories.state, FakeMachine.database("old"))
      let copy = machine.database + ".backup-1"
      try machine.write(FakeMachine.database("copy"), to: copy)
      // From now on every write beyond half of a database fails.
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: 2048, rlim_max: 2048)
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      let restored = try await machine.usherctl(
        ["restore", machine.folder + "/backup", "--state", state])
      try #require(restored.status == 1 && restored.error.contains("cannot be written: File too"))
      let backedUp = try await machine.usherctl(
        ["backup", machine.folder + "/file"],
        asking: [.ask("system.backup", #"{"path":"\#(copy)","bytes":4096}"#)])
      try #require(backedUp.status == 1 && backedUp.error.contains("cannot be written: File too"))
      try #require(machine.read(machine.database) == old)
      let left = machine.names(state) + machine.names(machine.folder)
      let expected = ["usherd.db", "usherd.db.lock", "backup", "home", "state"]
      try #require(left.filter { !expected.contains($0) } == [])
    }
  }
}
