import JSONRPC
import Logging
import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

extension Owner {
  static let anna = Owner(realm: "host", uid: 1000)
  static let bert = Owner(realm: "host", uid: 1001)
}

extension ProviderName {
  static let work = ProviderName("work")
}

extension ProviderConfig {
  static func sample() throws -> ProviderConfig {
    let issuer = try ProviderURL(setting: "https://id.example")
    return ProviderConfig(
      name: .work, settings: OIDCSettings(issuer: issuer, clientID: "usher"))
  }
}

extension Provider where Settings == OIDCSettings {
  static func sample() throws -> Provider { try #require(Provider(.sample())) }
}

extension Response {
  /// The reply, if the call is answered at once; `nil` if it waits.
  var atOnce: [UInt8]? {
    switch self {
    case .now(let reply): reply
    case .cacheable(let cached): cached.reply
    case .later, .cold, .resumed: nil
    }
  }

  /// Returns the reply, after waiting if necessary.
  func reply() async throws -> [UInt8] {
    switch self {
    case .now(let reply): reply
    case .cacheable(let cached): cached.reply
    case .later(let body): try await body()
    case .cold(let read): try await read().reply()
    case .resumed: throw TestError("the call needs a connection")
    }
  }
}

extension Dependencies {
  static func fake(
    _ clock: FakeClock = FakeClock(), _ scheduler: FakeScheduler? = nil, config: Config = Config(),
    executor: (any TaskExecutor)? = nil, users: UserDatabase = .fake,
    sockets: LocalSockets = .browsers(of: nil), descriptors: DescriptorBudget = .unlimited,
    log: Logger = .silent
  ) -> Dependencies {
    Dependencies(
      configStore: .fake(config), clock: clock, entropy: FixedEntropy(),
      scheduler: scheduler ?? FakeScheduler(clock), executor: executor ?? TaskDelays.executor,
      users: users, sockets: sockets, processors: 2, descriptors: descriptors, log: log)
  }
}

extension LocalSockets {
  /// - Parameter user: The user of every browser; nil if the kernel does not know it.
  static func browsers(of user: UInt32?) -> LocalSockets {
    LocalSockets(loopbackUser: { _, _ in user }, loopbackListeners: { _ in nil })
  }
}

extension UserDatabase {
  /// Knows root, anna and bert.
  static let fake = UserDatabase(
    user: { uid in name(of: uid).map { .named($0) } ?? .nameless },
    principals: PrincipalResolver(user: { _ in nil }, group: { _ in nil }),
    subordinates: { SubordinateUsers("") })

  private static func name(of uid: UInt32) -> String? {
    [0: "root", 1000: "anna", 1001: "bert"][uid]
  }
}

extension ConfigStore {
  /// A store in which every user and every group name resolves.
  static func fake(_ config: Config) -> ConfigStore {
    let names = PrincipalResolver(user: { _ in 1000 }, group: { _ in 50 })
    return ConfigStore(config, try! Policy(config, daemonUser: 990, names: names))
  }
}

extension TokenSet {
  static func sample(
    _ accessToken: String = "access-1", refreshToken: String? = "refresh-1",
    expiresAt: Timestamp? = nil, refreshExpiresAt: Timestamp? = nil, scope: String = "openid"
  ) -> TokenSet {
    TokenSet(
      accessToken: Sealed(Secret(accessToken)), tokenType: "Bearer", expiresAt: expiresAt,
      scope: scope, refreshToken: refreshToken.map { Sealed(Secret($0)) },
      refreshExpiresAt: refreshExpiresAt)
  }
}

extension AccountGrant {
  static func sample(
    _ subject: String = "usr_anna", keepAlive: Bool = false, tokens: TokenSet = .sample()
  ) -> AccountGrant {
    AccountGrant(
      subject: subject, label: "anna@example.com", keepAlive: keepAlive, tokens: tokens)
  }
}

extension AccountGrant {
  /// An account by consent. A grant of the same name opens each member of the profile.
  /// - Parameter granted: The granted members, or `nil` for all of the profile.
  static func consented(
    _ profile: [String: JSONValue]?, granted: [String]? = nil, until end: Timestamp = .latest,
    subject: String = "usr_anna", tokens: TokenSet? = nil
  ) -> AccountGrant {
    var grant = AccountGrant(
      subject: subject, label: "+44…123", profile: profile, tokens: tokens)
    grant.isByConsent = true
    grant.consents = (granted ?? Array((profile ?? [:]).keys)).map {
      ConsentGrant(grant: "read.\($0)", member: $0, expiresAt: end)
    }
    return grant
  }
}

extension Caller {
  /// A caller that is matched by a rule of the given name, or by no rule.
  static func program(
    _ rule: String? = nil, of owner: Owner = .anna, isAdmin: Bool = false
  ) throws -> Caller {
    let rules = try rule.map {
      [
        ClientRule(
          name: $0, match: ClientMatch(user: .id(owner.uid)),
          allow: [try AccessPattern(setting: "*")])
      ]
    }
    return Caller(
      owner: owner,
      policy: try Policy.of(rules ?? []).caller(
        CallerIdentity(uid: owner.uid, gid: owner.uid, groups: [50])),
      isAdmin: isAdmin, label: "uid \(owner.uid)")
  }
}

extension TemporaryDirectory {
  func store(_ clock: any Clock = SystemClock()) throws -> Store {
    try Store.open(
      path: file("usherd.db"), masterKey: [UInt8](repeating: 7, count: 32),
      keyStorage: LockedBytes.keyStorage, clock: clock, entropy: SystemEntropy(),
      blocking: DispatchPool.blocking)
  }
}

extension Policy {
  /// - Parameter group: The number of every group. User names do not resolve.
  static func of(
    _ rules: [ClientRule], daemonUser: UInt32 = 990, group: UInt32? = 50
  ) throws -> Policy {
    try Policy(
      rules: rules, access: .blank, daemonUser: daemonUser,
      names: PrincipalResolver(user: { _ in nil }, group: { _ in group }))
  }
}

extension AccountRepository {
  /// Stores a planned change and installs it in memory.
  func write(_ update: Update?) async throws {
    guard let update else { throw TestError("the update has no changes") }
    try await store.commit(update.changes)
    install(update)
  }

  /// Stores a finished sign-in.
  /// - Parameter place: The token place, or `nil` for that of the configured provider.
  @discardableResult
  func persist(
    _ grant: AccountGrant = .sample(), of owner: Owner = .anna, at provider: ProviderName = .work,
    client: String = CallerPolicy.ownPrograms, place: TokenPlace? = nil
  ) async throws -> AccountRecord {
    let place = place ?? dependencies.configStore.current.provider(provider)?.tokenPlace
    let update = try self.update(
      grant, owner: owner, provider: provider, client: client, place: place,
      at: dependencies.clock.now())
    try await write(update)
    return update.record
  }
}

/// A connection that ignores cancellations and whose subscriptions receive no events.
final class NoConnection: ConnectionLink {
  let limits = Limits()

  func cancel(_ id: RequestID) {}

  func subscribe(_ call: EventsSubscribe) throws(UsherError) -> EventsSubscribe.Reply {
    .init(subscription: "sub_1", cursor: 0)
  }

  func unsubscribe(_ subscription: String) throws(UsherError) {}
}

extension RPCService {
  func respond(to method: String, _ params: JSONValue, as caller: Caller) throws -> Response {
    try respond(to: method, params.encoded(), as: caller)
  }

  func respond(to method: String, _ params: [UInt8], as caller: Caller) throws -> Response {
    try params.withUnsafeBytes {
      try respond(to: method, params: $0, Call(caller: caller, connection: NoConnection()))
    }
  }
}

extension Logger {
  /// A logger that discards everything.
  static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

/// A thread-safe record of elements in order of addition.
final class Recorded<Element: Sendable>: Sendable {
  private let elements = Mutex<[Element]>([])

  var all: [Element] { elements.withLock { $0 } }

  func add(_ element: Element) { elements.withLock { $0.append(element) } }
}

/// Changes a database through a separate connection, as another program would.
func execute(_ sql: String, at path: String) throws {
  let script = """
    import sqlite3, sys
    sqlite3.connect(sys.argv[1], isolation_level=None).executescript(sys.argv[2])
    """
  let outcome = try run("/usr/bin/python3", ["-c", script, path, sql])
  guard outcome.status == 0 else { throw TestError(outcome.errors) }
}

/// Returns the error that the body throws, or `nil`.
func thrown<Value>(_ body: () async throws -> Value) async -> UsherError? {
  do {
    _ = try await body()
    return nil
  } catch let error as UsherError {
    return error
  } catch {
    Issue.record(error)
    return nil
  }
}
