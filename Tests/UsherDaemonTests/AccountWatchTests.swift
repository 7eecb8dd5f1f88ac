import Logging
import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// The provider's credential is not set, so that every refresh fails and no call is sent.
@Suite("Background refresh of tokens", .timeLimit(.minutes(10)))
struct TokenRenewalTests {
  private let harness: FlowHarness
  private let watch: AccountWatch
  private let told = Recorded<String>()
  private var dependencies: Dependencies { harness.dependencies }
  private var store: Store { harness.store }
  private var clock: FakeClock { harness.clock }
  private var scheduler: FakeScheduler { harness.scheduler }
  private var repository: AccountRepository { harness.repository }

  init() throws {
    var provider = try ProviderConfig.sample()
    var settings = try #require(provider.settings as? OIDCSettings)
    settings.clientCredential = "not-set"
    provider.settings = settings
    var config = Config()
    config.providers = [provider]
    harness = try FlowHarness(config: config)
    watch = AccountWatch(
      dependencies: harness.dependencies, repository: harness.repository, calls: harness.calls)
    _ = harness.events.listen(since: nil) { [told] entry in
      if entry.event.topic == .token { told.add(entry.event.what) }
    }
  }

  /// Stores a sign-in with a token of 900 s.
  @discardableResult
  private func signIn(
    keepAlive: Bool, grantSeconds: Int = 1800
  ) async throws -> AccountRecord {
    let now = clock.now()
    let tokens = TokenSet.sample(
      expiresAt: now + .seconds(900), refreshExpiresAt: now + .seconds(grantSeconds))
    return try await repository.persist(.sample(keepAlive: keepAlive, tokens: tokens))
  }

  /// Replaces the providers as a reload does.
  private func reload(_ providers: [ProviderConfig]) async {
    var config = dependencies.config
    config.providers = providers
    dependencies.configStore.replace(by: config, dependencies.configStore.current.policy)
    await watch.providersChanged([.work])
  }

  @Test("the expiring event is not repeated after the provider was removed and came back")
  func providerGone() async throws {
    watch.start()
    try await signIn(keepAlive: false)
    scheduler.advance(by: .seconds(1500))
    #expect(told.all == ["expiring"])
    let providers = dependencies.config.providers
    await reload([])
    #expect(scheduler.pending.isEmpty)
    await reload(providers)
    #expect(told.all == ["expiring"])
    #expect(scheduler.pending.isEmpty)
  }

  @Test("accounts from before the start are watched, and the review notices a jump of the clock")
  func restart() async throws {
    try await signIn(keepAlive: false)
    watch.start()
    await watch.review()
    #expect(scheduler.pending == [.seconds(1500)])
    clock.advance(by: .seconds(1600))
    await watch.review()
    #expect(told.all == ["expiring"])
    await watch.review()
    #expect(told.all == ["expiring"])
    #expect(scheduler.pending.isEmpty)
  }

  @Test("an account whose next refresh or warning is due in more than an hour has no timer yet")
  func later() async throws {
    try await signIn(keepAlive: false, grantSeconds: 3 * 3600)
    watch.start()
    await watch.review()
    try await signIn(keepAlive: false, grantSeconds: 3 * 3600)
    #expect(scheduler.pending.isEmpty)
    clock.advance(by: .seconds(6000))
    await watch.review()
    #expect(scheduler.pending.isEmpty)
    clock.advance(by: .seconds(1200))
    await watch.review()
    #expect(scheduler.pending == [.seconds(3300)])
    scheduler.advance(by: .seconds(3300))
    #expect(told.all == ["expiring"])
  }

  @Test("an unreadable account row does not keep other accounts from being watched")
  func damaged() async throws {
    try await signIn(keepAlive: false)
    let broken = try AccountRow(
      id: AccountID("acc_0"), owner: .bert, provider: .work, subject: "broken",
      wakeAt: clock.now(), payload: SealedPayload(encoding: ["no": "account"]))
    try await store.commit([.putAccount(broken)])
    watch.start()
    for _ in 1...2 {
      await watch.review()
      #expect(scheduler.pending == [.seconds(1500)])
    }
  }

  @Test("a failed background refresh is retried after 5 s, then after 10 s")
  func retrying() async throws {
    watch.start()
    try await signIn(keepAlive: true)
    #expect(scheduler.pending == [.seconds(840)])
    scheduler.advance(by: .seconds(840))
    try await scheduler.isSet(.seconds(5))
    scheduler.advance(by: .seconds(5))
    try await scheduler.isSet(.seconds(10))
    #expect(told.all.isEmpty)
  }

  @Test(
    "an outdated review of an account does not replace the refresh timer of a later change",
    arguments: [true, false])
  func overtaken(isPlanned: Bool) async throws {
    let record = try await signIn(keepAlive: false)
    let update = try repository.update(record) { $0.keepAlive = true }
    try await store.commit(update.changes)
    let change = OnceOnly { [repository] in repository.install(update) }
    let interrupted = Dependencies(
      configStore: dependencies.configStore, clock: clock, entropy: FixedEntropy(),
      scheduler: InterruptedScheduler(scheduler: scheduler) { if isPlanned { change() } },
      processors: 2, log: .silent)
    // The watch asks whether the owner is withheld after it has read the account.
    let watch = AccountWatch(
      dependencies: interrupted, repository: repository, calls: harness.calls
    ) { _ in
      if !isPlanned { change() }
      return false
    }
    watch.start()
    watch.process(record.id)
    #expect(scheduler.pending == [.seconds(840)])
    watch.stop()
  }

  @Test(
    "a forgotten account leaves no refresh timer, and a stopped account watch leaves and sets none")
  func ending() async throws {
    watch.start()
    let record = try await signIn(keepAlive: false)
    try await store.commit([.deleteAccount(record.id)])
    repository.remove(record)
    #expect(scheduler.pending.isEmpty)
    try await signIn(keepAlive: false)
    #expect(scheduler.pending.count == 1)
    watch.stop()
    #expect(scheduler.pending.isEmpty)
    try await signIn(keepAlive: true)
    await watch.review()
    #expect(scheduler.pending.isEmpty)
  }
}

/// A function that does nothing when it is called again.
final class OnceOnly: Sendable {
  private let isCalled = Atomic<Bool>(false)
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  func callAsFunction() {
    if !isCalled.exchange(true, ordering: .relaxed) { body() }
  }
}

/// A scheduler that calls a function before it sets a timer.
private struct InterruptedScheduler: Scheduler {
  let scheduler: any Scheduler
  let interruption: @Sendable () -> Void

  func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
    interruption()
    return scheduler.after(delay, body)
  }
}

/// A change of the configuration gave the provider's name to another provider; the accounts have
/// tokens of the old provider.
@Suite("Accounts at a provider whose type changed", .timeLimit(.minutes(10)))
struct OtherTypeTests {
  @Test(
    "a refresh at a provider type without refresh needs a new sign-in and does not end the grant",
    arguments: [
      TruecallerSettings(appKeyCredential: "k", appLink: "l"),
      GoPaySettings(clientID: "c", merchantID: "m"),
    ] as [any ProviderTypeSettings])
  func renewal(settings: any ProviderTypeSettings) async throws {
    var config = Config()
    config.providers = [ProviderConfig(name: .work, settings: settings)]
    let harness = try FlowHarness(config: config)
    _ = try await harness.credentials.set(CredentialSet(name: "k", value: WireSecret(Secret("v"))))
    let record = try await harness.repository.persist()
    let error = await #expect(throws: UsherError.self) {
      try await harness.refresher.token(record.id, record.mainKey, validFor: 0, isForced: true)
    }
    #expect(error?.reason == .reauthenticationRequired)
    #expect(error?.message == "tokens of this provider are not renewed")
    #expect(harness.repository.record(record.id)?.details.grant.death == nil)
  }
}
