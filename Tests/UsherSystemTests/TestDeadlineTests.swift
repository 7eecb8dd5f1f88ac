import Testing
import UsherTestKit

@Suite("Time limits of waits in tests", .mayBlock)
struct TestDeadlineTests {
  @Test(
    "the limit of a test's wait grows with late wake-ups and threads per processor, up to 5 times")
  func scale() {
    func slowness(_ milliseconds: Int, _ threads: Double) -> Double {
      MachineSpeed.slowness(slept: .milliseconds(milliseconds), threadsPerProcessor: threads)
    }
    #expect(slowness(20, 0) == 1)
    #expect(slowness(10, 0.5) == 1)
    #expect(slowness(60, 0.5) == 3)
    #expect(slowness(20, 4) == 4)
    #expect(slowness(60_000, 4) == 5)
  }

  @Test("a test's wait without time checks once, and one whose condition is met checks no more")
  func looks() {
    var looks: [Bool] = []
    let isMet = TestDeadline(within: 0).isMet {
      looks.append($0)
      return false
    }
    #expect(!isMet && looks == [true])
    #expect(TestDeadline().isMet { isLast in !isLast })
  }
}
