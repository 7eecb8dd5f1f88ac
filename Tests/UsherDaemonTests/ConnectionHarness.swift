import JSONRPC
import NIOCore
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit
import UsherTransport

@testable import UsherDaemon

/// A running daemon with a fake clock, and connections to it on a separate event loop. Each piece
/// of input is delivered as it was sent.
final class ConnectionHarness: Sendable {
  /// The peer of a connection, unless a test names another one.
  static let connectingPeer = peer(of: .anna)

  /// Returns a program of the owner, a member of access.group.
  static func peer(of owner: Owner) -> PeerIdentity {
    PeerIdentity(
      identity: CallerIdentity(uid: owner.uid, gid: owner.uid, groups: [50]), pid: 7,
      isAdmin: false, realm: owner.realm)
  }

  let harness: LockControllerHarness
  let lockController: LockController
  let service: RPCService
  private let loop: SocketLoop
  private let connectionScheduler: OnLoop<ConnectionScheduler>

  var clock: FakeClock { harness.clock }
  var configStore: ConfigStore { harness.dependencies.configStore }
  var repository: AccountRepository { get throws { try lockController.services().repository } }

  /// - Parameters:
  ///   - users: The user database, or `nil` for one whose lookups fail.
  ///   - transport: The transport to the providers; nil for the network.
  ///   - configure: Changes the configuration with which the daemon starts.
  init(
    users: UserDatabase? = nil, transport: (any ProviderTransport)? = nil,
    _ configure: (inout Config) throws -> Void = { _ in }
  ) async throws {
    harness = try LockControllerHarness(
      holdsTimers: true, users: users ?? UserDatabase(user: { _ in .failed }),
      transport: transport, configure)
    lockController = try await harness.begun()
    service = RPCService(lockController)
    let loop = try SocketLoop()
    connectionScheduler = try await loop.submit {
      [configStore = harness.dependencies.configStore] in
      OnLoop(ConnectionScheduler(configStore, on: loop), loop)
    }
    self.loop = loop
    // The event loop's timers use the machine's clock, and a busy machine delays the test's sending
    // and reading.
    try reload {
      $0.limits.lineSeconds = 300
      $0.limits.unreadReplySeconds = 300
    }
  }

  /// - Parameters:
  ///   - user: The user whose share of the event loop the connection uses.
  ///   - peer: The program at the other end, which has the rights of its user.
  ///   - isAlone: Whether the connection may work without interruption, as administrators'
  ///     connections may. Otherwise a batch is interrupted after 2 ms.
  func connect(
    as user: UInt32 = connectingPeer.identity.uid, peer: PeerIdentity = connectingPeer,
    isAlone: Bool = false
  ) async throws -> HarnessConnection {
    let (near, far) = try FarEnd.pair()
    let caller = CallerCache(peer, configStore)
    let handler = try await loop.submit { [loop, service, connectionScheduler] in
      let transport = Transport(near, on: loop, maxUnsent: service.limits.unreadReplyBytes)
      let handler = ConnectionHandler(
        caller: caller, service: service, scheduler: connectionScheduler.value, through: transport,
        party: isAlone ? .admin : .user(user))
      try handler.begin(since: .now())
      return OnLoop(handler, loop)
    }
    return HarnessConnection(handler, far)
  }

  /// Replaces the configuration, as a reload does after reading it.
  func reload(_ change: (inout Config) throws -> Void) throws {
    var config = configStore.current.config
    try change(&config)
    let names = PrincipalResolver(user: { _ in 1000 }, group: { _ in 50 })
    configStore.replace(by: config, try Policy(config, daemonUser: 990, names: names))
  }

  /// Sets one rule that matches every connection, or none for `nil`.
  func rule(_ edit: ((inout ClientRule) throws -> Void)?) throws {
    guard let edit else { return try reload { $0.clients = [] } }
    var rule = ClientRule(
      name: "till", match: ClientMatch(user: .id(Owner.anna.uid)),
      allow: [try AccessPattern(setting: "*")])
    try edit(&rule)
    try reload { $0.clients = [rule] }
  }

  /// Stores a finished sign-in.
  @discardableResult
  func signIn(_ grant: AccountGrant = .sample()) async throws -> AccountRecord {
    try await repository.persist(grant)
  }

  /// Drops everything from memory by a lock and an unlock.
  func chill() async throws {
    try await lockController.lock()
    try await lockController.unlock()
  }

  func forget(_ record: AccountRecord) async throws {
    let services = try lockController.services()
    try await services.store.commit([.deleteAccount(record.id)])
    services.repository.remove(record)
  }

  /// Ends the minute and returns the number of audited calls of a method.
  func audited(_ method: String = TokenGet.name) async throws -> Int {
    harness.scheduler.advance(by: .seconds(60))
    var (count, after) = (0, 0 as Int?)
    while let number = after {
      let list = AuditList(method: method, after: number, limit: AuditService.maxRows)
      let reply = try await lockController.services().audits.list(list)
      count += reply.rows.map(\.count).reduce(0, +)
      after = reply.next
    }
    return count
  }

  func end() async {
    await lockController.end()
    await loop.stop()
  }
}

/// The client end of a connection to the daemon's handler.
final class HarnessConnection: Sendable {
  let handler: OnLoop<ConnectionHandler>
  private let far: FarEnd
  private let unread = Mutex<[UInt8]>([])

  init(_ handler: OnLoop<ConnectionHandler>, _ far: FarEnd) {
    self.handler = handler
    self.far = far
  }

  /// Delivers one piece as a single read. A real socket may join two pieces.
  func send(_ bytes: [UInt8]) async throws {
    try await handler.loop.submit { [handler] in
      bytes.withUnsafeBytes { handler.value.received($0) }
    }
  }

  /// Returns the next line without its end, or `nil` if there is none yet.
  private func lineSoFar() -> String? {
    unread.withLock { unread in
      guard let end = unread.firstIndex(of: 0x0A) else { return nil }
      defer { unread.removeFirst(end + 1) }
      return String(decoding: unread[..<end], as: UTF8.self)
    }
  }

  /// The number of complete lines that were received and not returned yet.
  var linesSoFar: Int {
    while let bytes = far.receive(), !bytes.isEmpty { unread.withLock { $0 += bytes } }
    return unread.withLock { unread in unread.count { $0 == 0x0A } }
  }

  /// Returns the next line, without its end and without its correlation id.
  func line() async throws -> String {
    let deadline = TestDeadline(within: 90)
    while true {
      let isLast = deadline.isOver
      let bytes = far.receive()
      unread.withLock { $0 += bytes ?? [] }
      if let line = lineSoFar() {
        // Most replies have none, and a debug build takes long to search with an expression.
        guard line.contains("correlationId") else { return line }
        return line.replacing(/"correlationId":"cor_[^"]*"/, with: "")
      }
      if bytes == nil { throw TestError("the daemon closed the connection before the next line") }
      guard !isLast else { throw TestError("the daemon sent no line in time") }
      await Task.yield()
    }
  }

  /// Returns all lines that arrive until the daemon closes the connection.
  func linesUntilClosed() async throws -> [String] {
    let bytes = try await far.receiveAll()
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// Sends a line, which must be a call, and returns the reply.
  func answer(_ line: String) async throws -> String {
    try await send(Array(line.utf8) + [0x0A])
    return try await self.line()
  }

  /// Sends pieces of lines and returns `count` replies. Throws if there are more: the next reply
  /// must be the one to a final call.
  func answers(_ count: Int, to pieces: [[UInt8]]) async throws -> [String] {
    for piece in pieces { try await send(piece) }
    var lines: [String] = []
    while lines.count < count { lines.append(try await line()) }
    try await send(Array("\(Self.last)\n".utf8))
    let end = try await line()
    guard end.contains(Self.lastID) else { throw TestError("one reply too many: \(end)") }
    return lines
  }

  func close() async throws {
    try await handler.loop.submit { [handler] in handler.value.transport.close() }
  }

  private static let lastID = #""id":"the last of them""#
  private static let last = #"{"jsonrpc":"2.0","# + lastID + #","method":"rpc.hello"}"#
}
