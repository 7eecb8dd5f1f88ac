import Logging
import NIOPosix
import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// A provider that has no credential set: every renewal fails, and nothing is ever sent.
@Suite("The watch over tokens")
struct TokenWatchTests {
  private let place: Workplace
  private let world: World
  private let store: Store
  private let clock = FakeClock()
  private let alarms: FakeAlarms
  private let book: AccountBook
  private let watch: TokenWatch
  private let events = EventBus(remembered: 100)
  private let told = Told()

  private final class Told: Sendable {
    private let words = Mutex<[String]>([])
    var all: [String] { words.withLock { $0 } }
    func hear(_ entry: EventBus.Entry) {
      guard entry.event.topic == .token else { return }
      words.withLock { $0.append(entry.event.what) }
    }
  }

  init() throws {
    place = try Workplace()
    alarms = FakeAlarms(clock)
    var provider = try ProviderConfig.sample()
    var settings = provider.oidc
    settings.clientCredential = "not-set"
    provider.settings = .oidc(settings)
    var config = Config()
    config.providers = [provider]
    world = World.fake(clock, alarms, config: config)
    store = try place.store(clock)
    book = AccountBook(world: world, events: events, store: store)
    let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let health = ProviderHealth { _, _ in }
    let http = ProviderHTTP(
      through: HTTPClientTransport(on: MultiThreadedEventLoopGroup.singleton),
      credentials: try Credentials(store: store, handed: nil, world: world), health: health,
      world: world, log: log)
    let source = TokenSource(
      world: world, providers: Providers(config), http: http,
      metadata: MetadataCache(http: http, world: world), health: health)
    let refresher = Refresher(
      world: world, store: store, book: book, source: source,
      queue: RevocationQueue(world: world, store: store, source: source, log: log),
      events: events, log: log)
    watch = TokenWatch(world: world, book: book, refresher: refresher, events: events, log: log)
    _ = events.listen(since: nil) { [told] in told.hear($0) }
  }

  /// A log-in with a token of 900 seconds.
  @discardableResult
  private func signIn(
    keepAlive: Bool, grantSeconds: Int = 1800
  ) async throws -> AccountRecord {
    let now = clock.now()
    let tokens = TokenSet.sample(
      expiresAt: now + .seconds(900), refreshExpiresAt: now + .seconds(grantSeconds))
    let update = try book.update(
      .sample(keepAlive: keepAlive, tokens: tokens), owner: .anna, provider: .work, at: now)
    try await store.commit(update.changes)
    book.install(update)
    return update.record
  }

  /// As a reload leaves it.
  private func reload(_ providers: [ProviderConfig]) async {
    var config = world.config
    config.providers = providers
    world.settings.replace(by: config, world.settings.inForce.policy)
    await watch.review(after: [.work])
  }

  @Test("an account whose provider is gone is left alone, and told of once when it is back")
  func providerGone() async throws {
    watch.start()
    try await signIn(keepAlive: false)
    alarms.advance(by: .seconds(1500))
    #expect(told.all == ["expiring"])
    let providers = world.config.providers
    await reload([])
    #expect(alarms.pending.isEmpty)
    await reload(providers)
    #expect(told.all == ["expiring"])
    #expect(alarms.pending.isEmpty)
  }

  @Test("an owner hears that a grant dies in five minutes, and only the provider ends it")
  func dying() async throws {
    watch.start()
    try await signIn(keepAlive: false)
    #expect(alarms.pending == [.seconds(1500)])
    alarms.advance(by: .seconds(1500))
    #expect(told.all == ["expiring"])
    #expect(alarms.pending.isEmpty)
  }

  @Test("accounts of before the start are watched too, and a clock that was set is noticed")
  func restart() async throws {
    try await signIn(keepAlive: false)
    watch.start()
    await watch.review()
    #expect(alarms.pending == [.seconds(1500)])
    clock.advance(by: .seconds(1600))
    await watch.review()
    #expect(told.all == ["expiring"])
    await watch.review()
    #expect(told.all == ["expiring"])
    #expect(alarms.pending.isEmpty)
  }

  @Test("an account that wakes later than within the hour is left on the disk until it does")
  func later() async throws {
    try await signIn(keepAlive: false, grantSeconds: 3 * 3600)
    watch.start()
    await watch.review()
    try await signIn(keepAlive: false, grantSeconds: 3 * 3600)
    #expect(alarms.pending.isEmpty)
    clock.advance(by: .seconds(6000))
    await watch.review()
    #expect(alarms.pending.isEmpty)
    clock.advance(by: .seconds(1200))
    await watch.review()
    #expect(alarms.pending == [.seconds(3300)])
    alarms.advance(by: .seconds(3300))
    #expect(told.all == ["expiring"])
  }

  @Test("one whose row does not open keeps nobody from looking after the others")
  func damaged() async throws {
    try await signIn(keepAlive: false)
    let broken = try AccountRow(
      id: AccountID("acc_0"), owner: .bert, provider: .work, subject: "broken",
      wakeAt: clock.now(), payload: SealedPayload(encoding: ["no": "account"]))
    try await store.commit([.putAccount(broken)])
    watch.start()
    for _ in 1...2 {
      await watch.review()
      #expect(alarms.pending == [.seconds(1500)])
    }
  }

  @Test("a renewal that fails is tried again, while the grant lives")
  func retrying() async throws {
    watch.start()
    try await signIn(keepAlive: true)
    #expect(alarms.pending == [.seconds(840)])
    alarms.advance(by: .seconds(840))
    try await alarms.isSet(.seconds(5))
    alarms.advance(by: .seconds(5))
    try await alarms.isSet(.seconds(10))
    #expect(told.all.isEmpty)
  }

  @Test("an account that is forgotten, and a daemon that stops, leave no alarm")
  func ending() async throws {
    watch.start()
    let record = try await signIn(keepAlive: false)
    try await store.commit([.deleteAccount(record.id)])
    book.remove(record)
    #expect(alarms.pending.isEmpty)
    try await signIn(keepAlive: false)
    #expect(alarms.pending.count == 1)
    watch.stop()
    #expect(alarms.pending.isEmpty)
    try await signIn(keepAlive: true)
    await watch.review()
    #expect(alarms.pending.isEmpty)
  }
}

/// The name of a provider means another one since the configuration was changed: its accounts have
/// what the old one gave them.
@Suite("An account of a provider that is now of a type without renewal")
struct OtherTypeTests {
  @Test(
    "is in need of a new log-in, and the daemon goes on",
    arguments: [
      ProviderSettings.truecaller(TruecallerSettings(appKeyCredential: "k", appLink: "l")),
      .gopay(GoPaySettings(clientID: "c", merchantID: "m")),
    ])
  func renewal(settings: ProviderSettings) async throws {
    let stage = try FlowStage()
    var config = Config()
    config.providers = [ProviderConfig(name: .work, settings: settings)]
    let world = World.fake(stage.clock, stage.alarms, config: config)
    let credentials = try Credentials(store: stage.store, handed: nil, world: world)
    _ = try await credentials.set(CredentialSet(name: "k", value: WireSecret(Secret("v"))))
    let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let health = ProviderHealth { _, _ in }
    let http = ProviderHTTP(
      through: HTTPClientTransport(on: MultiThreadedEventLoopGroup.singleton),
      credentials: credentials, health: health,
      world: world, log: log)
    let source = TokenSource(
      world: world, providers: Providers(config), http: http,
      metadata: MetadataCache(http: http, world: world), health: health)
    let refresher = Refresher(
      world: world, store: stage.store, book: stage.book, source: source,
      queue: RevocationQueue(world: world, store: stage.store, source: source, log: log),
      events: stage.events, log: log)
    let update = try stage.book.update(
      .sample(), owner: .anna, provider: .work, at: stage.clock.now())
    try await stage.store.commit(update.changes)
    stage.book.install(update)
    let error = await #expect(throws: UsherError.self) {
      try await refresher.token(
        update.record.id, update.record.mainKey, validFor: 0, isForced: true)
    }
    #expect(error?.reason == .reauthenticationRequired)
    #expect(error?.message == "tokens of this provider are not renewed")
    #expect(stage.book.record(update.record.id)?.details.grant.death == nil)
  }
}
