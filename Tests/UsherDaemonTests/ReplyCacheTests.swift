import Logging
import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@testable import UsherDaemon

@Suite("What a connection remembers of its calls")
struct ReplyCacheTests {
  private let harness: FlowHarness
  private let audit: AuditRecorder
  private let epoch = ReplyCache.Epoch(settings: 1, lockController: 1)
  private var answers = ReplyCache()

  init() throws {
    harness = try FlowHarness()
    audit = AuditRecorder(
      dependencies: harness.dependencies, log: .silent)
  }

  /// A reply that is good for a minute.
  private func standing(_ reply: String = "reply", isDecided: Bool = true) throws -> CachedReply {
    let now = harness.clock.now()
    var standing = CachedReply(
      reply: Array(reply.utf8), moments: now...(now + .seconds(60)), repository: harness.repository)
    guard isDecided else { return standing }
    standing.decision = .init(
      accounts: harness.repository.generation, audit: audit,
      call: try #require(AuditRepeat(.token(), by: .till)))
    return standing
  }

  private mutating func remember(
    _ reply: String = "reply", to params: String = "{}", isDecided: Bool = true
  ) throws {
    let standing = try standing(reply, isDecided: isDecided)
    Array(params.utf8).withUnsafeBytes { answers.remember(standing, to: $0, in: epoch) }
  }

  private mutating func ask(
    _ params: String = "{}", in epoch: ReplyCache.Epoch? = nil
  ) -> String? {
    Array(params.utf8).withUnsafeBytes { params in
      answers.reply(to: params, in: epoch ?? self.epoch, at: harness.clock.now())
    }.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("the same params have the same reply, and others none")
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

  @Test("other settings, a lock, and any change of an account end it for good")
  mutating func changes() async throws {
    for other in [
      ReplyCache.Epoch(settings: 2, lockController: 1),
      ReplyCache.Epoch(settings: 1, lockController: 2),
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

  @Test("what was read of the accounts before a change is not given after it")
  mutating func readBefore() throws {
    let standing = try standing()
    harness.repository.install(
      try harness.repository.update(
        .sample(), owner: .bert, provider: .work, at: harness.clock.now()))
    Array("{}".utf8).withUnsafeBytes { answers.remember(standing, to: $0, in: epoch) }
    #expect(ask() == nil)
  }

  @Test("it is good up to its last moment, and not before it was first given")
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

  @Test("what has to be decided each time, or has long params, is not remembered")
  mutating func notRemembered() throws {
    try remember(isDecided: false)
    #expect(answers.isEmpty)
    let longest = String(repeating: "x", count: ReplyCache.longest)
    try remember(to: longest + "x")
    #expect(answers.isEmpty)
    try remember(to: longest)
    #expect(ask(longest) == "reply")
  }

  @Test("only so many are remembered: the oldest goes, and a newer one takes its own place")
  mutating func most() throws {
    for number in 0...ReplyCache.most { try remember("\(number)", to: "{\(number)}") }
    #expect(ask("{0}") == nil)
    for number in 1...ReplyCache.most { #expect(ask("{\(number)}") == "\(number)") }
    try remember("new", to: "{1}")
    #expect(ask("{1}") == "new" && ask("{2}") == "2")
  }

  @Test("it is forgotten when nobody asked between two looks")
  mutating func unused() throws {
    var left = [answers.forgetUnused()]
    try remember()
    left.append(answers.forgetUnused())
    #expect(ask() == "reply")
    for _ in 0..<2 { left.append(answers.forgetUnused()) }
    #expect(left == [false, true, true, false])
    #expect(ask() == nil)
  }

  @Test("each that is given is in the audit, and none is given that cannot be")
  mutating func audited() async throws {
    let keeper = FakeKeeper()
    try remember()
    for _ in 0..<5 { #expect(ask() == "reply") }
    audit.open(keeper)
    await audit.close()
    #expect(keeper.rows.map(\.count) == [1, 4])
    for user in 0..<70 {
      let caller = AuditedCaller(client: "(user)", uid: UInt32(user), gid: 0, pid: 1)
      for _ in 0..<60 { audit.note(.denied("flow.list"), by: caller) }
    }
    #expect(audit.isFull)
    #expect(ask() == nil)
  }
}
