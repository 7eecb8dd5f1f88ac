import JSONRPC
import Synchronization
import Testing
import UsherAPI
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Flow transitions", .mayBlock, .timeLimit(.minutes(10)))
struct FlowEngineTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  @Test("a flow and its first journal line are on disk before its first effect")
  func opening() async throws {
    _ = try await harness.open([.call(harness.call)])
    try await reached("the flow makes its call") { !harness.probe.seen.isEmpty }
    #expect(
      harness.probe.seen == [.init(call: "effect", revision: 1, state: "asking", journal: 1)])
  }

  @Test("a new flow is announced before its first effects begin")
  func announcement() async throws {
    let effects = Mutex<[[Duration]]>([])
    let scheduler = harness.scheduler
    _ = harness.events.listen(since: nil) { _ in
      effects.withLock { $0.append(scheduler.pending.filter { $0 == .seconds(7) }) }
    }
    _ = try await harness.open([.wake(after: .seconds(7))])
    #expect(effects.withLock { $0 } == [[]])
    #expect(scheduler.pending.contains(.seconds(7)))
  }

  @Test("a flow whose requestId has already started a flow is refused at the first attempt")
  func requestIDReused() async throws {
    let commits = Recorded<Owner>()
    harness.store.checkOwners { commits.add($0) }
    let machine = StubMachine(provider: try .sample(), probe: harness.place.path)
    let flows = ["flw_1", "flw_2"].map {
      LiveFlow(of: machine, id: $0, requestID: "req-1", at: harness.clock.now())
    }
    let moment = harness.dependencies.transitionContext()
    try await harness.engine.open(flows[0], with: .proceed([]), at: moment) {}
    let error = await thrown {
      try await harness.engine.open(flows[1], with: .proceed([]), at: moment) {}
    }
    #expect(error?.reason == .requestIDReused && error?.detail.flow == flows[0].id)
    #expect(commits.all.count == 2)
  }

  @Test("the transition of an input is on disk before its effect and before the reply")
  func submitting() async throws {
    let session = try await harness.open()
    #expect(await harness.type("call", session) == nil)
    let row = try harness.row(session)
    #expect(row.revision == 2 && row.state == "calling" && row.status == "active")
    #expect(try harness.journal() == ["asking", "calling"])
    try await reached("the flow makes its call") { !harness.probe.seen.isEmpty }
    #expect(
      harness.probe.seen == [.init(call: "effect", revision: 2, state: "calling", journal: 2)])
    #expect(session.flow.state == "calling")
  }

  @Test("a flow handles its inputs one at a time, in order of arrival")
  func order() async throws {
    let session = try await harness.open()
    await withTaskGroup { group in
      for number in 1...20 {
        let (replies, continuation) = AsyncStream<UsherError.Reason?>.makeStream()
        harness.engine.deliver(
          .request(.submit(.code(Secret("step \(number)"), fields: [:]), revision: number)) {
            result in
            if case .failure(let error) = result { continuation.yield(error.reason) }
            continuation.finish()
          }, to: session)
        group.addTask { for await reason in replies { #expect(reason == nil) } }
      }
    }
    #expect(try harness.journal() == ["asking"] + (1...20).map { "step \($0)" })
    #expect(session.transitions(since: 19).map(\.state) == ["step 19", "step 20"])
    #expect(session.snapshot.revision == 21)
  }

  @Test("an input for another revision is a conflict, and of two concurrent inputs one wins")
  func conflict() async throws {
    let session = try await harness.open()
    #expect(await harness.type("a", session, revision: 0) == .conflict)
    #expect(await harness.type("a", session, revision: 2) == .conflict)
    async let one = harness.type("one", session, revision: 1)
    async let two = harness.type("two", session, revision: 1)
    let outcomes = await [one, two]
    #expect(outcomes.count { $0 == nil } == 1)
    #expect(outcomes.count { $0 == .conflict } == 1)
    #expect(session.snapshot.revision == 2)
  }

  @Test("a refused or unexpected input leaves the flow exactly as it was")
  func refused() async throws {
    let session = try await harness.open()
    let machine = try #require(session.snapshot.machine)
    let row = try harness.row(session)
    let cases: [(FlowInput, UsherError.Reason)] = [
      (.code(Secret("bad"), fields: [:]), .invalidInput),
      (.code(Secret("odd"), fields: [:]), .unexpectedInput),
      (.resend, .unexpectedInput), (.password(Secret("x")), .unexpectedInput),
      (.redirect(url: Secret("x")), .unexpectedInput), (.back(.choose), .unexpectedInput),
    ]
    for (input, reason) in cases { #expect(await harness.submit(input, session) == reason) }
    #expect(session.snapshot.machine?.isSame(as: machine) == true)
    #expect(session.snapshot.revision == 1)
    #expect(try harness.row(session) == row)
    #expect(try harness.journal() == ["asking"])
  }

  @Test("an input after its time limit fails the flow and is answered with flow_finished")
  func late() async throws {
    let session = try await harness.open()
    #expect(await harness.type("late", session) == .flowFinished)
    #expect(session.flow.failure?.reason == .exchangeTimedOut)
    #expect(try harness.row(session).status == "failed")
    #expect(await harness.type("late", session) == .flowFinished)
  }

  @Test(
    "a flow transition without a visible effect is stored without a new revision or journal line")
  func unseen() async throws {
    let session = try await harness.open()
    let before = try harness.row(session)
    #expect(await harness.type("poll", session) == nil)
    let after = try harness.row(session)
    #expect(after.payload != before.payload)
    #expect(after.revision == 1)
    #expect(try harness.journal() == ["asking"])
  }

  @Test("a timer wakes its flow, and a later timer of the flow replaces it")
  func waking() async throws {
    let session = try await harness.open()
    await harness.type("nap", session)
    harness.scheduler.advance(by: .seconds(4))
    await harness.type("nap", session)
    harness.scheduler.advance(by: .seconds(4))
    #expect(harness.scheduler.pending.contains(.seconds(1)))
    #expect(session.snapshot.view.state == "napping")
    harness.scheduler.advance(by: .seconds(1))
    try await reached("the timer wakes the flow") { session.snapshot.view.state == "woken" }
    #expect(session.snapshot.revision == 3)
  }

  @Test("a successful flow stores its account and tokens and names the account in its result")
  func finishing() async throws {
    let session = try await harness.open()
    #expect(await harness.type("done", session) == nil)
    let account = try #require(try harness.store.loadAccounts().first)
    #expect(account.subject == "usr_anna")
    #expect(try harness.store.loadTokens().map(\.account) == [account.id])
    #expect(try harness.row(session).status == "succeeded")
    let flow = session.flow
    #expect(flow.status == .succeeded && flow.step == nil && flow.failure == nil)
    #expect(flow.result == ["word": "well", "account": .string(account.id.rawValue)])
    #expect(
      try harness.repository.account(account.id, of: .anna).details.label == "anna@example.com")
    // Another sign-in of the same person results in the same account.
    let again = try await harness.open(id: "flw_2")
    await harness.type("done", again)
    #expect(again.flow.result?["account"] == .string(account.id.rawValue))
    #expect(try harness.store.loadAccounts().count == 1)
  }

  @Test("two sign-ins of one person that end concurrently create one account")
  func finishingTogether() async throws {
    let flows = [try await harness.open(id: "flw_1"), try await harness.open(id: "flw_2")]
    async let one = harness.type("done", flows[0])
    async let two = harness.type("done", flows[1])
    #expect(await [one, two] == [nil, nil])
    #expect(try harness.store.loadAccounts().count == 1)
    #expect(flows[0].flow.result == flows[1].flow.result)
    #expect(try harness.repository.accounts(of: .anna).count == 1)
  }

  @Test("a finished flow keeps no secret, on disk or in memory, and accepts no input")
  func wiped() async throws {
    for (number, word) in ["done", "fail"].enumerated() {
      let session = try await harness.open(id: "flw_\(number)")
      #expect(try holdsCanary(session))
      await harness.type(word, session)
      #expect(try !holdsCanary(session))
      #expect(session.snapshot.machine == nil)
      #expect(await harness.type("more", session) == .flowFinished)
      #expect(await harness.cancel(session) == nil)
      #expect(session.flow.state == (word == "done" ? "done" : "failed"))
    }
    try await reached("the engine undoes the failed flow") {
      harness.probe.seen.map(\.call) == ["undo"]
    }
  }

  private func holdsCanary(_ session: LiveFlow) throws -> Bool {
    String(decoding: try harness.row(session).payload.bytes, as: UTF8.self)
      .contains(StubMachine.canary)
  }

  @Test(
    "a flow cancelled with unknown outcome says so and is not retryable",
    arguments: [("in the dark", "not known"), ("sending", "an SMS may have been sent")])
  func inTheDark(state: String, words: String) async throws {
    let session = try await harness.open()
    #expect(await harness.type(state, session) == nil)
    #expect(await harness.cancel(session) == nil)
    #expect(session.flow.failure?.reason == .cancelled)
    #expect(session.flow.failure?.retryable == false)
    #expect(session.flow.failure?.message.contains(words) == true)
  }

  @Test(
    "the tokens of a flow that is cancelled or expires are kept in an account",
    arguments: [true, false])
  func earned(isExpiry: Bool) async throws {
    let session = try await harness.open()
    #expect(await harness.type("earned", session) == nil)
    if isExpiry {
      harness.scheduler.advance(by: FlowHarness.deadline)
      try await reached("the flow has expired") { session.flow.status == .expired }
    } else {
      #expect(await harness.cancel(session) == nil)
      #expect(session.flow.status == .cancelled)
    }
    #expect(session.flow.failure?.message.hasSuffix("; the token is kept") == true)
    #expect(session.flow.failure?.retryable == true)
    #expect(try harness.repository.accounts(of: .anna).count == 1)
    #expect(try harness.store.loadAccounts().count == 1)
  }

  @Test("a cancelled flow abandons its calls and revokes a token that arrives late")
  func lateSuccess() async throws {
    let session = try await harness.open()
    await harness.type("call", session)
    try await reached("the flow makes its call") { harness.probe.seen.count == 1 }
    #expect(await harness.cancel(session) == nil)
    #expect(await harness.cancel(session) == nil)
    #expect(session.flow.status == .cancelled)
    #expect(session.flow.failure?.reason == .cancelled)
    #expect(session.flow.failure?.retryable == true)
    #expect(try harness.row(session).status == "cancelled")
    #expect(try !holdsCanary(session))
    try await reached("the call is abandoned") { harness.probe.seen.last?.call == "abandon" }
    harness.answer(session)
    try await reached("the late token is revoked") {
      harness.probe.seen.map(\.call) == ["effect", "abandon", "revoke"]
    }
    #expect(session.flow.status == .cancelled)
    #expect(session.snapshot.revision == 3)
  }

  @Test("the revocation of an unused token is stored with the end of its flow")
  func abandonedToken() async throws {
    let failed = try await harness.open(id: "flw_1")
    #expect(await harness.type("fail with a token", failed) == nil)
    #expect(try harness.tokensToRevoke() == ["token-1"])
    let cancelled = try await harness.open(id: "flw_2")
    await harness.type("call", cancelled)
    #expect(await harness.cancel(cancelled) == nil)
    var late = harness.call
    late.token = "token-2"
    harness.engine.deliver(
      .event(.called(late, .reply(HTTPReply(status: 200)))), to: cancelled)
    try await reached("the revocation of the late token is stored") {
      try harness.tokensToRevoke().sorted() == ["token-1", "token-2"]
    }
  }

  @Test("a flow expires at its deadline, not before, and its secrets are deleted")
  func expiry() async throws {
    let session = try await harness.open()
    harness.scheduler.advance(by: FlowHarness.deadline - .seconds(1))
    await harness.type("still here", session)
    #expect(session.flow.status == .active)
    harness.scheduler.advance(by: .seconds(1))
    try await reached("the flow has expired") { session.flow.status == .expired }
    #expect(session.flow.failure?.reason == .expired)
    #expect(try harness.row(session).status == "expired")
    #expect(try !holdsCanary(session))
    #expect(await harness.type("late", session) == .flowFinished)
    #expect(harness.scheduler.pending.isEmpty)
  }

  @Test("a clock set back makes a flow expire neither early nor never")
  func clockSetBack() async throws {
    let session = try await harness.open()
    harness.clock.advance(by: .seconds(-100))
    harness.scheduler.advance(by: .seconds(700))
    try await reached("the flow has expired") { session.flow.status == .expired }
    let other = try await harness.open(id: "flw_2")
    let due = harness.scheduler.pending
    #expect(due == [FlowHarness.deadline])
    #expect(other.flow.status == .active)
  }

  @Test("a clock set back by two hours does not extend a flow's life beyond ten minutes")
  func clockSetFarBack() async throws {
    harness.clock.setBootTime(BootTime(boot: "a", milliseconds: 0))
    let session = try await harness.open()
    harness.clock.advance(by: .seconds(-7200))
    harness.clock.setBootTime(BootTime(boot: "a", milliseconds: 600_000))
    harness.engine.deadlines.review()
    try await reached("the flow has expired") { session.flow.status == .expired }
  }

  @Test("a resumed flow repeats its call, and a stopped engine accepts no input")
  func resuming() async throws {
    let session = try await harness.open()
    harness.engine.resume(session)
    try await reached("the call is repeated") { harness.probe.seen.map(\.call) == ["again"] }
    #expect(harness.probe.seen.first?.state == "resumed")
    harness.engine.stop()
    #expect(await harness.type("more", session) == .shuttingDown)
    #expect(await harness.cancel(session) == .shuttingDown)
    #expect(try harness.row(session).state == "resumed")
  }

  @Test("a handoff secret is available as soon as a caller learns that its flow has ended")
  func secretForLaterFlows() async throws {
    let session = try await harness.open()
    let (scheduler, index) = (harness.scheduler, harness.engine.index)
    index.insert(session)
    let found = Mutex<Int?>(nil)
    let ended = Task {
      await session.wait(.seconds(30), scheduler) { snapshot in
        guard snapshot.isFinished else { return false }
        found.withLock { $0 = index.predecessors(of: .anna).count }
        return true
      }
    }
    try await scheduler.isSet(.seconds(30))
    await harness.type("hand on", session)
    #expect(await ended.value.isFinished)
    #expect(found.withLock { $0 } == 1)
  }

  @Test("a handoff secret that could not be deleted stays in place for the next attempt")
  func secretNotDeleted() async throws {
    let session = try await harness.open(client: "till")
    harness.engine.index.insert(session)
    await harness.type("hand on", session)
    try harness.store.close()
    for _ in 1...2 {
      let error = await thrown {
        try await harness.engine.dropHandoffSecrets(at: .sample(), of: .anna, "till")
      }
      #expect(error?.reason == .storageUnavailable)
    }
    #expect(session.handoffSecret != nil)
  }

  @Test("LiveFlow.wait returns on a change, at its timeout and when it is cancelled")
  func waiting() async throws {
    let session = try await harness.open()
    let (clock, scheduler) = (harness.clock, harness.scheduler)
    let wait = { (revision: Int) in
      Task { await session.wait(.seconds(30), scheduler) { $0.revision > revision } }
    }
    #expect(await wait(0).value.revision == 1)
    let moved = wait(1)
    try await scheduler.isSet(.seconds(30))
    await harness.type("on", session)
    #expect(await moved.value.revision == 2)
    let timedOut = wait(2)
    try await scheduler.isSet(.seconds(30))
    scheduler.advance(by: .seconds(30))
    #expect(await timedOut.value.revision == 2)
    let givenUp = wait(2)
    try await scheduler.isSet(.seconds(30))
    givenUp.cancel()
    #expect(await givenUp.value.revision == 2)
    #expect(scheduler.pending.count == 1, "only the flow's own deadline has a timer")
    #expect(clock.now() < session.snapshot.expiresAt)
  }
}
