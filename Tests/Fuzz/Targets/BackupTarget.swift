import Dispatch
import FoundationEssentials
import Glibc
import UsherCore

@testable import UsherStore

extension FuzzTarget {
  /// A changed database file, as a restored backup may be, is refused with an error, or has only
  /// rows that usherd wrote and all credentials.
  ///
  /// Each change has four bytes: the position and the new byte. If the first byte is 255, the
  /// second one is the number of pages to which the file is cut.
  static let backup = FuzzTarget("backup", maxBytes: 128) { input in
    let original = SampleBackup.original
    let file = try SampleBackup(original.bytes.changed(byFours: input))
    defer { file.remove() }
    let content: SampleBackup.Content
    do throws(UsherError) {
      content = try file.read()
    } catch {
      try require(error.reason == .storageUnavailable, "another error: \(error)")
      return try requireShowable(error.message, without: ["backup-secret"], "the error")
    }
    try require(content.flows.isSubset(of: original.content.flows), "a row of another flow")
    try require(content.tokens.isSubset(of: original.content.tokens), "a row of another token")
    try require(content.credentials == original.content.credentials, "other credentials")
  }
}

/// A database file in a directory of its own.
private struct SampleBackup {
  struct Content: Sendable {
    let flows: Set<FlowRow>
    let tokens: Set<TokenRow>
    let credentials: [CredentialRow]
  }

  /// The bytes and the content of a file that usherd wrote.
  static let original: (bytes: [UInt8], content: Content) = {
    do {
      let file = try SampleBackup(nil)
      defer { file.remove() }
      try file.fill()
      let content = try file.read()
      return ([UInt8](try Data(contentsOf: URL(filePath: file.path))), content)
    } catch {
      fatalError("the sample of a backup cannot be written: \(error)")
    }
  }()

  private let directory: String
  private var path: String { directory + "/usherd.db" }

  init(_ bytes: [UInt8]?) throws {
    var template = Array((Self.parent + "/usher-fuzz.XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemCallError(call: "mkdtemp", errno: errno) }
    directory = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    guard let bytes else { return }
    try Data(bytes).write(to: URL(filePath: path))
  }

  func remove() { try? FileManager.default.removeItem(atPath: directory) }

  /// In memory if possible, because the disk would be the slowest part.
  private static let parent =
    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : FileManager.default.temporaryDirectory.path

  private func open() throws(UsherError) -> Store {
    try Store.open(
      path: path, masterKey: Array(repeating: 9 as UInt8, count: 32),
      keyStorage: { FixedKey(bytes: Array($0)) }, clock: FixedClock(), entropy: CountedEntropy(),
      blocking: GlobalThreads())
  }

  /// Opens the database and reads its rows.
  func read() throws(UsherError) -> Content {
    let store = try open()
    defer { try? store.close() }
    try store.check()
    var tokens: Set<TokenRow> = []
    for account in try store.accounts(.all, atMost: 16) {
      tokens.formUnion(try store.open(account).tokens)
    }
    return Content(
      flows: Set(try store.loadFlows()), tokens: tokens, credentials: try store.loadCredentials())
  }

  /// Creates the database and its rows.
  func fill() throws {
    let store = try open()
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var problem: UsherError?
    Task {
      do throws(UsherError) {
        try await store.commit([
          .putFlow(SampleRows.flow), .putAccount(SampleRows.account), .putToken(SampleRows.token),
          .putCredential("work-secret", Secret("backup-secret")),
        ])
        try await store.audit.append([
          AuditEntry(at: SampleRows.now, payload: SealedPayload(Array("row".utf8)))
        ])
      } catch {
        problem = error
      }
      done.signal()
    }
    done.wait()
    try store.close()
    if let problem { throw problem }
  }
}

extension [UInt8] {
  fileprivate func changed(byFours changes: [UInt8]) -> [UInt8] {
    if changes.count == 2, changes[0] == 255 { return Array(prefix(Int(changes[1]) * 4096)) }
    var changed = self
    for start in stride(from: 0, to: changes.count - changes.count % 4, by: 4) {
      let place = changes[start..<start + 3].reduce(0) { $0 << 8 | Int($1) }
      changed[place % changed.count] = changes[start + 3]
    }
    return changed
  }
}

private struct FixedClock: UsherCore.Clock {
  func now() -> Timestamp { SampleRows.now }
}

private struct GlobalThreads: BlockingPool {
  func start(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().async(execute: body)
  }
}
