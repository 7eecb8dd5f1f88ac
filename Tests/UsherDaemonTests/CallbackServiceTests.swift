import JSONRPC
import Testing
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("A provider's call about an account")
struct CallbackServiceTests {
  private let stage: VerdictStage

  init() async throws { stage = try await VerdictStage() }

  @Test("the linking token lets a verdict in, which is on disk and told before the answer")
  func verdict() async throws {
    let record = try await stage.submit()
    stage.watch.start()
    #expect(try await stage.call("linking-token") == .taken)
    #expect(stage.kyc(record)?["status"] == "COMPLETED")
    #expect(stage.kyc(record)?["result"] == "VALID")
    #expect(try stage.stored(record) == stage.kyc(record))
    #expect(stage.news == ["completed"])
    #expect(try await stage.call("linking-token") == .taken, "the same call again")
    #expect(stage.news == ["completed"], "nobody is told twice")
  }

  @Test(
    "who shows nothing right learns nothing, whether there is anybody of that id or not",
    arguments: [nil, "", "another", "linking-toke", "Bearer linking-token"])
  func unauthorized(_ value: String?) async throws {
    let record = try await stage.submit()
    #expect(try await stage.call(value) == .unauthorized)
    #expect(try await stage.call(value, requestID: "nobody") == .unauthorized)
    #expect(stage.kyc(record)?["status"] == "SUBMITTED")
  }

  @Test("the agreed value lets in too, and learns that nobody is meant")
  func vouched() async throws {
    let record = try await stage.submit(token: nil)
    #expect(try await stage.call("shared-value", requestID: "nobody") == .unknown)
    #expect(try await stage.call("shared-value") == .taken)
    #expect(stage.kyc(record)?["status"] == "COMPLETED")
  }

  @Test(
    "for a flow that has ended without an account the agreed value is answered, nothing changes")
  func ended() async throws {
    try await stage.stage.store.commit([
      .rememberRequest(
        RequestRow(
          owner: .bert, provider: VerdictStage.provider, requestID: "cancelled",
          flow: FlowID("flw_9"), expiresAt: .latest))
    ])
    #expect(try await stage.call("shared-value", requestID: "cancelled") == .taken)
    #expect(try await stage.call("linking-token", requestID: "cancelled") == .unauthorized)
    #expect(try stage.stage.book.accounts(of: .bert).isEmpty)
  }

  @Test("two users with one requestId: only the one whose token it is hears of it")
  func sameID() async throws {
    let anna = try await stage.submit(token: "token-of-anna")
    let bert = try await stage.submit(token: "token-of-bert", owner: .bert)
    #expect(try await stage.call("token-of-bert") == .taken)
    #expect(stage.kyc(anna)?["status"] == "SUBMITTED")
    #expect(stage.kyc(bert)?["status"] == "COMPLETED")
  }

  @Test("another submission than the account's is a conflict")
  func conflict() async throws {
    let record = try await stage.submit()
    #expect(try await stage.call("linking-token", submission: "sub-2") == .conflict)
    #expect(stage.kyc(record)?["status"] == "SUBMITTED")
  }

  @Test("while the store takes nothing the provider is told to send it again, and nothing is lost")
  func failingDisk() async throws {
    let record = try await stage.submit()
    try stage.stage.store.close()
    #expect(try await stage.call("linking-token") == .unavailable)
    #expect(stage.kyc(record)?["status"] == "SUBMITTED")
    #expect(stage.news.isEmpty)
  }
}

@Suite("The watch over verdicts")
struct FollowUpWatchTests {
  private let stage: VerdictStage

  init() async throws { stage = try await VerdictStage() }

  @Test("a submission is told of and asked about after five seconds, then at doubled distances")
  func schedule() async throws {
    stage.watch.start()
    try await stage.submit()
    #expect(stage.news == ["submitted"])
    #expect(stage.stage.scheduler.pending == [.seconds(5)])
    stage.stage.scheduler.advance(by: .seconds(5))
    try await stage.stage.scheduler.isSet(.seconds(5))
    stage.stage.scheduler.advance(by: .seconds(5))
    try await stage.stage.scheduler.isSet(.seconds(10))
    #expect(stage.news == ["submitted"])
    await stage.close()
  }

  @Test("after a restart nobody is told anew, and the questions go on where they were")
  func restart() async throws {
    try await stage.submit()
    stage.stage.clock.advance(by: .seconds(12))
    stage.watch.start()
    await stage.watch.review()
    #expect(stage.news.isEmpty)
    #expect(stage.stage.scheduler.pending == [.seconds(8)])
  }

  @Test("without a linking token nothing is asked")
  func noToken() async throws {
    stage.watch.start()
    try await stage.submit(token: nil)
    #expect(stage.news == ["submitted"])
    #expect(stage.stage.scheduler.pending.isEmpty)
  }

  @Test("a verdict ends the questions; so do an account that is forgotten and a daemon that stops")
  func ending() async throws {
    stage.watch.start()
    try await stage.submit()
    #expect(try await stage.call("linking-token") == .taken)
    #expect(stage.stage.scheduler.pending.isEmpty)
    let other = try await stage.submit("req-2", submission: "sub-2", subject: "corr-2")
    #expect(stage.stage.scheduler.pending == [.seconds(5)])
    try await stage.stage.store.commit([.deleteAccount(other.id)])
    stage.stage.book.remove(other)
    #expect(stage.stage.scheduler.pending.isEmpty)
    try await stage.submit("req-3", submission: "sub-3", subject: "corr-3")
    stage.watch.stop()
    #expect(stage.stage.scheduler.pending.isEmpty)
  }

  @Test("nothing is asked while its provider is gone, and nobody is told anew when it is back")
  func providerGone() async throws {
    stage.watch.start()
    try await stage.submit()
    await stage.reload([])
    #expect(stage.stage.scheduler.pending.isEmpty)
    await stage.reload([stage.provider])
    #expect(stage.news == ["submitted"])
    #expect(stage.stage.scheduler.pending == [.seconds(5)])
  }

  @Test("nor is anybody told anew of one whose provider comes back after a restart")
  func providerBack() async throws {
    try await stage.submit()
    await stage.reload([])
    stage.watch.start()
    await stage.reload([stage.provider])
    #expect(stage.news.isEmpty)
    #expect(stage.stage.scheduler.pending == [.seconds(5)])
  }

  @Test("a second submission of the same person is followed anew")
  func again() async throws {
    stage.watch.start()
    try await stage.submit()
    #expect(try await stage.call("linking-token", result: "\"INVALID\"") == .taken)
    stage.stage.clock.advance(by: .seconds(100))
    try await stage.submit("req-2", submission: "sub-2")
    #expect(stage.news == ["submitted", "completed", "submitted"])
    #expect(stage.stage.scheduler.pending == [.seconds(5)])
  }
}
