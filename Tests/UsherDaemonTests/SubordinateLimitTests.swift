import Dispatch
import Testing
import UsherConfig
import UsherCore
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

@Suite("Limits of users with subordinate ids", .timeLimit(.minutes(10)))
struct SubordinateLimitTests {
  private static let users = SubordinateUsers("1000:300000:65536")
  private static let below = [
    Owner(realm: "host", uid: 300_001), Owner(realm: "host", uid: 365_535),
  ]

  @Test("flow starts by subordinate ids count for flow_starts_per_minute of the user")
  func starts() async throws {
    let harness = try LockControllerHarness { $0.limits.flowStartsPerMinute = 2 }
    let lockController = try await harness.begun()
    let engine = try lockController.services().flows.engine
    lockController.processContext.dependencies.subordinates.apply(Self.users)
    _ = try engine.admit(.anna)
    _ = try engine.admit(Self.below[0])
    let error = #expect(throws: UsherError.self) { _ = try engine.admit(Self.below[1]) }
    #expect(error?.detail.limit == "flow_starts_per_minute")
    _ = try engine.admit(.bert)
    await lockController.end()
  }

  @Test("live flows of subordinate ids count for live_flows_per_user of the user")
  func live() async throws {
    let harness = try LockControllerHarness { $0.limits.liveFlowsPerUser = 2 }
    let lockController = try await harness.begun()
    let engine = try lockController.services().flows.engine
    lockController.processContext.dependencies.subordinates.apply(Self.users)
    let places = [try engine.admit(.anna), try engine.admit(Self.below[0])]
    let error = #expect(throws: UsherError.self) { _ = try engine.admit(Self.below[1]) }
    #expect(error?.detail.limit == "live_flows_per_user")
    _ = try engine.admit(.bert)
    places[1].release()
    _ = try engine.admit(Self.below[1])
    await lockController.end()
  }

  @Test("open questions of subordinate ids count for the user's limit")
  func questions() throws {
    var limits = Limits()
    limits.openConfirmationsPerUser = 1
    let harness = try ConfirmHarness(limits)
    harness.harness.dependencies.subordinates.apply(Self.users)
    let kiosk = try Caller.client("kiosk")
    #expect(harness.refusal(kiosk) == .interactionRequired)
    #expect(harness.refusal(kiosk) == .interactionRequired)
    #expect(harness.refusal(try .client("kiosk", of: Self.below[0])) == .rateLimited)
    #expect(harness.refusal(try .client("kiosk", of: .bert)) == .interactionRequired)
  }
}

@Suite("Map of subordinate ids", .timeLimit(.minutes(10)))
struct SubordinateUserMapTests {
  private static let users = SubordinateUsers("1000:300000:10")

  /// - Parameter source: The content of the user database.
  private func read(
    _ map: SubordinateUserMap, _ scheduler: FakeScheduler,
    from source: @escaping @Sendable () -> SubordinateUsers? = { nil }
  ) async -> SubordinateUserMap.ReadResult {
    var users = UserDatabase.fake
    users.subordinates = source
    return await map.read(
      within: .seconds(5), in: .fake(FakeClock(), scheduler, users: users))
  }

  @Test("reading the subordinate ids gives up after 5 s, and a late answer is still applied")
  func hanging() async throws {
    let (map, scheduler, hold) = (
      SubordinateUserMap(), FakeScheduler(FakeClock()), DispatchSemaphore(value: 0)
    )
    let reading = Task {
      await read(map, scheduler) {
        hold.wait()
        return Self.users
      }
    }
    try await scheduler.isSet(.seconds(5))
    scheduler.advance(by: .seconds(5))
    #expect(await reading.value == .timedOut)
    #expect(await read(map, scheduler) == .timedOut, "a second read must not block a second thread")
    hold.signal()
    try await reached("the late answer is applied") { map.user(ofSubordinate: 300_001) == 1000 }
  }

  @Test("a cancelled read of the subordinate ids is reported as that, and its answer still applies")
  func stopped() async throws {
    let (map, scheduler, hold) = (
      SubordinateUserMap(), FakeScheduler(FakeClock()), DispatchSemaphore(value: 0)
    )
    let reading = Task {
      await read(map, scheduler) {
        hold.wait()
        return Self.users
      }
    }
    try await scheduler.isSet(.seconds(5))
    reading.cancel()
    #expect(await reading.value == .cancelled)
    #expect(scheduler.pending == [])
    hold.signal()
    try await reached("the late answer is applied") { map.user(ofSubordinate: 300_001) == 1000 }
  }

  @Test("unreadable subordinate ids leave the earlier map in place")
  func unreadable() async {
    let (map, scheduler) = (SubordinateUserMap(), FakeScheduler(FakeClock()))
    #expect(await read(map, scheduler) { Self.users } == .done)
    #expect(await read(map, scheduler) { nil } == .unreadable)
    #expect(map.user(ofSubordinate: 300_001) == 1000)
  }

  @Test("before the first map, an id from 65,536 on counts as subordinate id of an unknown user")
  func unread() async {
    let (map, scheduler) = (SubordinateUserMap(), FakeScheduler(FakeClock()))
    func expectNoMap() {
      for uid: UInt32 in [65_536, 300_001, .max] {
        #expect(map.owners(ofSubordinate: uid) == [.unknown])
      }
      for uid: UInt32 in [0, 1000, 65_535] { #expect(map.owners(ofSubordinate: uid) == []) }
    }
    expectNoMap()
    #expect(await read(map, scheduler) { nil } == .unreadable)
    expectNoMap()
    #expect(await read(map, scheduler) { Self.users } == .done)
    #expect(map.owners(ofSubordinate: 300_001) == [.user(1000)])
    #expect(map.owners(ofSubordinate: 400_000) == [])
    // The earlier map still applies.
    #expect(await read(map, scheduler) { nil } == .unreadable)
    #expect(map.owners(ofSubordinate: 300_001) == [.user(1000)])
    #expect(map.owners(ofSubordinate: 400_000) == [])
  }

  @Test("unreadable lines of subordinate ids are reported once per change, and the others apply")
  func partial() async {
    let (map, scheduler) = (SubordinateUserMap(), FakeScheduler(FakeClock()))
    func warnings(_ text: String) async -> [String] {
      let reading = await read(map, scheduler) { SubordinateUsers(text) }
      #expect(map.user(ofSubordinate: 300_001) == 1000)
      if case .partial(let gaps) = reading { return gaps.warnings }
      #expect(reading == .done)
      return []
    }
    let (one, two) = ("wrong\n1000:300000:10\n", "1000:300000:10\nwrong\n")
    let first = await warnings(one)
    #expect(first.count == 1)
    #expect(first.first?.hasSuffix(": 1") == true, "\(first)")
    #expect(await warnings(one) == [])
    let second = await warnings(two)
    #expect(second.first?.hasSuffix(": 2") == true, "\(second)")
    #expect(await warnings("1000:300000:10\n") == [])
    #expect(await warnings(two) == second)
  }
}
