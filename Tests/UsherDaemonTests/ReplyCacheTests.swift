import Logging
import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@testable import UsherDaemon

@Suite("Reply cache of a connection", .timeLimit(.minutes(10)))
struct ReplyCacheTests {
  private let harness: FlowHarness
  private let audit: AuditRecorder
  private let epoch = ReplyCache.Epoch(settings: 1, lock: 1)
  private var replyCache = ReplyCache()

  init() throws {
    harness = try FlowHarness()
    audit = AuditRecorder(
      dependencies: harness.dependencies)
  }

  /// A reply that is valid for a minute.
  private func cached(_ reply: String = "reply", isDecided: Bool = true) throws -> CachedReply {
    let now = harness.clock.now()
    var cached = CachedReply(
      reply: Array(reply.utf8), validity: now...(now + .seconds(60)), repository: harness.repository
    )
    guard isDecided else { return cached }
    cached.decision = .init(
      accounts: harness.repository.generation, audit: audit,
      call: try #require(AuditRepeat(.token(), by: .till)))
    return cached
  }

  private mutating func insert(
    _ reply: String = "reply", to params: String = "{}", isDecided: Bool = true
  ) throws {
    let cached = try cached(reply, isDecided: isDecided)
    Array(params.utf8).withUnsafeBytes { replyCache.insert(cached, to: .tokenGet, $0, in: epoch) }
  }

  private mutating func ask(
    _ params: String = "{}", of method: ReplyCache.CachedMethod = .tokenGet,
    in epoch: ReplyCache.Epoch? = nil
  ) -> String? {
    Array(params.utf8).withUnsafeBytes { params in
      replyCache.reply(to: method, params, in: epoch ?? self.epoch, at: harness.clock.now())
    }.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("the reply cache returns the reply to identical params only")
  mutating func same() throws {
    try insert("one", to: #"{"account":"a"}"#)
    try insert("two", to: #"{"account":"b"}"#)
    for _ in 0..<3 {
      #expect(ask(#"{"account":"a"}"#) == "one")
      #expect(ask(#"{"account":"b"}"#) == "two")
    }
    for other in [#"{"account":"c"}"#, #"{"account": "a"}"#, "", #"{"account":"a"}"# + " "] {
      #expect(ask(other) == nil)
    }
    #expect(ask(#"{"account":"a"}"#) == "one")
  }

  @Test("a reload, a lock or a changed account ends a cached reply for good")
  mutating func changes() async throws {
    for other in [
      ReplyCache.Epoch(settings: 2, lock: 1),
      ReplyCache.Epoch(settings: 1, lock: 2),
    ] {
      try insert()
      #expect(ask(in: other) == nil)
      #expect(ask() == nil)
    }
    try insert()
    #expect(ask() == "reply")
    let update = try harness.repository.update(
      .sample(), owner: .bert, provider: .work, at: harness.clock.now())
    harness.repository.install(update)
    #expect(ask() == nil)
    try insert()
    harness.repository.remove(update.record)
    #expect(ask() == nil)
    #expect(replyCache.isEmpty)
  }

  @Test("a reply computed before an account changed is not returned afterwards")
  mutating func readBefore() throws {
    let cached = try cached()
    harness.repository.install(
      try harness.repository.update(
        .sample(), owner: .bert, provider: .work, at: harness.clock.now()))
    Array("{}".utf8).withUnsafeBytes { replyCache.insert(cached, to: .tokenGet, $0, in: epoch) }
    #expect(ask() == nil)
  }

  @Test("a cached reply is returned until its last millisecond, and not before its first")
  mutating func moments() throws {
    try insert()
    harness.clock.advance(by: .seconds(60))
    #expect(ask() == "reply")
    harness.clock.advance(by: .milliseconds(1))
    #expect(ask() == nil)
    try insert()
    harness.clock.advance(by: .milliseconds(-1))
    #expect(ask() == nil)
  }

  @Test(
    "the methods whose replies a connection caches have the names of TokenGet and TokenForTarget")
  func methods() {
    let names = ReplyCache.CachedMethod.allCases.map(\.name.description)
    #expect(names == [TokenGet.name, TokenForTarget.name])
  }

  @Test("a reply to token.get does not answer token.forTarget with the same parameters")
  mutating func otherMethod() throws {
    try insert()
    #expect(ask(of: .tokenForTarget) == nil)
    #expect(ask() == "reply")
  }

  @Test("a reply that needs a decision each time, or that has long params, is not cached")
  mutating func notRemembered() throws {
    try insert(isDecided: false)
    #expect(replyCache.isEmpty)
    let longest = String(repeating: "x", count: ReplyCache.maxParamsBytes)
    try insert(to: longest + "x")
    #expect(replyCache.isEmpty)
    try insert(to: longest)
    #expect(ask(longest) == "reply")
  }

  @Test("the reply cache evicts the oldest reply, and a newer reply replaces its own entry")
  mutating func most() throws {
    for number in 0...ReplyCache.maxEntries { try insert("\(number)", to: "{\(number)}") }
    #expect(ask("{0}") == nil)
    for number in 1...ReplyCache.maxEntries { #expect(ask("{\(number)}") == "\(number)") }
    try insert("new", to: "{1}")
    #expect(ask("{1}") == "new" && ask("{2}") == "2")
  }

  @Test("a cached reply is dropped if it is not used between two sweeps")
  mutating func unused() throws {
    var left = [replyCache.removeUnused()]
    try insert()
    left.append(replyCache.removeUnused())
    #expect(ask() == "reply")
    for _ in 0..<2 { left.append(replyCache.removeUnused()) }
    #expect(left == [false, true, true, false])
    #expect(ask() == nil)
  }

  @Test("each cached reply is audited, and none is returned while the audit is full")
  mutating func audited() async throws {
    let destination = FakeAuditDestination()
    try insert()
    for _ in 0..<5 { #expect(ask() == "reply") }
    audit.open(destination)
    await audit.close()
    #expect(destination.rows.map(\.count) == [1, 4])
    for user in 0..<70 {
      let caller = AuditedCaller(client: "(user)", uid: UInt32(user), gid: 0, pid: 1)
      for _ in 0..<60 { audit.record(.denied("flow.list"), by: caller) }
    }
    #expect(audit.isFull)
    #expect(ask() == nil)
  }
}
