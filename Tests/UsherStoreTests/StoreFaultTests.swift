import Foundation
import GRDB
import GRDBSQLite
import Glibc
import Synchronization
import Testing
import UsherCore
import UsherTestKit

@testable import UsherStore

@Suite("Disk faults", .mayBlock, .timeLimit(.minutes(10)))
struct StoreFaultTests {
  let fixture: StoreFixture
  init() throws { fixture = try StoreFixture() }

  @Test(
    "a full database refuses commits, keeps the acknowledged ones and recovers when there is room")
  func fullByPages() async throws {
    let store = try fixture.open()
    try await store.database.writeWithoutTransaction { db in
      let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      try db.execute(sql: "PRAGMA max_page_count = \(pages + 20)")
    }
    try await expectRecovery(of: store, saying: "the disk is full") {
      try await store.database.writeWithoutTransaction {
        try $0.execute(sql: "PRAGMA max_page_count = 100000")
      }
    }
  }

  @Test("a commit that does not fit into a full database does not affect its neighbours")
  func fullNeighbours() async throws {
    let store = try fixture.open()
    try await store.database.writeWithoutTransaction { db in
      let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      try db.execute(sql: "PRAGMA max_page_count = \(pages + 4)")
    }
    func insert(_ name: String, _ size: Int) -> GroupCommit.Operation {
      {
        try $0.execute(
          sql: "INSERT INTO credentials VALUES (?, zeroblob(?))", arguments: [name, size])
      }
    }
    let outcomes = GroupCommit.write(
      [[insert("a", 10)], [insert("b", 100_000)], [insert("c", 10)]], to: store.database)
    let names = try await store.database.read {
      try String.fetchAll($0, sql: "SELECT name FROM credentials")
    }
    let kept = zip(["a", "b", "c"], outcomes).compactMap { name, outcome in
      (try? outcome.get()) == nil ? nil : name
    }
    #expect(names == kept)
    #expect(kept == ["a", "c"])
  }

  @Test("a read-only database refuses commits and recovers when it is writable again")
  func readOnly() async throws {
    let store = try fixture.open()
    try await store.database.writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA query_only = 1")
    }
    try await expectRecovery(of: store, saying: "read-only") {
      try await store.database.writeWithoutTransaction {
        try $0.execute(sql: "PRAGMA query_only = 0")
      }
    }
  }

  @Test("a write over the file size limit is not acknowledged, and the store recovers later")
  func fileSizeLimit() async throws {
    await #expect(processExitsWith: .success) { [path = fixture.path as String] in
      signal(SIGXFSZ, SIG_IGN)
      let store = try StoreFixture.open(path)
      func limit(_ bytes: rlim_t) {
        var limit = rlimit(rlim_cur: bytes, rlim_max: unlimited)
        #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      }
      limit(200_000)
      try await expectRecovery(of: store, saying: "the disk under the database failed") {
        limit(unlimited)
      }
    }
  }

  @Test("a store accepts commits although a file of it could once be opened for reading only")
  func openedForReading() async throws {
    try await fixture.create()
    await #expect(processExitsWith: .success) { [path = fixture.path as String] in
      refuseOpeningsForWriting()
      for number in 1...8 {
        openingsToRefusal.store(number, ordering: .relaxed)
        // The store may refuse to be opened, but it must not be opened without being writable.
        guard let store = try? StoreFixture.open(path) else { continue }
        try await store.commit([.putFlow(.sample("flw_\(number)"))])
        try store.close()
      }
    }
  }

  @Test("a full file system refuses commits, and the store recovers when there is room")
  func fullFileSystem() throws {
    let mounted = fixture.directory + "/disk"
    let report = fixture.directory + "/report"
    mkdir(mounted, 0o700)
    let mount = #"mount -t tmpfs -o size=400k none "$0" && exec "$@""#
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "USHER_TEST_SMALL_DISK=\(mounted)", "USHER_TEST_REPORT=\(report)", "timeout", "300",
      "unshare", "-Urm", "sh", "-c", mount, mounted,
      try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
      "--testing-library",
      "swift-testing", "--filter", "StoreFaultTests/inSmallFileSystem",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let said = String(
      decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    if said.contains("unshare failed") || said.contains("mount:") {
      Issue.record("no user namespace here: a full file system is NOT tested", severity: .warning)
      return
    }
    #expect(process.terminationStatus == 0, "\(said)")
    #expect(access(report, F_OK) == 0, "the test in the small file system did not run: \(said)")
  }

  /// Runs in the child that ``fullFileSystem()`` starts.
  @Test(
    "a store on a full tmpfs refuses commits and recovers when there is room",
    .enabled(if: smallDisk != nil, "runs in a namespace of its own"))
  func inSmallFileSystem() async throws {
    let disk = try #require(smallDisk)
    let store = try StoreFixture.open(disk + "/usherd.db")
    let ballast = disk + "/ballast"
    try Data(count: 100_000).write(to: URL(filePath: ballast))
    try await expectRecovery(of: store, saying: "the disk is full") {
      try FileManager.default.removeItem(atPath: ballast)
    }
    let report = try #require(ProcessInfo.processInfo.environment["USHER_TEST_REPORT"])
    try Data().write(to: URL(filePath: report))
  }

  @Test(
    "after a kill at any fail point of the store, exactly the acknowledged commits are on disk",
    arguments: [("store.before-commit", 1), ("store.after-commit", 2)])
  func failPoints(_ point: String, survivors: Int) async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = fixture.path as String, point = point as String] in
      setenv("USHER_FAILPOINT", "\(point):2", 1)
      FailPoint.reach("store.elsewhere")
      let store = try StoreFixture.open(path)
      for number in 1...3 { try await store.commit([.putFlow(.sample("flw_\(number)"))]) }
    }
    #expect(try fixture.open().loadFlows().count == survivors)
  }
}

/// The number of the next opening of a file of SQLite for writing that fails, counted from 1.
private let openingsToRefusal = Atomic(0)

/// Makes the openings that ``openingsToRefusal`` selects fail as if the process had no descriptors.
private func refuseOpeningsForWriting() {
  let open: @convention(c) (UnsafePointer<CChar>, CInt, CInt) -> CInt = { path, flags, mode in
    if flags & O_ACCMODE == O_RDWR,
      openingsToRefusal.subtract(1, ordering: .relaxed).newValue == 0
    {
      errno = EMFILE
      return -1
    }
    return Glibc.open(path, flags, mode_t(mode))
  }
  let files = sqlite3_vfs_find(nil)
  let call = unsafeBitCast(open, to: sqlite3_syscall_ptr.self)
  #expect(files?.pointee.xSetSystemCall(files, "open", call) == SQLITE_OK)
}

private let smallDisk = ProcessInfo.processInfo.environment["USHER_TEST_SMALL_DISK"]
private let unlimited = rlim_t.max

/// Commits until the store refuses, makes room, and expects the same commit to succeed. After a
/// restart, exactly the acknowledged commits must be there.
private func expectRecovery(
  of store: Store, saying words: String, makeRoom: () async throws -> Void
) async throws {
  var refusal: UsherError?
  var number = 0
  while refusal == nil, number < 1000 {
    let row = FlowRow.sample("flw_\(number)", payload: String(repeating: "x", count: 5000))
    do throws(UsherError) {
      try await store.commit([.putFlow(row)])
      number += 1
    } catch {
      refusal = error
    }
  }
  let error = try #require(refusal)
  #expect(error.reason == .storageUnavailable)
  #expect(error.message.contains(words), "\(error.message) \(String(describing: error.cause))")
  #expect(try store.loadFlows().count == number)
  try await makeRoom()
  for next in number..<number + 3 { try await store.commit([.putFlow(.sample("flw_\(next)"))]) }
  try store.close()
  let ids = (0..<number + 3).map { FlowID("flw_\($0)") }
  #expect(Set(try StoreFixture.open(store.status.path).loadFlows().map(\.id)) == Set(ids))
}
