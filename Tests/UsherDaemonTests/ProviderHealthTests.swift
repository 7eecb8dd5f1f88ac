import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

@testable import UsherDaemon

private let now = Timestamp(seconds: 1_800_000_000)
private let anna = AccountID("acc_anna")
private let bert = AccountID("acc_bert")

extension CallOutcome {
  fileprivate static let fine = CallOutcome.reply(HTTPReply(status: 200))
  fileprivate static let gone = CallOutcome.unreachable(message: "gone", sent: false)

  fileprivate static func status(_ status: Int, retryAfter: String? = nil) -> CallOutcome {
    .reply(HTTPReply(status: status, headers: retryAfter.map { ["retry-after": $0] } ?? [:]))
  }
}

@Suite("Provider health")
struct ProviderHealthTests {
  private let work: ProviderConfig

  init() throws { work = try .sample() }

  private func health(after outcomes: [CallOutcome]) -> ProviderHealth {
    let health = ProviderHealth { _, _ in }
    for outcome in outcomes { health.record(outcome, of: work, at: now) }
    return health
  }

  @Test("each failed call doubles the provider's pause, up to a minute")
  func backOff() {
    let pauses = (1...9).map { count in
      health(after: Array(repeating: .gone, count: count)).pause(for: .work, at: now)
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    let long = health(after: Array(repeating: .gone, count: 1000))
    #expect(long.pause(for: .work, at: now) == .seconds(60))
  }

  @Test("a clock set back by a day does not extend a provider's pause")
  func clockSetBack() {
    let health = health(after: [.gone])
    #expect(health.pause(for: .work, at: now - .seconds(86_400)) == nil)
  }

  @Test("a provider's pause passes with time, and one successful call ends it")
  func recovery() {
    let health = health(after: [.gone, .gone])
    #expect(health.pause(for: .work, at: now + .seconds(1)) == .seconds(1))
    #expect(health.pause(for: .work, at: now + .seconds(2)) == nil)
    #expect(health.health(of: .work) == .failing)
    health.record(.fine, of: work, at: now)
    #expect(health.pause(for: .work, at: now) == nil)
    #expect(health.health(of: .work) == .ok)
    health.record(.gone, of: work, at: now)
    #expect(health.pause(for: .work, at: now) == .seconds(1))
  }

  @Test(
    "Retry-After pauses the refreshed account for up to an hour and other accounts for 5 s at most",
    arguments: [
      ("4", 4), ("7", 7), ("0", 1), ("-5", 1), ("99999", 3600), ("soon", 1), (" 7 ", 7),
      ("1.5", 2), ("99999999999999999999", 3600),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 1),
    ])
  func retryAfter(asked: String, seconds: Int) {
    for status in [429, 503] {
      let outcome = CallOutcome.status(status, retryAfter: asked)
      let health = health(after: [outcome])
      health.record(outcome, ofRefresh: anna, of: work, at: now)
      #expect(health.pause(for: .work, anna, at: now) == .seconds(seconds))
      #expect(health.pause(for: .work, bert, at: now) == .seconds(min(seconds, 5)))
    }
  }

  @Test("failures of other endpoints mark the provider as failing without a pause")
  func otherEndpoint() {
    let health = ProviderHealth { _, _ in }
    for outcome: CallOutcome in [
      .gone, .status(429, retryAfter: "60"), .status(500), .unreadable(message: "a redirect"),
    ] {
      health.record(outcome, of: work, by: .other, at: now)
      #expect(health.pause(for: .work, anna, at: now) == nil)
    }
    #expect(health.health(of: .work) == .failing)
    health.record(.gone, of: work, by: .token, at: now)
    health.record(.fine, of: work, by: .other, at: now)
    #expect(health.pause(for: .work, at: now) == .seconds(1), "the pause continues")
  }

  @Test("connections lost after the request pause other accounts for at most 5 s")
  func reset() {
    let reset = CallOutcome.unreachable(message: "reset", sent: true)
    let health = health(after: Array(repeating: reset, count: 8))
    #expect(health.pause(for: .work, bert, at: now) == .seconds(5))
    #expect(health.health(of: .work) == .failing)
    for _ in 1...8 { health.record(reset, ofRefresh: anna, of: work, at: now) }
    #expect(health.pause(for: .work, anna, at: now) == .seconds(60), "the pause has grown")
  }

  @Test("an account's refresh is delayed by other accounts' failures only once")
  func heldOnce() {
    let health = health(after: [.gone, .gone, .gone])
    #expect(health.pause(for: .work, anna, at: now) == .seconds(4))
    for second in 1...10 {
      health.record(.gone, of: work, at: now + .seconds(second))
    }
    #expect(health.pause(for: .work, anna, at: now + .seconds(3)) == .seconds(1))
    #expect(health.pause(for: .work, anna, at: now + .seconds(4)) == nil)
    #expect(health.pause(for: .work, bert, at: now + .seconds(11)) != nil)
  }

  @Test(
    "an account's failed refreshes double its own pause, and its successful refresh ends the pause")
  func ownBackOff() {
    let health = ProviderHealth { _, _ in }
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
      health.record(.status(500), ofRefresh: anna, of: work, at: now)
      #expect(health.pause(for: .work, anna, at: now) == .seconds(seconds))
    }
    #expect(health.pause(for: .work, bert, at: now) == nil)
    health.record(.fine, of: work, at: now)
    #expect(health.pause(for: .work, anna, at: now) == .seconds(60), "the pause has not ended")
    health.record(.fine, ofRefresh: anna, of: work, at: now)
    #expect(health.pause(for: .work, anna, at: now) == nil)
  }

  @Test(
    "a provider is healthy after 2xx and 4xx replies except 429, not after 5xx or unreadable ones")
  func kinds() {
    for status in [200, 204, 400, 401, 403, 404, 499] {
      #expect(health(after: [.status(status)]).health(of: .work) == .ok, "\(status)")
    }
    for status in [429, 500, 502, 503, 599] {
      #expect(health(after: [.status(status)]).health(of: .work) == .failing, "\(status)")
    }
    #expect(health(after: [.unreadable(message: "a redirect")]).health(of: .work) == .failing)
    #expect(health(after: []).health(of: .work) == .unknown)
    #expect(health(after: [.gone]).health(of: ProviderName("other")) == .unknown)
  }

  @Test("the outcome of a call to a replaced provider configuration is ignored")
  func another() throws {
    var config = Config()
    config.providers = [work]
    let configStore = ConfigStore.fake(config)
    let health = ProviderHealth(configStore) { _, _ in }
    health.record(.fine, of: work, at: now)
    var next = work
    next.http.requestTimeoutSeconds += 1
    config.providers = [next]
    configStore.replace(by: config, configStore.current.policy)
    health.record(.gone, of: work, at: now)
    #expect(health.health(of: .work) == .ok && health.pause(for: .work, at: now) == nil)
    health.record(.gone, of: next, at: now)
    #expect(health.health(of: .work) == .failing)
  }

  @Test("only a change of a provider's health is published")
  func changes() {
    let told = Mutex<[SystemStatus.Health]>([])
    let health = ProviderHealth { _, health in told.withLock { $0.append(health) } }
    for outcome: CallOutcome in [.fine, .fine, .gone, .gone, .status(500), .fine, .status(404)] {
      health.record(outcome, of: work, at: now)
    }
    #expect(told.withLock { $0 } == [.ok, .failing, .ok])
  }
}

@Suite("HTTP dates")
struct HTTPDateTests {
  @Test("an IMF-fixdate is parsed")
  func fixdate() {
    let time = Timestamp(httpDate: "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(time == Timestamp(seconds: 784_111_777))
    #expect(
      Timestamp(httpDate: "Thu, 29 Feb 2024 23:59:59 GMT")?.description
        == "2024-02-29T23:59:59Z")
  }

  @Test(
    "an HTTP date that is not a valid IMF-fixdate gives no timestamp",
    arguments: [
      "", "now", "784111777", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
      "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 nov 1994 08:49:37 GMT",
      "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 GMT GMT", "Fri, 29 Feb 2023 00:00:00 GMT",
    ])
  func others(text: String) {
    #expect(Timestamp(httpDate: text) == nil)
  }
}
