import Foundation
import Logging
import NIOPosix
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

/// A real flow engine on a real store, with a fake clock and timers, and no provider.
final class FlowHarness: Sendable {
  static let deadline = Duration.seconds(600)

  let place: TemporaryDirectory
  let clock = FakeClock()
  let scheduler: FakeScheduler
  let dependencies: Dependencies
  let store: Store
  let events = EventBus(historyLimit: 100)
  let repository: AccountRepository
  let engine: FlowEngine
  let probe: CallProbe
  let reader = FakeReader()
  let localAuth: LocalAuthService
  let totp: TOTPService
  let credentials: Credentials
  let health = ProviderHealth { _, _ in }
  /// The HTTP client of the flows. A test that sends something must shut it down.
  let http: ProviderHTTP
  let source: TokenSource
  let revocations: RevocationQueue
  let refresher: Refresher
  /// Provider calls with an account's access token.
  let calls: AccountCalls

  init(
    config: Config = Config(),
    log: Logger = .silent,
    users: UserDatabase = .fake,
    descriptors: DescriptorBudget = .unlimited
  ) throws {
    place = try TemporaryDirectory()
    scheduler = FakeScheduler(clock)
    dependencies = Dependencies.fake(
      clock, scheduler, config: config, users: users, descriptors: descriptors,
      log: log)
    store = try place.store(clock)
    probe = CallProbe(place.path, store: store)
    repository = AccountRepository(dependencies: dependencies, events: events, store: store)
    let group = MultiThreadedEventLoopGroup.singleton
    credentials = try Credentials(
      store: store, passed: nil, on: Disk(), dependencies: dependencies)
    http = ProviderHTTP(
      through: HTTPClientTransport(on: group), credentials: credentials, health: health,
      dependencies: dependencies)
    let metadata = MetadataCache(http: http, dependencies: dependencies)
    let verifier = IDTokenVerifier(
      http: http, credentials: credentials, dependencies: dependencies)
    let identities = IdentityAssertions(
      dependencies: dependencies, http: http, metadata: metadata)
    source = TokenSource(
      dependencies: dependencies, http: http, metadata: metadata, verifier: verifier,
      health: health, identities: identities)
    revocations = RevocationQueue(
      dependencies: dependencies, store: store, source: source)
    refresher = Refresher(repository: repository, source: source, queue: revocations)
    identities.use(refresher)
    calls = AccountCalls(
      dependencies: dependencies, http: http, repository: repository, refresher: refresher,
      identities: identities)
    localAuth = .fake(dependencies, store, reader)
    totp = TOTPService(dependencies: dependencies, store: store, repository: repository)
    let effects = EffectRunner(
      dependencies: dependencies, http: http, bearer: calls, metadata: metadata,
      verifier: verifier,
      listeners: RedirectListeners(dependencies: dependencies, group: group),
      answers: DaemonAnswers(
        accounts: repository, localAuth: LocalAuthAnswers(service: localAuth), totp: totp,
        dependencies: dependencies))
    engine = FlowEngine(
      credentials: credentials, accounts: repository, effects: effects, revocations: revocations)
  }

  var call: StubCall { StubCall(name: "effect", probe: place.path) }

  /// Opens and stores a flow of the stub machine.
  func open(
    _ effects: [EngineEffect] = [], id: String = "flw_1", client: String? = nil
  ) async throws -> LiveFlow {
    let session = LiveFlow(
      of: StubMachine(provider: try .sample(), probe: place.path), id: id, client: client,
      at: clock.now())
    try await engine.open(session, with: .proceed(effects), at: dependencies.transitionContext()) {}
    return session
  }

  /// Opens and stores a flow of a machine that has begun with the given answer.
  func open<Machine: FlowMachine>(
    _ machine: Machine, _ answer: Answer<Machine.Call> = .proceed([]), id: String = "flw_1",
    at provider: ProviderName = .work, client: String? = nil
  ) async throws -> LiveFlow {
    let session = LiveFlow(
      of: machine, id: id, provider: provider, client: client, at: clock.now())
    try await engine.open(
      session, with: Machine.erased(answer), at: dependencies.transitionContext()
    ) {}
    return session
  }

  /// Submits a code to the flow, by default at its present revision.
  @discardableResult
  func type(
    _ word: String, _ session: LiveFlow, revision: Int? = nil
  ) async -> UsherError.Reason? {
    await submit(.code(Secret(word), fields: [:]), session, revision: revision)
  }

  func submit(
    _ input: FlowInput, _ session: LiveFlow, revision: Int? = nil
  ) async -> UsherError.Reason? {
    let revision = revision ?? session.snapshot.revision
    return await ask(.submit(input, revision: revision), session)
  }

  func cancel(_ session: LiveFlow) async -> UsherError.Reason? {
    await ask(.cancel, session)
  }

  private func ask(
    _ request: LiveFlow.Request, _ session: LiveFlow
  ) async -> UsherError.Reason? {
    let result: Result<CallbackVerdict, UsherError> = await withCheckedContinuation { waiting in
      engine.deliver(.request(request) { waiting.resume(returning: $0) }, to: session)
    }
    switch result {
    case .success: return nil
    case .failure(let error): return error.reason
    }
  }

  /// Returns the local authenticator's answer to a flow.
  func ask(_ question: LocalAuthQuestion, _ session: LiveFlow) async -> LocalAuthAnswer {
    await withCheckedContinuation { continuation in
      LocalAuthAnswers(service: localAuth).answer(question, session) {
        continuation.resume(returning: $0)
      }
    }
  }

  /// Delivers the outcome of the stub's call.
  func answer(_ session: LiveFlow) {
    engine.deliver(.event(.called(call, .reply(HTTPReply(status: 200)))), to: session)
  }

  func row(_ session: LiveFlow) throws -> FlowRow {
    guard let row = try store.loadFlows().first(where: { $0.id == session.id }) else {
      throw TestError("the flow is not on disk")
    }
    return row
  }

  func journal() throws -> [String] { try store.loadJournal().map(\.state) }

  /// The tokens whose revocation is stored.
  func tokensToRevoke() throws -> [String] {
    try store.loadNotes(named: Revocation.notePrefix).flatMap { note in
      try note.payload.decoded(as: Revocation.self).tokens
        .map { $0.secret.unsealed().revealed() }
    }
  }
}

/// Makes every write to the flows table, or to another one, fail as on a failing disk, by renaming
/// the table.
struct FailingDisk {
  private let harness: FlowHarness
  private let table: String

  init(_ harness: FlowHarness, table: String = "flows") throws {
    self.harness = harness
    self.table = table
    try rename(table, to: table + "_away")
  }

  func mend() throws { try rename(table + "_away", to: table) }

  private func rename(_ table: String, to name: String) throws {
    // References of other tables must keep the original name.
    try execute(
      "PRAGMA legacy_alter_table = ON; ALTER TABLE \(table) RENAME TO \(name)",
      at: harness.store.status.path)
  }
}
