import JSONRPC
import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("GoPay verdict callbacks", .timeLimit(.minutes(10)))
struct CallbackServiceTests {
  private let harness: VerdictHarness

  init() async throws { harness = try await VerdictHarness() }

  @Test(
    "a GoPay verdict with the linking token is stored before the answer, and announced only once")
  func verdict() async throws {
    let record = try await harness.submit()
    harness.watch.start()
    #expect(try await harness.call("linking-token") == .accepted)
    #expect(harness.kyc(record)?["status"] == "COMPLETED")
    #expect(harness.kyc(record)?["result"] == "VALID")
    #expect(try harness.stored(record) == harness.kyc(record))
    #expect(harness.news == ["completed"])
    #expect(try await harness.call("linking-token") == .accepted, "a repeated call is accepted")
    #expect(harness.news == ["completed"], "a repeated call publishes no second event")
  }

  @Test(
    "a GoPay callback without the right token is unauthorized, whether its request id exists or not",
    arguments: [
      nil, "", "another", "linking-toke", "linking-tokenx", "Linking-Token",
      "Bearer linking-token", "shared-valu", "shared-valuex", "Shared-Value",
      "Bearer shared-value",
    ])
  func unauthorized(_ value: String?) async throws {
    let record = try await harness.submit()
    #expect(try await harness.call(value) == .unauthorized)
    #expect(try await harness.call(value, requestID: "nobody") == .unauthorized)
    #expect(harness.kyc(record)?["status"] == "SUBMITTED")
  }

  @Test(
    "a GoPay callback with the shared credential is accepted, or told that its request id is unknown"
  )
  func vouched() async throws {
    let record = try await harness.submit(token: nil)
    #expect(try await harness.call("shared-value", requestID: "nobody") == .unknown)
    #expect(try await harness.call("shared-value") == .accepted)
    #expect(harness.kyc(record)?["status"] == "COMPLETED")
  }

  @Test(
    "a GoPay callback with the shared credential for a flow without an account changes nothing")
  func ended() async throws {
    try await harness.harness.store.commit([
      .rememberRequest(
        RequestRow(
          owner: .bert, provider: VerdictHarness.provider, requestID: "cancelled",
          flow: FlowID("flw_9"), expiresAt: .latest))
    ])
    #expect(try await harness.call("shared-value", requestID: "cancelled") == .accepted)
    #expect(try await harness.call("linking-token", requestID: "cancelled") == .unauthorized)
    #expect(try harness.harness.repository.accounts(of: .bert).isEmpty)
  }

  @Test("if two users share a request id, only the linking token's account gets GoPay's verdict")
  func sameID() async throws {
    let anna = try await harness.submit(token: "token-of-anna")
    let bert = try await harness.submit(token: "token-of-bert", owner: .bert)
    #expect(try await harness.call("token-of-bert") == .accepted)
    #expect(harness.kyc(anna)?["status"] == "SUBMITTED")
    #expect(harness.kyc(bert)?["status"] == "COMPLETED")
  }

  @Test(
    "a GoPay verdict for a submission other than the account's is a conflict and changes nothing")
  func conflict() async throws {
    let record = try await harness.submit()
    #expect(try await harness.call("linking-token", submission: "sub-2") == .conflict)
    #expect(harness.kyc(record)?["status"] == "SUBMITTED")
  }

  @Test("log entries name a callback's outcome by its own name")
  func logNames() {
    let outcomes: [CallbackOutcome] = [
      .accepted, .unauthorized, .unknown, .conflict, .otherPath, .otherMethod, .tooLarge,
      .unavailable,
    ]
    for outcome in outcomes {
      let words = "\(outcome)".replacing(/[A-Z]/) { " \($0.output.lowercased())" }
      #expect(outcome.logName == words)
    }
  }

  @Test("a GoPay verdict that cannot be stored is answered as unavailable and changes nothing")
  func failingDisk() async throws {
    let record = try await harness.submit()
    try harness.harness.store.close()
    #expect(try await harness.call("linking-token") == .unavailable)
    #expect(harness.kyc(record)?["status"] == "SUBMITTED")
    #expect(harness.news.isEmpty)
  }
}

@Suite("Polling for GoPay verdicts", .timeLimit(.minutes(10)))
struct AccountInquiryTests {
  private let harness: VerdictHarness

  init() async throws { harness = try await VerdictHarness() }

  @Test("a GoPay submission is announced and polled after 5 s, then at doubling intervals")
  func schedule() async throws {
    harness.watch.start()
    try await harness.submit()
    #expect(harness.news == ["submitted"])
    #expect(harness.harness.scheduler.pending == [.seconds(5)])
    harness.harness.scheduler.advance(by: .seconds(5))
    try await harness.harness.scheduler.isSet(.seconds(5))
    harness.harness.scheduler.advance(by: .seconds(5))
    try await harness.harness.scheduler.isSet(.seconds(10))
    #expect(harness.news == ["submitted"])
    await harness.close()
  }

  @Test("a restarted usherd announces no GoPay submission again and continues the polling schedule")
  func restart() async throws {
    try await harness.submit()
    harness.harness.clock.advance(by: .seconds(12))
    harness.watch.start()
    await harness.watch.review()
    #expect(harness.news.isEmpty)
    #expect(harness.harness.scheduler.pending == [.seconds(8)])
  }

  enum ReviewTime: CaseIterable { case committed, installed, announced }

  @Test(
    "a submission is announced once if the account is reviewed while it is stored",
    arguments: ReviewTime.allCases, [true, false])
  func reviewed(at time: ReviewTime, isNewAccount: Bool) async throws {
    let (repository, watch) = (harness.harness.repository, harness.watch)
    let review: AccountRepository.Observer = { [weak watch] in watch?.review([$0.record.id]) }
    if time == .installed { repository.addObserver(review) }
    watch.start()
    if time == .announced { repository.addObserver(review) }
    if !isNewAccount {
      let end = harness.harness.clock.now() + .seconds(1800)
      try await repository.persist(
        .sample("corr-1", tokens: .sample(refreshExpiresAt: end)), at: VerdictHarness.provider)
      #expect(harness.harness.scheduler.pending == [.seconds(1500)])
    }
    let update = try repository.update(
      harness.submission(), owner: .anna, provider: VerdictHarness.provider,
      place: harness.provider.tokenPlace, at: harness.harness.clock.now())
    try await harness.harness.store.commit(update.changes)
    if time == .committed { review(update) }
    repository.install(update)
    #expect(harness.news == ["submitted"])
    #expect(harness.harness.scheduler.pending == [.seconds(5)])
    watch.stop()
  }

  @Test("an older look at an account announces and plans nothing after a newer one saw the verdict")
  func overtaken() async throws {
    let change = Mutex<OnceOnly?>(nil)
    let harness = try await VerdictHarness { _ in
      change.withLock { $0 }?()
      return false
    }
    let repository = harness.harness.repository
    let record = try await harness.submit()
    let update = try repository.update(record) { $0.attributes["kyc"]?["status"] = "COMPLETED" }
    try await harness.harness.store.commit(update.changes)
    harness.watch.start()
    change.withLock { $0 = OnceOnly { repository.install(update) } }
    harness.watch.process(record.id)
    #expect(harness.news == ["completed"])
    #expect(harness.harness.scheduler.pending.isEmpty)
    harness.watch.process(record.id)
    #expect(harness.news == ["completed"])
  }

  @Test("a submission without a linking token is announced and not polled")
  func noToken() async throws {
    harness.watch.start()
    try await harness.submit(token: nil)
    #expect(harness.news == ["submitted"])
    #expect(harness.harness.scheduler.pending.isEmpty)
  }

  @Test("a verdict, a forgotten account and a stopped account watch each end the polling of GoPay")
  func ending() async throws {
    harness.watch.start()
    try await harness.submit()
    #expect(try await harness.call("linking-token") == .accepted)
    #expect(harness.harness.scheduler.pending.isEmpty)
    let other = try await harness.submit("req-2", submission: "sub-2", subject: "corr-2")
    #expect(harness.harness.scheduler.pending == [.seconds(5)])
    try await harness.harness.store.commit([.deleteAccount(other.id)])
    harness.harness.repository.remove(other)
    #expect(harness.harness.scheduler.pending.isEmpty)
    try await harness.submit("req-3", submission: "sub-3", subject: "corr-3")
    harness.watch.stop()
    #expect(harness.harness.scheduler.pending.isEmpty)
  }

  @Test("polling stops while GoPay is not configured, and its return announces no submission again")
  func providerGone() async throws {
    harness.watch.start()
    try await harness.submit()
    await harness.reload([])
    #expect(harness.harness.scheduler.pending.isEmpty)
    await harness.reload([harness.provider])
    #expect(harness.news == ["submitted"])
    #expect(harness.harness.scheduler.pending == [.seconds(5)])
  }

  @Test(
    "a GoPay submission whose provider comes back after a restart is polled, not announced again")
  func providerBack() async throws {
    try await harness.submit()
    await harness.reload([])
    harness.watch.start()
    await harness.reload([harness.provider])
    #expect(harness.news.isEmpty)
    #expect(harness.harness.scheduler.pending == [.seconds(5)])
  }

  @Test("a second GoPay submission of a user is announced and polled from the first interval on")
  func again() async throws {
    harness.watch.start()
    try await harness.submit()
    #expect(try await harness.call("linking-token", result: "\"INVALID\"") == .accepted)
    harness.harness.clock.advance(by: .seconds(100))
    try await harness.submit("req-2", submission: "sub-2")
    #expect(harness.news == ["submitted", "completed", "submitted"])
    #expect(harness.harness.scheduler.pending == [.seconds(5)])
  }

  enum Change: CaseIterable { case submission, credential }

  @Test(
    "a refusal does not end the polling if submission or credential have changed meanwhile",
    arguments: Change.allCases)
  func refusedMeanwhile(_ change: Change) async throws {
    let (asked, mayAnswer) = (Recorded<String>(), AsyncLatch())
    let server = try await HTTPStub { request in
      asked.add(request.path)
      await mayAnswer.wait()
      return .init(status: 401)
    }
    let harness = try await VerdictHarness(VerdictHarness.gopay(at: server.origin))
    harness.watch.start()
    try await harness.submit()
    harness.harness.scheduler.advance(by: .seconds(5))
    await #expect(throws: Never.self) {
      try await reached("the provider is asked") { !asked.all.isEmpty }
      switch change {
      case .submission: try await harness.submit("req-2", submission: "sub-2", token: "token-2")
      case .credential: await harness.watch.providersChanged([VerdictHarness.provider])
      }
      mayAnswer.open()
      try await harness.harness.scheduler.isSet(.seconds(5))
    }
    mayAnswer.open()
    await harness.close()
    try await server.close()
  }

  @Test("an account that is polled and whose grant expires has one timer, for the earlier task")
  func both() async throws {
    let told = Recorded<String>()
    _ = harness.harness.events.listen(since: nil) { entry in
      if entry.event.topic == .token { told.add(entry.event.what) }
    }
    let scheduler = harness.harness.scheduler
    harness.watch.start()
    // The owner is warned 300 s before the grant expires.
    try await harness.submit(grantSeconds: 307)
    #expect(scheduler.pending == [.seconds(5)])
    scheduler.advance(by: .seconds(5))
    try await scheduler.isSet(.seconds(2))
    #expect(told.all.isEmpty)
    scheduler.advance(by: .seconds(2))
    try await scheduler.isSet(.seconds(3))
    #expect(told.all == ["expiring"] && harness.news == ["submitted"])
    await harness.close()
  }
}
