import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("One-time codes with single_use", .timeLimit(.minutes(10)))
struct SingleUseTests {
  private let harness: TOTPHarness

  init() throws {
    harness = try TOTPHarness { $0.singleUse = true }
    harness.clock.time = Timestamp(seconds: 1_800_000_010)
  }

  @Test("totp.code with single_use gives each client a code once per step")
  func once() async throws {
    let record = try await harness.persist()
    let code = try await harness.code(record, "till")
    let refusal = try #require(try await harness.refusal(record.id, "till"))
    #expect(refusal.reason == .rateLimited && refusal.detail.retryAfterMs == 50_000)
    #expect(refusal.detail.limit == "single_use")
    #expect(
      refusal.message == "you already got the code of this time step; the next step begins in 50 s")
    for client in ["desk", nil] { #expect(try await harness.code(record, client) == code) }
    harness.clock.advance(by: .milliseconds(49_999))
    #expect(try await harness.refusal(record.id, "till")?.detail.retryAfterMs == 1)
    harness.clock.advance(by: .milliseconds(1))
    #expect(try await harness.code(record, "till") != code)
    #expect(try await harness.refusal(record.id, "till")?.detail.retryAfterMs == 60_000)
  }

  @Test("with single_use, a TOTP code given for one account does not block another account's code")
  func accounts() async throws {
    let first = try await harness.persist("first")
    let second = try await harness.persist("second")
    _ = try await harness.code(first)
    #expect(try await harness.refusal(second.id) == nil)
  }

  @Test("single_use survives a restart and a clock set back: no step repeats or precedes the last")
  func durable() async throws {
    let record = try await harness.persist()
    _ = try await harness.code(record, "till")
    let again = try harness.restarted { $0.singleUse = true }
    #expect(try await harness.refusal(record.id, "till", at: again)?.reason == .rateLimited)
    #expect(try await harness.refusal(record.id, "desk", at: again) == nil)
    harness.clock.advance(by: .seconds(-3600))
    #expect(
      try await harness.refusal(record.id, "till", at: again)?.detail.retryAfterMs == 3_650_000)
    harness.clock.advance(by: .seconds(3650))
    #expect(try await harness.refusal(record.id, "till", at: again) == nil)
  }

  @Test("after a change of the period, single_use waits for a step after the last code's end")
  func otherPeriod() async throws {
    let record = try await harness.persist()
    _ = try await harness.code(record, "till")
    let longer = try harness.restarted { settings in
      settings.singleUse = true
      settings.periodSeconds = 50
    }
    // Steps begin at 1 800 000 000 + 50 n, and the last code is valid until 60.
    harness.clock.time = Timestamp(seconds: 1_800_000_055)
    #expect(
      try await harness.refusal(record.id, "till", at: longer)?.detail.retryAfterMs == 45_000)
    harness.clock.time = Timestamp(seconds: 1_800_000_100)
    #expect(try await harness.refusal(record.id, "till", at: longer) == nil)
  }

  @Test("of eight concurrent calls of totp.code with single_use, exactly one gets the code")
  func atOnce() async throws {
    let record = try await harness.persist()
    let given = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 1...8 {
        group.addTask { try await harness.refusal(record.id, "till") == nil }
      }
      return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(given == 1)
  }

  @Test("a single-use code that cannot be recorded on disk is not given")
  func unwritten() async throws {
    let record = try await harness.persist()
    try harness.harness.store.close()
    for _ in 1...2 {
      #expect(try await harness.refusal(record.id, "till")?.reason == .storageUnavailable)
    }
    #expect(harness.repository.record(record.id)?.details.authenticator?.givenUntil == [:])
  }

  @Test("a single-use code changes nothing else of the account and publishes no event")
  func quiet() async throws {
    let record = try await harness.persist { $0.tokens = .sample() }
    let heard = Mutex(0)
    _ = harness.harness.events.listen(since: nil) { _ in heard.withLock { $0 += 1 } }
    _ = try await harness.code(record, "till")
    #expect(heard.withLock { $0 } == 0)
    var after = try #require(harness.repository.record(record.id))
    #expect(after.mainToken == record.mainToken)
    after.details.authenticator?.givenUntil = [:]
    #expect(after.details == record.details)
  }

  @Test("a consent revoked while totp.code writes to disk keeps the code from being given")
  func consent() async throws {
    let record = try await harness.persist { grant in
      let consented = AccountGrant.consented(
        nil, granted: ["email"], tokens: .sample(scope: "read.email"))
      grant.tokens = consented.tokens
      grant.isByConsent = true
      grant.consents = consented.consents
    }
    let call = TOTPCode(account: record.id)
    guard case .later(let answer) = try harness.service.code(call, .program("till")) else {
      Issue.record("totp.code was answered without writing to the disk")
      return
    }
    let withdrawn = try #require(
      try harness.repository.update(record.id, at: harness.clock.now()) { _, _ in true })
    harness.repository.install(withdrawn.update)
    let error = await #expect(throws: UsherError.self) { try await answer() }
    #expect(error?.reason == .consentRequired)
  }
}

@Suite("One-time codes in flows", .timeLimit(.minutes(10)))
struct FlowCodeTests {
  private func session(
    _ client: String? = "till", owner: Owner = .anna,
    at provider: ProviderName = TOTPHarness.provider
  ) -> LiveFlow {
    LiveFlow(
      of: StubMachine(
        provider: Provider(ProviderConfig(name: provider, settings: OIDCSettings.blank))!, probe: ""
      ), id: "flw_1", owner: owner, provider: provider,
      client: client, at: Timestamp(seconds: 1_800_000_000))
  }

  @Test("a flow gets the code of its owner's account at its own provider, and no other code")
  func answer() async throws {
    let harness = try TOTPHarness()
    let record = try await harness.persist()
    let code = Secret(try await harness.code(record))
    let end = harness.clock.now() + .seconds(60)
    #expect(await harness.service.answer(record.id, session()) == .code(code, until: end))
    #expect(await harness.service.answer(record.id, session(nil)) == .code(code, until: end))
    #expect(await harness.service.answer(record.id, session(owner: .bert)) == .noSecret)
    #expect(await harness.service.answer(record.id, session(at: .work)) == .noSecret)
    #expect(await harness.service.answer(AccountID("acc_9"), session()) == .noSecret)
    let bare = try await harness.persist("bare", secret: nil)
    #expect(await harness.service.answer(bare.id, session()) == .noSecret)
    let broken = try await harness.persist("broken", secret: "0")
    #expect(await harness.service.answer(broken.id, session()) == .noSecret)
  }

  @Test("a single-use code given to a flow counts as given to the flow's client")
  func once() async throws {
    let harness = try TOTPHarness { $0.singleUse = true }
    let record = try await harness.persist()
    let next = harness.clock.now() + .seconds(60)
    guard case .code = await harness.service.answer(record.id, session()) else {
      Issue.record("the flow got no code")
      return
    }
    #expect(await harness.service.answer(record.id, session()) == .later(next))
    #expect(try await harness.refusal(record.id, "till")?.reason == .rateLimited)
    #expect(try await harness.refusal(record.id) == nil)
    #expect(await harness.service.answer(record.id, session(nil)) == .later(next))
    try harness.harness.store.close()
    guard case .unavailable = await harness.service.answer(record.id, session("desk")) else {
      Issue.record("the flow got a code")
      return
    }
  }
}

@Suite("One-time codes in running flows", .timeLimit(.minutes(10)))
struct RunningFlowCodeTests {
  @Test("a flow that asks for a TOTP code gets one if the account has a secret")
  func told() async throws {
    let settings = BSASettings(
      clientKeyCredential: "bsa-client-key", appPackage: "com.example.app", appVersion: "1.0.0")
    var config = Config()
    config.providers = [ProviderConfig(name: .work, settings: settings)]
    let harness = try FlowHarness(config: config)
    for (secret, state) in [(TOTPHarness.secret, "shown"), (nil, "not shown")] {
      var grant = AccountGrant(subject: state, label: "anna", tokens: nil)
      grant.totpSecret = secret.map { Sealed(Secret($0)) }
      let record = try await harness.repository.persist(grant)
      let session = try await harness.open(id: "flw_\(state.count)", client: "till")
      #expect(await harness.type("show \(record.id)", session) == nil)
      try await reached("the flow has its answer") { session.flow.state == state }
    }
  }
}
