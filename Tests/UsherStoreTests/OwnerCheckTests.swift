import Glibc
import Synchronization
import Testing
import UsherCore

@testable import UsherStore

@Suite("Owner check before a commit")
struct OwnerCheckTests {
  let fixture: StoreFixture
  init() throws { fixture = try StoreFixture() }

  /// backtrace(3).
  private typealias Backtrace =
    @convention(c) (UnsafeMutablePointer<UnsafeMutableRawPointer?>, CInt) -> CInt

  /// A closure stored directly in a `Mutex` is wrapped once more at each read, until the stack
  /// overflows.
  @Test("the owner check has the same call depth at the thousandth commit as at the first")
  func depth() async throws {
    let store = try fixture.open()
    let depths = Mutex<[CInt]>([])
    let backtrace = unsafeBitCast(
      try #require(dlsym(nil, "backtrace")), to: Backtrace.self)
    store.checkOwners { _ in
      var frames = [UnsafeMutableRawPointer?](repeating: nil, count: 4096)
      let depth = backtrace(&frames, CInt(frames.count))
      depths.withLock { $0.append(depth) }
    }
    for _ in 0..<1000 { try await store.commit([.putAccount(.sample())]) }
    let all = depths.withLock { $0 }
    let (first, last) = (try #require(all.first), try #require(all.last))
    #expect(all.count == 1000)
    #expect(last < first + 50, "\(first) frames at the first commit, \(last) at the last")
    try store.close()
  }
}
