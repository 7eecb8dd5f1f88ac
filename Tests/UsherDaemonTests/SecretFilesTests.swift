import Dispatch
import Synchronization
import Testing
import UsherCore
import UsherTestKit

@testable import UsherDaemon

@Suite("Files with secrets of other programs", .mayBlock, .timeLimit(.minutes(10)))
struct SecretFilesTests {
  @Test("a file system that hangs delays no caller beyond the deadline, and holds one thread")
  func hangs() async throws {
    let harness = try FlowHarness()
    let answer = DispatchSemaphore(value: 0)
    let reads = Mutex(0)
    var disk = Disk()
    disk.secretFile = { path, _ throws(UsherError) in
      reads.withLock { $0 += 1 }
      answer.wait()
      return Secret("text of \(path)")
    }
    let credentials = try Credentials(
      store: harness.store, passed: nil, on: disk, dependencies: harness.dependencies)
    let content = { @Sendable () async -> UsherError? in
      await thrown { try await credentials.content(of: "/run/token") }
    }
    async let first = content()
    async let second = content()
    defer { for _ in 1...3 { answer.signal() } }
    try await reached("both callers wait: \(harness.scheduler.pending)") {
      harness.scheduler.pending.filter { $0 == .seconds(5) }.count == 2
    }
    harness.scheduler.advance(by: .seconds(5))
    for error in await [first, second] {
      #expect(error?.reason == .internalError)
      #expect(error?.message.contains("/run/token") == true)
    }
    try await reached("the file is read") { reads.withLock { $0 } == 1 }
    answer.signal()
    // The file is read anew when it can be read.
    answer.signal()
    try await reached("the file has been read") {
      (try? await credentials.content(of: "/run/token")) == Secret("text of /run/token")
    }
  }
}
