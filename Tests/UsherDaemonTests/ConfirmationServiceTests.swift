import Foundation
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Confirmation questions", .timeLimit(.minutes(10)))
struct ConfirmationServiceTests {
  private let harness: ConfirmHarness
  private var kiosk: Caller { harness.kiosk }
  private var admin: Caller { harness.admin }

  init() throws { harness = try ConfirmHarness() }

  @Test("a call that needs confirmation is refused with the question's id and may be retried")
  func asked() throws {
    let error = #expect(throws: UsherError.self) { try harness.check(kiosk) }
    #expect(error?.reason == .interactionRequired)
    #expect(error?.isRetryable == true)
    #expect(error?.detail.retryAfterMs == nil && error?.detail.next == nil)
    let id = try #require(error?.detail.confirmation)
    #expect(id.rawValue.hasPrefix("cnf_") && id.rawValue.count == 30)
    #expect(harness.told == ["asked \(id)"])
    let event = try #require(harness.entries.first?.event)
    #expect(event.topic == .confirm && event.client == "kiosk" && event.provider == .work)
  }

  @Test("no confirmation is asked for if the rule needs none or the account is unknown")
  func unasked() throws {
    try harness.service.check(Permit(rule: "kiosk"), .token, of: kiosk)
    var request = PolicyRequest.token
    request.isUnknown = true
    try harness.check(request, kiosk)
    #expect(harness.told == [])
  }

  @Test("identical calls share one confirmation question; a difference in any member makes another")
  func same() async throws {
    var full = PolicyRequest(
      method: "flow.start", provider: "work", kind: "operation", operation: "GET:/wallets")
    full.account = .init(id: "acc_1", subject: "s")
    full.scopes = ["a", "b"]
    let first = try harness.question(full, kiosk)
    full.scopes = ["b", "a", "b"]
    full.weekMinute = nil
    #expect(try harness.question(full, kiosk) == first)
    var others: [PolicyRequest] = []
    for change: (inout PolicyRequest) -> Void in [
      { $0 = PolicyRequest(method: "token.get").like($0) }, { $0.provider = "home" },
      { $0.kind = "sca" },
      { $0.operation = "POST:/wallets" }, { $0.account = .init(id: "acc_2", subject: "s") },
      { $0.account = nil }, { $0.scopes = ["a"] }, { $0.scopes = nil },
    ] {
      var other = full
      change(&other)
      others.append(other)
    }
    var ids = try others.map { try harness.question($0, kiosk) }
    ids.append(try harness.question(full, .client("till")))
    ids.append(try harness.question(full, .client("kiosk", of: .bert)))
    #expect(Set(ids + [first]).count == ids.count + 1)
    #expect(harness.told.count == ids.count + 1)
    // An answer to one question does not apply to another.
    try await harness.answer(first, true, .once, by: admin)
    #expect(harness.refusal(full, kiosk) == nil)
    for other in others { #expect(harness.refusal(other, kiosk) == .interactionRequired) }
    #expect(harness.refusal(full, try .client("till")) == .interactionRequired)
    #expect(harness.refusal(full, try .client("kiosk", of: .bert)) == .interactionRequired)
  }

  @Test("a confirmation for once allows one call within five minutes")
  func once() async throws {
    for remember in [nil, Remember.once] {
      try await harness.answer(harness.question(kiosk), true, remember, by: admin)
      #expect(harness.refusal(kiosk) == nil)
      #expect(harness.refusal(kiosk) == .interactionRequired)
    }
    try await harness.answer(harness.question(kiosk), by: admin)
    harness.clock.advance(by: .milliseconds(299_999))
    #expect(harness.refusal(kiosk) == nil)
    try await harness.answer(harness.question(kiosk), by: admin)
    harness.clock.advance(by: .seconds(300))
    #expect(harness.refusal(kiosk) == .interactionRequired)
  }

  @Test("a confirmation for once allows exactly one of 100 concurrent calls")
  func atOnce() async throws {
    try await harness.answer(harness.question(kiosk), by: admin)
    let passed = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<100 {
        group.addTask { [harness, kiosk] in harness.refusal(kiosk) == nil }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(passed == 1)
    #expect(harness.told.filter { $0.hasPrefix("asked") }.count == 2)
  }

  @Test(
    "a call that a person refused once is refused for a minute; the next one asks a new question")
  func refused() async throws {
    let id = try harness.question(kiosk)
    try await harness.answer(id, false, by: admin)
    #expect(harness.refusal(kiosk) == .permissionDenied)
    harness.clock.advance(by: .milliseconds(59_999))
    #expect(harness.refusal(kiosk) == .permissionDenied)
    harness.clock.advance(by: .milliseconds(1))
    #expect(try harness.question(kiosk) != id)
  }

  @Test("a confirmation for the session applies until the daemon ends", arguments: [true, false])
  func session(allow: Bool) async throws {
    try await harness.answer(harness.question(kiosk), allow, .session, by: admin)
    harness.clock.advance(by: .seconds(400 * 86_400))
    try await harness.service.sweep()
    #expect(harness.refusal(kiosk) == (allow ? nil : .permissionDenied))
    #expect(try harness.harness.store.loadConfirmations().isEmpty)
    #expect(harness.refusal(kiosk, at: try harness.restarted()) == .interactionRequired)
  }

  @Test(
    "a confirmation answer for 3600 s applies that long, also over a restart",
    arguments: [true, false])
  func seconds(allow: Bool) async throws {
    try await harness.answer(harness.question(kiosk), allow, .seconds(3600), by: admin)
    harness.clock.advance(by: .milliseconds(3_599_999))
    let again = try harness.restarted()
    let word: UsherError.Reason? = allow ? nil : .permissionDenied
    for service in [harness.service, again] {
      #expect(harness.refusal(kiosk, at: service) == word)
      #expect(harness.refusal(kiosk, at: service) == word)
      try await service.sweep()
    }
    #expect(try harness.harness.store.loadConfirmations().count == 1)
    harness.clock.advance(by: .milliseconds(1))
    for service in [harness.service, again] {
      #expect(harness.refusal(kiosk, at: service) == .interactionRequired)
    }
    try await again.sweep()
    #expect(try harness.harness.store.loadConfirmations().isEmpty)
  }

  @Test("a stored confirmation answer does not contain the account's id in plaintext")
  func disk() async throws {
    var request = PolicyRequest.token
    request.account = .init(id: "acc_canary", subject: "s")
    try await harness.answer(harness.question(request, kiosk), true, .seconds(60), by: admin)
    let row = try #require(try harness.harness.store.loadConfirmations().first)
    #expect(row.client == "kiosk" && row.uid == 1000 && row.question.count == 64)
    for file in harness.harness.place.everything() {
      #expect(file.bytes.range(of: .init("acc_canary".utf8)) == nil, "\(file.name)")
    }
  }

  @Test(
    "a confirmation is ignored while the clock is set back before it, and applies again afterwards")
  func setBack() async throws {
    try await harness.answer(harness.question(kiosk), true, .seconds(3600), by: admin)
    harness.clock.advance(by: .seconds(-1))
    #expect(harness.refusal(kiosk) == .interactionRequired)
    harness.clock.advance(by: .seconds(1))
    #expect(harness.refusal(kiosk) == nil)
  }

  @Test("a call with a scope of more than 4096 bytes is refused and asks no confirmation question")
  func tooLong() {
    var request = PolicyRequest.token
    request.scopes = [String(repeating: "s", count: 4097)]
    let error = #expect(throws: UsherError.self) { try harness.check(request, kiosk) }
    #expect(error?.reason == .invalidParams)
    #expect(error?.detail.field == "scope")
    #expect(harness.told == [])
  }
}

@Suite("Expiry of confirmation questions", .timeLimit(.minutes(10)))
struct ConfirmExpiryTests {
  private let harness: ConfirmHarness
  private var kiosk: Caller { harness.kiosk }
  private var admin: Caller { harness.admin }

  init() throws { harness = try ConfirmHarness() }

  @Test(
    "a confirmation question expires after five minutes, with one event, and is then asked anew")
  func expiry() async throws {
    let id = try harness.question(kiosk)
    harness.harness.scheduler.advance(by: .milliseconds(299_999))
    #expect(try harness.question(kiosk) == id)
    harness.harness.scheduler.advance(by: .milliseconds(1))
    #expect(harness.told == ["asked \(id)", "expired \(id)"])
    #expect(await harness.objection(id, by: admin) == .notFound)
    let next = try harness.question(kiosk)
    #expect(next != id)
    #expect(harness.told == ["asked \(id)", "expired \(id)", "asked \(next)"])
  }

  @Test(
    "a confirmation question that a clock change expired is published as expired on the next access"
  )
  func setOn() async throws {
    let id = try harness.question(kiosk)
    harness.clock.advance(by: .seconds(300))
    #expect(await harness.objection(id, by: admin) == .notFound)
    let next = try harness.question(kiosk)
    #expect(harness.told == ["asked \(id)", "expired \(id)", "asked \(next)"])
    harness.clock.advance(by: .seconds(-301))
    try await harness.service.sweep()
    #expect(harness.told.last == "expired \(next)")
    #expect(harness.harness.scheduler.pending == [])
  }

  @Test("an answered confirmation question leaves no timer behind")
  func scheduler() async throws {
    try await harness.answer(harness.question(kiosk), by: admin)
    #expect(harness.harness.scheduler.pending == [])
    harness.harness.scheduler.advance(by: .seconds(301))
    #expect(harness.told.count == 2)
  }

  @Test("each user has a limit of open confirmation questions")
  func limit() async throws {
    var limits = Limits()
    limits.openConfirmationsPerUser = 2
    let harness = try ConfirmHarness(limits)
    func request(_ provider: String) -> PolicyRequest {
      PolicyRequest(method: "token.get", provider: provider)
    }
    let first = try harness.question(request("a"), kiosk)
    harness.clock.advance(by: .seconds(10))
    _ = try harness.question(request("b"), .client("till"))
    let error = #expect(throws: UsherError.self) { try harness.check(request("c"), kiosk) }
    #expect(error?.reason == .rateLimited)
    #expect(error?.detail.limit == "open_confirmations_per_user")
    #expect(error?.detail.retryAfterMs == 290_000)
    #expect(error?.detail.confirmation == nil)
    #expect(try harness.question(request("a"), kiosk) == first)
    _ = try harness.question(request("c"), .client("kiosk", of: .bert))
    try await harness.answer(first, by: admin)
    _ = try harness.question(request("c"), kiosk)
  }

  @Test("by default a user may have 64 open confirmation questions, and the next call is refused")
  func usual() throws {
    for number in 0..<64 {
      _ = try harness.question(PolicyRequest(method: "token.get", provider: "p\(number)"), kiosk)
    }
    #expect(harness.refusal(kiosk) == .rateLimited)
    harness.harness.scheduler.advance(by: .seconds(300))
    #expect(harness.refusal(kiosk) == .interactionRequired)
  }
}

extension PolicyRequest {
  /// Returns the request with all members of another one except its method.
  fileprivate func like(_ other: PolicyRequest) -> PolicyRequest {
    var request = self
    (request.provider, request.kind, request.operation) = (
      other.provider, other.kind, other.operation
    )
    (request.account, request.scopes) = (other.account, other.scopes)
    return request
  }
}
