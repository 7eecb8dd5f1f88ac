import Foundation
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Questions to a person")
struct ConfirmationServiceTests {
  private let stage: ConfirmStage
  private var kiosk: Caller { stage.kiosk }
  private var admin: Caller { stage.admin }

  init() throws { stage = try ConfirmStage() }

  @Test("a call that waits for a person is refused with the question, and may be made again")
  func asked() throws {
    let error = #expect(throws: UsherError.self) { try stage.check(kiosk) }
    #expect(error?.reason == .interactionRequired)
    #expect(error?.isRetryable == true)
    #expect(error?.detail.retryAfterMs == nil && error?.detail.next == nil)
    let id = try #require(error?.detail.confirmation)
    #expect(id.rawValue.hasPrefix("cnf_") && id.rawValue.count == 30)
    #expect(stage.told == ["asked \(id)"])
    let event = try #require(stage.entries.first?.event)
    #expect(event.topic == .confirm && event.client == "kiosk" && event.provider == .work)
  }

  @Test("a call of which nothing is asked, and one about what is not there, is no question")
  func unasked() throws {
    try stage.service.check(Permit(rule: "kiosk"), .token, of: kiosk)
    var request = PolicyRequest.token
    request.isUnknown = true
    try stage.check(request, kiosk)
    #expect(stage.told == [])
  }

  @Test("the same call is the same question; another in any part of it is another")
  func same() async throws {
    var full = PolicyRequest(
      method: "flow.start", provider: "work", kind: "operation", operation: "GET:/wallets")
    full.account = .init(id: "acc_1", subject: "s")
    full.scopes = ["a", "b"]
    let first = try stage.question(full, kiosk)
    full.scopes = ["b", "a", "b"]
    full.moment = nil
    #expect(try stage.question(full, kiosk) == first)
    var others: [PolicyRequest] = []
    for change: (inout PolicyRequest) -> Void in [
      { $0.method = "token.get" }, { $0.provider = "home" }, { $0.kind = "sca" },
      { $0.operation = "POST:/wallets" }, { $0.account = .init(id: "acc_2", subject: "s") },
      { $0.account = nil }, { $0.scopes = ["a"] }, { $0.scopes = nil },
    ] {
      var other = full
      change(&other)
      others.append(other)
    }
    var ids = try others.map { try stage.question($0, kiosk) }
    ids.append(try stage.question(full, .client("till")))
    ids.append(try stage.question(full, .client("kiosk", of: .bert)))
    #expect(Set(ids + [first]).count == ids.count + 1)
    #expect(stage.told.count == ids.count + 1)
    // Nor does an answer to one do for another.
    try await stage.answer(first, true, .once, by: admin)
    #expect(stage.refusal(full, kiosk) == nil)
    for other in others { #expect(stage.refusal(other, kiosk) == .interactionRequired) }
    #expect(stage.refusal(full, try .client("till")) == .interactionRequired)
    #expect(stage.refusal(full, try .client("kiosk", of: .bert)) == .interactionRequired)
  }

  @Test("an answer for once lets one call through, and is good for five minutes")
  func once() async throws {
    for remember in [nil, Remember.once] {
      try await stage.answer(stage.question(kiosk), true, remember, by: admin)
      #expect(stage.refusal(kiosk) == nil)
      #expect(stage.refusal(kiosk) == .interactionRequired)
    }
    try await stage.answer(stage.question(kiosk), by: admin)
    stage.clock.advance(by: .milliseconds(299_999))
    #expect(stage.refusal(kiosk) == nil)
    try await stage.answer(stage.question(kiosk), by: admin)
    stage.clock.advance(by: .seconds(300))
    #expect(stage.refusal(kiosk) == .interactionRequired)
  }

  @Test("of a hundred calls at once, one answer for once lets one through")
  func atOnce() async throws {
    try await stage.answer(stage.question(kiosk), by: admin)
    let passed = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<100 {
        group.addTask { [stage, kiosk] in stage.refusal(kiosk) == nil }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(passed == 1)
    #expect(stage.told.filter { $0.hasPrefix("asked") }.count == 2)
  }

  @Test("a refusal for once refuses all such calls for a minute; then it is asked anew")
  func refused() async throws {
    let id = try stage.question(kiosk)
    try await stage.answer(id, false, by: admin)
    #expect(stage.refusal(kiosk) == .permissionDenied)
    stage.clock.advance(by: .milliseconds(59_999))
    #expect(stage.refusal(kiosk) == .permissionDenied)
    stage.clock.advance(by: .milliseconds(1))
    #expect(try stage.question(kiosk) != id)
  }

  @Test("for the session is until the daemon ends", arguments: [true, false])
  func session(allow: Bool) async throws {
    try await stage.answer(stage.question(kiosk), allow, .session, by: admin)
    stage.clock.advance(by: .seconds(400 * 86_400))
    try await stage.service.sweep()
    #expect(stage.refusal(kiosk) == (allow ? nil : .permissionDenied))
    #expect(try stage.stage.store.loadConfirmations().isEmpty)
    #expect(stage.refusal(kiosk, at: try stage.restarted()) == .interactionRequired)
  }

  @Test("for so many seconds holds over a restart, to the millisecond", arguments: [true, false])
  func seconds(allow: Bool) async throws {
    try await stage.answer(stage.question(kiosk), allow, .seconds(3600), by: admin)
    stage.clock.advance(by: .milliseconds(3_599_999))
    let again = try stage.restarted()
    let word: UsherError.Reason? = allow ? nil : .permissionDenied
    for service in [stage.service, again] {
      #expect(stage.refusal(kiosk, at: service) == word)
      #expect(stage.refusal(kiosk, at: service) == word)
      try await service.sweep()
    }
    #expect(try stage.stage.store.loadConfirmations().count == 1)
    stage.clock.advance(by: .milliseconds(1))
    for service in [stage.service, again] {
      #expect(stage.refusal(kiosk, at: service) == .interactionRequired)
    }
    try await again.sweep()
    #expect(try stage.stage.store.loadConfirmations().isEmpty)
  }

  @Test("what is on disk tells in the clear neither what was asked nor the answer")
  func disk() async throws {
    var request = PolicyRequest.token
    request.account = .init(id: "acc_canary", subject: "s")
    try await stage.answer(stage.question(request, kiosk), true, .seconds(60), by: admin)
    let row = try #require(try stage.stage.store.loadConfirmations().first)
    #expect(row.client == "kiosk" && row.uid == 1000 && row.question.count == 64)
    for file in stage.stage.place.everything() {
      #expect(file.bytes.range(of: .init("acc_canary".utf8)) == nil, "\(file.name)")
    }
  }

  @Test("a clock set back to before an answer makes it worth nothing, one set back and on does not")
  func setBack() async throws {
    try await stage.answer(stage.question(kiosk), true, .seconds(3600), by: admin)
    stage.clock.advance(by: .seconds(-1))
    #expect(stage.refusal(kiosk) == .interactionRequired)
    stage.clock.advance(by: .seconds(1))
    #expect(stage.refusal(kiosk) == nil)
  }

  @Test("what is too long for a person to judge is not asked")
  func tooLong() {
    var request = PolicyRequest.token
    request.scopes = [String(repeating: "s", count: 4097)]
    let error = #expect(throws: UsherError.self) { try stage.check(request, kiosk) }
    #expect(error?.reason == .invalidParams)
    #expect(error?.detail.field == "scope")
    #expect(stage.told == [])
  }
}

@Suite("Questions that nobody answers")
struct ConfirmExpiryTests {
  private let stage: ConfirmStage
  private var kiosk: Caller { stage.kiosk }
  private var admin: Caller { stage.admin }

  init() throws { stage = try ConfirmStage() }

  @Test("are over after five minutes, told once, not found any more, and asked anew")
  func expiry() async throws {
    let id = try stage.question(kiosk)
    stage.stage.scheduler.advance(by: .milliseconds(299_999))
    #expect(try stage.question(kiosk) == id)
    stage.stage.scheduler.advance(by: .milliseconds(1))
    #expect(stage.told == ["asked \(id)", "expired \(id)"])
    #expect(await stage.objection(id, by: admin) == .notFound)
    let next = try stage.question(kiosk)
    #expect(next != id)
    #expect(stage.told == ["asked \(id)", "expired \(id)", "asked \(next)"])
  }

  @Test("and whose time a clock that was set on has ended are told, too, when somebody looks")
  func setOn() async throws {
    let id = try stage.question(kiosk)
    stage.clock.advance(by: .seconds(300))
    #expect(await stage.objection(id, by: admin) == .notFound)
    let next = try stage.question(kiosk)
    #expect(stage.told == ["asked \(id)", "expired \(id)", "asked \(next)"])
    stage.clock.advance(by: .seconds(-301))
    try await stage.service.sweep()
    #expect(stage.told.last == "expired \(next)")
    #expect(stage.stage.scheduler.pending == [])
  }

  @Test("leave no alarm behind once they are answered")
  func scheduler() async throws {
    try await stage.answer(stage.question(kiosk), by: admin)
    #expect(stage.stage.scheduler.pending == [])
    stage.stage.scheduler.advance(by: .seconds(301))
    #expect(stage.told.count == 2)
  }

  @Test("are so many of one user at a time; the oldest stay, and another user has his own")
  func limit() async throws {
    var limits = Limits()
    limits.openConfirmationsPerUser = 2
    let stage = try ConfirmStage(limits)
    func request(_ provider: String) -> PolicyRequest {
      PolicyRequest(method: "token.get", provider: provider)
    }
    let first = try stage.question(request("a"), kiosk)
    stage.clock.advance(by: .seconds(10))
    _ = try stage.question(request("b"), .client("till"))
    let error = #expect(throws: UsherError.self) { try stage.check(request("c"), kiosk) }
    #expect(error?.reason == .rateLimited)
    #expect(error?.detail.limit == "open_confirmations_per_user")
    #expect(error?.detail.retryAfterMs == 290_000)
    #expect(error?.detail.confirmation == nil)
    #expect(try stage.question(request("a"), kiosk) == first)
    _ = try stage.question(request("c"), .client("kiosk", of: .bert))
    try await stage.answer(first, by: admin)
    _ = try stage.question(request("c"), kiosk)
  }

  @Test("by default are 64, of which one more is refused")
  func usual() throws {
    for number in 0..<64 {
      _ = try stage.question(PolicyRequest(method: "token.get", provider: "p\(number)"), kiosk)
    }
    #expect(stage.refusal(kiosk) == .rateLimited)
    stage.stage.scheduler.advance(by: .seconds(300))
    #expect(stage.refusal(kiosk) == .interactionRequired)
  }
}
