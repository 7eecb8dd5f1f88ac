import Synchronization
import Testing
import UsherCore

@testable import UsherSimulator

@Suite("The steps of a simulation", .timeLimit(.minutes(1)))
struct SimulatorTests {
  /// Returns a simulator on the machine's clocks: nothing that is tested here reads them.
  private static func simulator(seed: UInt64) -> Simulator {
    Simulator(seed: seed, kernel: SimulatedKernel(), print: nil)
  }

  /// Returns the order in which eight steps that are ready at the same time run.
  private static func order(seed: UInt64) -> [Int] {
    let simulator = simulator(seed: seed)
    let taken = Mutex<[Int]>([])
    for number in 0..<8 { simulator.soon { taken.withLock { $0.append(number) } } }
    simulator.run(until: 1_000_000_000)
    return taken.withLock { $0 }
  }

  @Test("the seed determines the order of steps that are ready at the same time")
  func seeds() {
    let orders = (1...20).map { Self.order(seed: $0) }
    #expect(orders == (1...20).map { Self.order(seed: $0) })
    #expect(orders.allSatisfy { $0.sorted() == Array(0..<8) })
    #expect(Set(orders).count > 5)
  }

  @Test("a timer runs when its time has come, and the time is moved there if nothing else waits")
  func timers() {
    let simulator = Self.simulator(seed: 1)
    let times = Mutex<[UInt64]>([])
    for delay in [Duration.seconds(50), .seconds(1), .seconds(3000)] {
      simulator.after(delay) { times.withLock { $0.append(simulator.now / 1_000_000_000) } }
    }
    simulator.run(until: 100_000_000_000)
    #expect(times.withLock { $0 } == [1, 50])
    #expect(simulator.now == 100_000_000_000)
  }

  @Test("a violated property ends the run")
  func finding() {
    let simulator = Self.simulator(seed: 1)
    let count = Mutex(0)
    for second in 1...9 {
      simulator.after(.seconds(second)) {
        count.withLock { $0 += 1 }
        if second == 3 { simulator.fail("the third step") }
      }
    }
    simulator.run(until: 60_000_000_000)
    #expect(simulator.finding == "the third step")
    #expect(count.withLock { $0 } == 3)
  }

  @Test("a task or function that leaves the simulation's thread violates a property")
  func escapes() {
    let escapes = Mutex(0)
    var kernel = SimulatedKernel()
    kernel.escapes = { escapes.withLock { $0 } }
    let simulator = Simulator(seed: 1, kernel: kernel, print: nil)
    simulator.soon { escapes.withLock { $0 += 1 } }
    simulator.run(until: 1_000_000_000)
    #expect(simulator.finding?.contains("another thread") == true)
  }
}
