import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Like ``CachedReplyTests``, for changes in any order: a connection with cached replies must
/// give the same replies as a new one.
@Suite("Cached replies under random changes", .timeLimit(.minutes(10)))
struct CachedReplyFuzzTests {
  private static let steps = 80

  @Test(
    "after random changes, connections with cached replies answer like a new connection",
    arguments: 0..<6)
  func agreement(seed: UInt64) async throws {
    var changes = RandomChanges(seed: seed)
    let staged = try await ConnectionHarness()
    try await staged.signIn(changes.grant(at: staged.clock.now()))
    var old = [try await staged.connect(), try await staged.connect()]
    var history: [String] = []
    var (recorded, given) = (0, 0)
    for step in 0..<Self.steps {
      history.append(try await changes.next(staged))
      for line in Self.lines(&changes) {
        let new = try await staged.connect()
        let expected = try await new.answer(line)
        var answers = [expected]
        for connection in old {
          for _ in 1...2 { answers.append(try await connection.answer(line)) }
        }
        if let other = answers.first(where: { $0 != expected }) {
          Issue.record("after \(history): \(line): \(other), not \(expected)")
          return
        }
        if !expected.contains(#""reason":"locked""#) { recorded += answers.count }
        if expected.contains(#""accessToken""#) { given += 1 }
        try await new.close()
      }
      if step % 20 == 19 {
        try await old.removeFirst().close()
        old.append(try await staged.connect())
      }
    }
    #expect(given > Self.steps / 4, "\(given) tokens: \(history)")
    if staged.lockController.unlocked == nil { try await staged.lockController.unlock() }
    #expect(try await staged.audited() == recorded)
    await staged.end()
  }

  /// Calls for the existing accounts, by provider or id.
  private static func lines(_ changes: inout RandomChanges) -> [String] {
    let ids = changes.seen.suffix(3).map { #""account":"\#($0)""# }
    let words = [#""provider":"work""#] + ids
    return words.map { word in
      let more = changes.pick(["", "", #","minValidSeconds":0"#, #","minValidSeconds":300"#])
      return #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{\#(word)\#(more)}}"#
    }
  }
}

/// The changes that may happen to a daemon during a connection.
private struct RandomChanges {
  private var random: SeededGenerator
  private var signIns = 0
  /// The accounts that have existed.
  private(set) var seen: [AccountID] = []

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func pick<Element>(_ list: [Element]) -> Element {
    list[Int.random(in: 0..<list.count, using: &random)]
  }

  /// A grant of one of two subjects. Without a refresh token, the provider is never called.
  mutating func grant(at now: Timestamp) -> AccountGrant {
    signIns += 1
    let tokens = TokenSet.sample(
      "access-\(signIns)", refreshToken: nil,
      expiresAt: pick([nil, now + .seconds(pick([1000, 5000, 100_000]))]),
      scope: pick(["openid", "openid read.email", "read.email"]))
    let subject = pick(["usr_anna", "usr_anna", "usr_twin"])
    guard pick([true, false, false]) else { return .sample(subject, tokens: tokens) }
    return .consented(
      ["email": "a@x.example"], until: now + .seconds(pick([500, 50_000])),
      subject: subject, tokens: tokens)
  }

  /// - Returns: A description of the change.
  mutating func next(_ staged: ConnectionHarness) async throws -> String {
    guard staged.lockController.unlocked != nil else {
      try await staged.lockController.unlock()
      return "unlock"
    }
    switch Int.random(in: 0..<20, using: &random) {
    case 0...3:
      let record = try await staged.signIn(grant(at: staged.clock.now()))
      if !seen.contains(record.id) { seen.append(record.id) }
      return "sign-in \(signIns)"
    case 4...7: return try changeRules(staged)
    case 8: return try changeProvider(staged)
    case 9, 10:
      let seconds = pick([0, 1, 20, 200, 2000])
      staged.clock.advance(by: .seconds(seconds))
      return "\(seconds) s"
    case 11:
      staged.harness.scheduler.advance(by: .seconds(60))
      return "a minute"
    case 12:
      guard let record = try record(staged) else { return "nothing" }
      try await staged.forget(record)
      return "forget"
    case 13:
      try await staged.lockController.lock()
      return "lock"
    case 14:
      guard let record = try record(staged), record.isGuarded else { return "nothing" }
      let call = ConsentRevoke(account: record.id)
      _ = try await staged.lockController.services().consents.revoke(call, .program())
      return "consent revoked"
    default:
      try staged.rule(nil)
      try provide(at: Self.home, staged)
      return "mended"
    }
  }

  private mutating func record(_ staged: ConnectionHarness) throws -> AccountRecord? {
    guard let id = seen.last else { return nil }
    return try staged.repository.record(pick([id, seen[0]]))
  }

  private mutating func changeRules(_ staged: ConnectionHarness) throws -> String {
    let rules: [(String, ((inout ClientRule) throws -> Void)?)] = [
      ("no rule", nil), ("no rule", nil), ("all", { _ in }), ("none", { $0.allow = [] }),
      ("openid", { $0.scopes = ["openid"] }),
      ("openid read.email", { $0.scopes = ["openid", "read.email"] }),
      ("local auth", { $0.requireLocalAuthSeconds = 60 }),
      ("hours", { $0.hours = [try OpeningHours(setting: "Mon-Sun 00:00-12:00")] }),
      ("client", { $0.owner = .client }),
      ("twin", { $0.accounts = [try AccountSelector(setting: "subject:usr_twin")] }),
    ]
    let (name, edit) = pick(rules)
    try staged.rule(edit)
    return "rule: \(name)"
  }

  private mutating func changeProvider(_ staged: ConnectionHarness) throws -> String {
    let issuer = pick([Self.home, "https://other.example", nil])
    try provide(at: issuer, staged)
    return "provider: \(issuer ?? "none")"
  }

  private static let home = "https://id.example"

  private func provide(at issuer: String?, _ staged: ConnectionHarness) throws {
    try staged.reload { config in
      config.providers = []
      guard let issuer else { return }
      let settings = OIDCSettings(issuer: try ProviderURL(setting: issuer), clientID: "usher")
      config.providers = [ProviderConfig(name: .work, settings: settings)]
    }
  }
}
