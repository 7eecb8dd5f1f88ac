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
  private var answers = ReplyCache()

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

  private mutating func remember(
    _ reply: String = "reply", to params: String = "{}", isDecided: Bool = true
  ) throws {
    let cached = try cached(reply, isDecided: isDecided)
    Array(params.utf8).withUnsafeBytes { answers.remember(cached, to: $0, in: epoch) }
  }

  private mutating func ask(
    _ params: String = "{}", in epoch: ReplyCache.Epoch? = nil
  ) -> String? {
    Array(params.utf8).withUnsafeBytes { params in
      answers.reply(to: params, in: epoch ?? self.epoch, at: harness.clock.now())
    }.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("the reply cache returns the reply to identical params only")
  mutating func same() throws {
    try remember("one", to: #"{"account":"a"}"#)
    try remember("two", to: #"{"account":"b"}"#)
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
      try remember()
      #expect(ask(in: other) == nil)
      #expect(ask() == nil)
    }
    try remember()
    #expect(ask() == "reply")
    let update = try harness.repository.update(
      .sample(), owner: .bert, provider: .work, at: harness.clock.now())
    harness.repository.install(update)
    #expect(ask() == nil)
    try remember()
    harness.repository.remove(update.record)
    #expect(ask() == nil)
    #expect(answers.isEmpty)
  }

  @Test("a reply computed before an account changed is not returned afterwards")
  mutating func readBefore() throws {
    let cached = try cached()
    harness.repository.install(
      try harness.repository.update(
        .sample(), owner: .bert, provider: .work, at: harness.clock.now()))
    Array("{}".utf8).withUnsafeBytes { answers.remember(cached, to: $0, in: epoch) }
    #expect(ask() == nil)
  }

  @Test("a cached reply is returned until its last millisecond, and not before its first")
  mutating func moments() throws {
    try remember()
    harness.clock.advance(by: .seconds(60))
    #expect(ask() == "reply")
    harness.clock.advance(by: .milliseconds(1))
    #expect(ask() == nil)
    try remember()
    harness.clock.advance(by: .milliseconds(-1))
    #expect(ask() == nil)
  }

  @Test("a reply that needs a decision each time, or that has long params, is not cached")
  mutating func notRemembered() throws {
    try remember(isDecided: false)
    #expect(answers.isEmpty)
    let longest = String(repeating: "x", count: ReplyCache.longest)
    try remember(to: longest + "x")
    #expect(answers.isEmpty)
    try remember(to: longest)
    #expect(ask(longest) == "reply")
  }

  @Test("the reply cache evicts the oldest reply, and a newer reply replaces its own entry")
  mutating func most() throws {
    for number in 0...ReplyCache.most { try remember("\(number)", to: "{\(number)}") }
    #expect(ask("{0}") == nil)
    for number in 1...ReplyCache.most { #expect(ask("{\(number)}") == "\(number)") }
    try remember("new", to: "{1}")
    #expect(ask("{1}") == "new" && ask("{2}") == "2")
  }

  @Test("a cached reply is dropped if it is not used between two sweeps")
  mutating func unused() throws {
    var left = [answers.forgetUnused()]
    try remember()
    left.append(answers.forgetUnused())
    #expect(ask() == "reply")
    for _ in 0..<2 { left.append(answers.forgetUnused()) }
    #expect(left == [false, true, true, false])
    #expect(ask() == nil)
  }

  @Test("each cached reply is audited, and none is returned while the audit is full")
  mutating func audited() async throws {
    let keeper = FakeKeeper()
    try remember()
    for _ in 0..<5 { #expect(ask() == "reply") }
    audit.open(keeper)
    await audit.close()
    #expect(keeper.rows.map(\.count) == [1, 4])
    for user in 0..<70 {
      let caller = AuditedCaller(client: "(user)", uid: UInt32(user), gid: 0, pid: 1)
      for _ in 0..<60 { audit.record(.denied("flow.list"), by: caller) }
    }
    #expect(audit.isFull)
    #expect(ask() == nil)
  }
}
