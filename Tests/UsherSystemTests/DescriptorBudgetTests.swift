import Glibc
import Testing
import UsherCore

@testable import UsherSystem

@Suite("Reserve of file descriptors")
struct DescriptorBudgetTests {
  @Test(
    "less essential uses of descriptors end before more essential ones, and all before the limit")
  func order() {
    for limit in [64, 1024, 8192, 65_536] {
      let budget = DescriptorBudget(limit: limit)
      let ends = DescriptorBudget.Use.allCases.map { use in
        (0..<CInt(limit)).first { !budget.allows($0, for: use) } ?? CInt(limit)
      }
      #expect(ends == ends.sorted() && Set(ends).count == ends.count)
      #expect(ends.allSatisfy { $0 < limit && $0 >= limit * 3 / 4 })
    }
  }

  @Test("a use has room for a descriptor if the next descriptor number is within its share")
  func next() {
    let numbers: [CInt?] = [767, 768, 895, 896, nil]
    let rooms = numbers.map { number -> [Bool] in
      let budget = DescriptorBudget(limit: 1024) { number }
      return DescriptorBudget.Use.allCases.map(budget.hasRoom)
    }
    #expect(
      rooms == [
        [true, true, true], [false, true, true], [false, true, true], [false, false, true],
        [false, false, false],
      ])
  }

  @Test("descriptors stay free for administrator and libraries when callers use up their share")
  func reserve() async {
    await #expect(processExitsWith: .success) {
      // The limit is high enough that the inherited descriptors stay below the end of each use.
      let last = (0..<CInt(65_536)).last { fcntl($0, F_GETFD) >= 0 } ?? 0
      let limit = rlim_t(last) * 4 + 128
      var files = rlimit(rlim_cur: limit, rlim_max: limit)
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0)
      let budget = DescriptorBudget.ofProcess()
      for use in DescriptorBudget.Use.allCases {
        var count = 0
        while budget.hasRoom(for: use) {
          let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
          #expect(budget.allows(descriptor, for: use))
          count += 1
        }
        #expect(count >= 8)
      }
      #expect((0..<8).allSatisfy { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0 })
    }
  }

  @Test("the error for exhausted descriptors names LimitNOFILE and is retryable")
  func error() {
    let error = DescriptorBudget.exhausted
    #expect(error.reason == .overloaded && error.isRetryable)
    #expect(error.detail.limit == "LimitNOFILE" && error.detail.retryAfterMs != nil)
  }
}
