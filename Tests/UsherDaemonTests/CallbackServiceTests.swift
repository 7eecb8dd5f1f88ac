import JSONRPC
import Testing
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("A provider's call about an account")
struct CallbackServiceTests {
  private let harness: VerdictHarness

  init() async throws { harness = try await VerdictHarness() }

  @Test("the linking token lets a verdict in, which is on disk and told before the answer")
  func verdict() async throws {
    let record = try await harness.submit()
    harness.watch.start()
    #expect(try await harness.call("linking-token") == .taken)
    #expect(harness.kyc(record)?["status"] == "COMPLETED")
    #expect(harness.kyc(record)?["result"] == "VALID")
    #expect(try harness.stored(record) == harness.kyc(record))
    #expect(harness.news == ["completed"])
    #expect(try await harness.call("linking-token") == .taken, "the same call again")
    #expect(harness.news == ["completed"], "nobody is told twice")
  }

  @Test(
    "who shows nothing right learns nothing, whether there is anybody of that id or not",
    arguments: [nil, "", "another", "linking-toke", "Bearer linking-token"])
  func unauthorized(_ value: String?) async throws {
    let record = try await harness.submit()
    #expect(try await harness.call(value) == .unauthorized)
    #expect(try await harness.call(value, requestID: "nobody") == .unauthorized)
    #expect(harness.kyc(record)?["status"] == "SUBMITTED")
  }

  @Test("the agreed value lets in too, and learns that nobody is meant")
  func vouched() async throws {
    let record = try await harness.submit(token: nil)
    #expect(try await harness.call("shared-value", requestID: "nobody") == .unknown)
    #expect(try await harness.call("shared-value") == .taken)
    #expect(harness.kyc(record)?["status"] == "COMPLETED")
  }

  @Test(
    "for a flow that has ended without an account the agreed value is answered, nothing changes")
  func ended() async throws {
    try await harness.harness.store.commit([
      .rememberRequest(
        RequestRow(
          owner: .bert, provider: VerdictHarness.provider, requestID: "cancelled",
          flow: FlowID("flw_9"), expiresAt: .latest))
    ])
    #expect(try await harness.call("shared-value", requestID: "cancelled") == .taken)
    #expect(try await harness.call("linking-token", requestID: "cancelled") == .unauthorized)
    #expect(try harness.harness.repository.accounts(of: .bert).isEmpty)
  }

  @Test("two users with one requestId: only the one whose token it is hears of it")
  func sameID() async throws {
    let anna = try await harness.submit(token: "token-of-anna")
    let bert = try await harness.submit(token: "token-of-bert", owner: .bert)
    #expect(try await harness.call("token-of-bert") == .taken)
    #expect(harness.kyc(anna)?["status"] == "SUBMITTED")
    #expect(harness.kyc(bert)?["status"] == "COMPLETED")
  }

  @Test("another submission than the account's is a conflict")
  func conflict() async throws {
    let record = try await harness.submit()
    #expect(try await harness.call("linking-token", submission: "sub-2") == .conflict)
    #expect(harness.kyc(record)?["status"] == "SUBMITTED")
  }

  @Test("while the store takes nothing the provider is told to send it again, and nothing is lost")
  func failingDisk() async throws {
    let record = try await harness.submit()
    try harness.harness.store.close()
    #expect(try await harness.call("linking-token") == .unavailable)
    #expect(harness.kyc(record)?["status"] == "SUBMITTED")
    #expect(harness.news.isEmpty)
  }
}

@Suite("The watch over verdicts")
struct FollowUpWatchTests {
  private let harness: VerdictHarness

  init() async throws { harness = try await VerdictHarness() }

  @Test("a submission is told of and asked about after five seconds, then at doubled distances")
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

  @Test("after a restart nobody is told anew, and the questions go on where they were")
  func restart() async throws {
    try await harness.submit()
    harness.harness.clock.advance(by: .seconds(12))
    harness.watch.start()
    await harness.watch.review()
    #expect(harness.news.isEmpty)
    #expect(harness.harness.scheduler.pending == [.seconds(8)])
  }

  @Test("without a linking token nothing is asked")
  func noToken() async throws {
    harness.watch.start()
    try await harness.submit(token: nil)
    #expect(harness.news == ["submitted"])
    #expect(harness.harness.scheduler.pending.isEmpty)
  }

  @Test("a verdict ends the questions; so do an account that is forgotten and a daemon that stops")
  func ending() async throws {
    harness.watch.start()
    try await harness.submit()
    #expect(try await harness.call("linking-token") == .taken)
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

  @Test("nothing is asked while its provider is gone, and nobody is told anew when it is back")
  func providerGone() async throws {
    harness.watch.start()
    try await harness.submit()
    await harness.reload([])
    #expect(harness.harness.scheduler.pending.isEmpty)
    await harness.reload([harness.provider])
    #expect(harness.news == ["submitted"])
    #expect(harness.harness.scheduler.pending == [.seconds(5)])
  }

  @Test("nor is anybody told anew of one whose provider comes back after a restart")
  func providerBack() async throws {
    try await harness.submit()
    await harness.reload([])
    harness.watch.start()
    await harness.reload([harness.provider])
    #expect(harness.news.isEmpty)
    #expect(harness.harness.scheduler.pending == [.seconds(5)])
  }

  @Test("a second submission of the same person is followed anew")
  func again() async throws {
    harness.watch.start()
    try await harness.submit()
    #expect(try await harness.call("linking-token", result: "\"INVALID\"") == .taken)
    harness.harness.clock.advance(by: .seconds(100))
    try await harness.submit("req-2", submission: "sub-2")
    #expect(harness.news == ["submitted", "completed", "submitted"])
    #expect(harness.harness.scheduler.pending == [.seconds(5)])
  }
}
