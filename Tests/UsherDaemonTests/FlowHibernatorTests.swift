import Foundation
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Hibernation of flows", .timeLimit(.minutes(10)))
struct FlowHibernatorTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  @Test("a hibernating flow shows the same view, continues on input and may hibernate again")
  func resting() async throws {
    let session = try await harness.open()
    let (flow, machine) = (session.flow, try #require(session.snapshot.machine))
    session.hibernate()
    #expect(session.isHibernating)
    #expect(session.flow == flow)
    #expect(session.snapshot.machine?.isSame(as: machine) == true)
    #expect(await harness.type("on", session) == nil)
    #expect(!session.isHibernating && session.flow.state == "on" && session.flow.revision == 2)
    #expect(session.transitions(since: 0).map(\.state) == ["asking", "on"])
    // `rest()` has no effect while the engine is still busy with the input that it has answered.
    try await reached("the flow hibernates") {
      session.hibernate()
      return session.isHibernating
    }
    #expect(session.flow.state == "on")
    #expect(await harness.cancel(session) == nil)
    #expect(session.flow.status == .cancelled && !session.isHibernating)
    #expect(session.snapshot.machine == nil && !session.hasPackedMachine)
    session.countPendingChange()
    session.hibernate()
    #expect(!session.isHibernating, "a finished flow has no machine to hibernate")
  }

  @Test("a caller of flow.wait gets the change of a flow that was hibernating")
  func waiting() async throws {
    let session = try await harness.open()
    session.hibernate()
    let (scheduler, revision) = (harness.scheduler, session.flow.revision)
    let waiter = Task { await session.wait(.seconds(30), scheduler) { $0.revision > revision } }
    try await scheduler.isSet(.seconds(30))
    #expect(session.isHibernating)
    await harness.type("on", session)
    #expect(await waiter.value.view.state == "on")
  }

  @Test("a flow with state that is only in memory does not hibernate")
  func memory() async throws {
    let session = try await harness.open()
    var snapshot = session.snapshot
    snapshot.machine = StubMachine(
      provider: try .sample(), probe: harness.place.path, secret: Sealed(Secret("unwritten")))
    session.install(snapshot)
    session.hibernate()
    #expect(!session.isHibernating)
    #expect(session.snapshot.machine?.isSame(as: try #require(snapshot.machine)) == true)
  }

  @Test("the flows that changed last do not hibernate, up to the limit")
  func order() async throws {
    let rest = FlowHibernator(limit: 2)
    var sessions: [LiveFlow] = []
    for number in 1...4 {
      let session = try await harness.open(id: "flw_\(number)")
      session.hibernate()
      // The flow is in memory again, but the engine's hibernator does not count it.
      session.install(session.snapshot)
      sessions.append(session)
    }
    #expect(sessions.map(\.isHibernating) == [false, false, false, false])
    for place in [0, 1, 0, 2] { rest.recordChange(sessions[place]) }
    #expect(sessions.map(\.isHibernating) == [false, true, false, false])
    rest.recordChange(sessions[3])
    #expect(sessions.map(\.isHibernating) == [true, true, false, false])
    rest.recordChange(sessions[3])
    rest.recordChange(sessions[3])
    #expect(sessions.map(\.isHibernating) == [true, true, true, false])
  }
}

@Suite("Flows read back from the store", .timeLimit(.minutes(10)))
struct ResumedFlowTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  /// Returns the session as it is after a restart.
  private func again(_ session: LiveFlow) throws -> LiveFlow {
    let machine = try #require(session.snapshot.machine)
    return LiveFlow(
      id: session.id, owner: session.owner, provider: session.provider, kind: session.kind,
      requestID: nil, createdAt: session.createdAt, snapshot: session.snapshot,
      transitions: session.transitions(since: 0),
      packed: try machine.packed(by: harness.engine.repository.coder), isToResume: true)
  }

  @Test("a restored flow gets its resume event once, before an input that arrived earlier")
  func mailFirst() async throws {
    let session = try again(try await harness.open())
    #expect(session.isHibernating && session.flow.state == "asking")
    #expect(await harness.type("on", session, revision: 1) == .conflict, "the revision is 2 by now")
    #expect(session.flow.state == "resumed" && session.flow.revision == 2)
    await harness.engine.resumeOnce(session)
    #expect(await harness.type("on", session) == nil)
    try await reached("the call is repeated") { !harness.probe.seen.isEmpty }
    #expect(harness.probe.seen.map(\.call) == ["again"])
  }

  @Test("a restored flow gets its resume event even if no input arrives")
  func noMail() async throws {
    let session = try again(try await harness.open())
    await harness.engine.resumeOnce(session)
    #expect(session.flow.state == "resumed")
    #expect(try harness.row(session).state == "resumed")
  }

  @Test("a stopped engine does not resume a restored flow")
  func stopped() async throws {
    let session = try again(try await harness.open())
    harness.engine.stop()
    await harness.engine.resumeOnce(session)
    #expect(session.flow.state == "asking" && harness.engine.isIdle)
  }
}

@Suite("Deadlines of flows", .timeLimit(.minutes(10)))
struct FlowDeadlinesTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  @Test("many flows share one timer at the next deadline, and each flow expires at its own")
  func many() async throws {
    let first = try await harness.open(id: "flw_1")
    harness.scheduler.advance(by: .seconds(100))
    let second = try await harness.open(id: "flw_2")
    harness.scheduler.advance(by: .seconds(100))
    let third = try await harness.open(id: "flw_3")
    #expect(harness.scheduler.pending == [.seconds(400)])
    #expect(await harness.cancel(first) == nil)
    harness.scheduler.advance(by: .seconds(400))
    #expect(harness.scheduler.pending == [.seconds(100)], "a cancelled flow has no timer")
    #expect(second.flow.status == .active)
    harness.scheduler.advance(by: .seconds(100))
    try await reached("the second flow has expired") { second.flow.status == .expired }
    #expect(third.flow.status == .active && harness.scheduler.pending == [.seconds(100)])
    harness.scheduler.advance(by: .seconds(100))
    try await reached("the third flow has expired") { third.flow.status == .expired }
    #expect(harness.scheduler.pending.isEmpty)
  }

  @Test("a flow with an earlier deadline takes over the timer")
  func earlier() async throws {
    let later = try await harness.open(id: "flw_1")
    harness.clock.advance(by: .seconds(-200))
    let earlier = try await harness.open(id: "flw_2")
    #expect(harness.scheduler.pending == [FlowHarness.deadline])
    harness.scheduler.advance(by: FlowHarness.deadline)
    try await reached("the flow has expired") { earlier.flow.status == .expired }
    #expect(later.flow.status == .active && harness.scheduler.pending == [.seconds(200)])
  }

  @Test(
    "a flow whose machine sets another deadline expires then, with the machine's failure",
    arguments: [10, 900])
  func changed(seconds: Int) async throws {
    let session = try await harness.open()
    harness.scheduler.advance(by: .seconds(500))
    #expect(await harness.type("end in \(seconds)", session) == nil)
    let end = harness.clock.now() + .seconds(seconds)
    #expect(session.expiresAt == end && session.flow.expiresAt == end)
    #expect(try harness.row(session).expiresAt == end)
    harness.scheduler.advance(by: .seconds(seconds - 1))
    #expect(session.flow.status == .active)
    harness.scheduler.advance(by: .seconds(1))
    try await reached("the flow has expired") { session.flow.status == .expired }
    #expect(session.flow.failure?.message == "the machine's time is over")
    harness.scheduler.advance(by: FlowHarness.deadline)
    #expect(harness.scheduler.pending.isEmpty)
  }

  @Test("an expiry that was posted before the flow got a later deadline has no effect")
  func overtaken() async throws {
    let session = try await harness.open()
    #expect(await harness.type("end in 900", session) == nil)
    harness.engine.deliver(.event(.expired), to: session)
    #expect(await harness.type("poll", session) == nil)
    #expect(session.flow.status == .active)
    harness.scheduler.advance(by: .seconds(900))
    try await reached("the flow has expired") { session.flow.status == .expired }
  }

  @Test("a stopped engine has no deadline timer and sets none")
  func stopping() async throws {
    let session = try await harness.open()
    harness.engine.stop()
    #expect(harness.scheduler.pending.isEmpty)
    harness.engine.deadlines.watch(session)
    #expect(harness.scheduler.pending.isEmpty)
  }
}

@Suite("Shared metadata of flows", .timeLimit(.minutes(10)))
struct FlowMetadataPoolTests {
  private func metadata(
    _ owner: Owner = .anna, client: String? = "till",
    credentials: CredentialTags = CredentialTags()
  ) -> FlowMetadata {
    FlowMetadata(
      owner: owner, provider: .work, kind: "stub", client: client, uid: owner.uid,
      credentials: credentials)
  }

  @Test("equal flow metadata is kept once, and metadata that differs in any member separately")
  func once() {
    let metadataPool = FlowMetadataPool()
    let first = metadataPool.shared(metadata())
    #expect(metadataPool.shared(metadata()) === first)
    #expect(metadataPool.shared(metadata(.bert)) !== first)
    #expect(metadataPool.shared(metadata(client: nil)) !== first)
    let tags = CredentialTags(["secret": Secret("s")]) { _, _ in .init([1]) }
    let others = metadataPool.shared(metadata(credentials: tags))
    #expect(others !== first && others.value.credentials == tags)
    #expect(metadataPool.shared(metadata(credentials: tags)) === others)
  }
}
