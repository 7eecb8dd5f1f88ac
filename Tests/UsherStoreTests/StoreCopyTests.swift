import FoundationEssentials
import GRDB
import Glibc
import Synchronization
import Testing
import UsherCore
import UsherTestKit

@testable import UsherStore

@Suite("Copies of the database", .timeLimit(.minutes(10)))
struct StoreCopyTests {
  private let fixture: StoreFixture
  private var path: String { fixture.directory + "/copy" }
  init() throws { fixture = try StoreFixture() }

  private func pragma(_ name: String, of path: String) throws -> String? {
    let database = try DatabaseQueue(path: path)
    defer { try? database.close() }
    return try database.read { try String.fetchOne($0, sql: "PRAGMA \(name)") }
  }

  @Test("a copy of the database is complete, has mode 600, and opens with the same key")
  func whole() async throws {
    let store = try fixture.open()
    try await store.commit([
      .putFlow(.sample()), .appendJournal(.sample()), .rememberRequest(.sample()),
      .putAccount(.sample()), .putToken(.sample()), .putNote(.sample()),
    ])
    let size = try await store.copy(to: path)
    var status = stat()
    #expect(stat(path, &status) == 0)
    #expect(status.st_mode & 0o7777 == 0o600 && status.st_nlink == 1)
    #expect(Int64(status.st_size) == size && size > 4096)
    for (name, value) in [
      ("application_id", "\(StoreSchema.applicationID)"),
      ("user_version", "\(StoreSchema.version)"),
      ("integrity_check", "ok"), ("foreign_key_check", nil),
    ] {
      #expect(try pragma(name, of: path) == value)
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: fixture.directory).allSatisfy {
        !$0.hasSuffix(".new") && !$0.hasPrefix("copy-")
      })
    let copy = try StoreFixture.open(path)
    #expect(try copy.loadFlows() == store.loadFlows())
    #expect(try copy.loadJournal() == store.loadJournal())
    #expect(try copy.loadRequests() == store.loadRequests())
    #expect(try copy.loadAccounts() == store.loadAccounts())
    #expect(try copy.loadTokens() == store.loadTokens())
    try await copy.commit([.deleteFlow(FlowID("flw_1"))])
    #expect(try store.loadFlows().count == 1)
  }

  @Test("a copy of the database has the state of one moment and does not block concurrent writes")
  func underWrites() async throws {
    let store = try fixture.open()
    let filling = String(repeating: "x", count: 4096)
    for number in 0..<500 {
      try await store.commit([.putFlow(.sample("flw_\(number)", payload: filling))])
    }
    let written = Mutex(0)
    let writing = Task {
      // Each commit writes two rows with the same number.
      while !Task.isCancelled {
        let number = written.withLock { $0 }
        try await store.commit([
          .putFlow(.sample("flw_a", payload: "\(number)")),
          .putFlow(.sample("flw_b", payload: "\(number)")),
        ])
        written.withLock { $0 += 1 }
      }
    }
    var number = 0
    while number < 5 || written.withLock({ $0 }) <= 5 {
      let path = "\(path)-\(number)"
      _ = try await store.copy(to: path)
      let copy = try StoreFixture.open(path)
      let flows = try copy.loadFlows()
      let (a, b) = (
        flows.first { $0.id == FlowID("flw_a") }, flows.first { $0.id == FlowID("flw_b") }
      )
      #expect(a?.payload == b?.payload)
      #expect(flows.count >= 500)
      try copy.close()
      try FileManager.default.removeItem(atPath: path)
      number += 1
    }
    writing.cancel()
    try await writing.value
    #expect(try store.loadFlows().count == 502)
  }

  @Test("a copy of the database overwrites no file, and a failed copy leaves no file behind")
  func refusals() async throws {
    let store = try fixture.open()
    try Data("mine".utf8).write(to: URL(filePath: path))
    let error = await #expect(throws: UsherError.self) { try await store.copy(to: path) }
    #expect(error?.reason == .storageUnavailable && error?.message.contains(path) == true)
    #expect(try Data(contentsOf: URL(filePath: path)) == Data("mine".utf8))
    #expect(access(path + ".new", F_OK) != 0)
    let nowhere = await #expect(throws: UsherError.self) {
      try await store.copy(to: fixture.directory + "/none/copy")
    }
    #expect(nowhere?.message.contains("No such file or directory") == true)
    try store.close()
    await #expect(throws: UsherError.self) { try await store.copy(to: path + "2") }
  }

  @Test("a copy of the database that is cancelled before it begins leaves no file behind")
  func cancelled() async throws {
    let pool = HeldPool()
    let store = try Store.open(
      path: fixture.path, masterKey: StoreFixture.masterKey,
      keyStorage: { PlainKey(bytes: Array($0)) }, clock: FakeClock(StoreFixture.now),
      entropy: SystemEntropy(), blocking: pool)
    let copying = Task { [path] in try await store.copy(to: path) }
    await pool.isAsked.wait()
    copying.cancel()
    pool.release()
    // Nothing was written, whether or not the empty file has been removed already.
    var status = stat()
    #expect(stat(path + ".new", &status) != 0 || status.st_size == 0)
    let error = await #expect(throws: UsherError.self) { try await copying.value }
    #expect(error?.reason == .cancelled)
    for file in [path, path + ".new"] { #expect(access(file, F_OK) != 0) }
    try store.close()
  }

  @Test("a second copy of the database at the same time is refused as overloaded and retryable")
  func two() async throws {
    let store = try fixture.open()
    let source = try DatabaseQueue(path: fixture.path)
    store.copying.withLock { $0 = source }
    let error = await #expect(throws: UsherError.self) { try await store.copy(to: path) }
    #expect(error?.reason == .overloaded && error?.isRetryable == true)
    store.copying.withLock { $0 = nil }
    #expect(try await store.copy(to: path) > 0)
  }

  @Test("a database copy that fills the disk leaves no partial file and the database unchanged")
  func fullDisk() async throws {
    let store = try fixture.open()
    try await store.commit([.putFlow(.sample())])
    await #expect(processExitsWith: .success) { [directory = fixture.directory as String] in
      let crashed = try StoreFixture.open(directory + "/other.db")
      try await crashed.commit([.putFlow(.sample(payload: String(repeating: "y", count: 100_000)))])
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: 65_536, rlim_max: 65_536)
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      let error = try await #require(throws: UsherError.self) {
        try await crashed.copy(to: directory + "/other.copy")
      }
      try #require(error.reason == .storageUnavailable)
      try #require(access(directory + "/other.copy", F_OK) != 0)
      try #require(access(directory + "/other.copy.new", F_OK) != 0)
      try #require(try crashed.loadFlows().count == 1)
    }
  }
}

/// Holds the functions that may block until ``release()``.
private final class HeldPool: BlockingPool {
  let isAsked = AsyncLatch()
  private let held = Mutex<[@Sendable () -> Void]>([])

  func start(_ body: @escaping @Sendable () -> Void) {
    held.withLock { $0.append(body) }
    isAsked.open()
  }

  func release() { for body in held.withLock({ exchange(&$0, with: []) }) { body() } }
}
