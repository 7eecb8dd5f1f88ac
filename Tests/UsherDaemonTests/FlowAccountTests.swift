import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Accounts stored and consents queried during a flow", .mayBlock, .timeLimit(.minutes(10)))
struct FlowAccountTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  @Test("an account is stored together with the state of its flow, then the flow goes on")
  func storing() async throws {
    let session = try await harness.open(client: "till")
    #expect(await harness.type("store", session) == nil)
    let record = try #require(try harness.repository.accounts(of: .anna).first)
    #expect(try harness.store.loadAccounts().map(\.id) == [record.id])
    #expect(try harness.store.loadConsents().map(\.client) == ["till"])
    try await reached("it is told") { session.flow.state == "stored \(record.id)" }
    #expect(try harness.journal() == ["asking", "storing", "stored \(record.id)"])
    #expect(session.flow.status == .active && session.flow.result == nil)
    #expect(record.details.broughtBy == "till")
    #expect(await harness.type("done", session) == nil)
    #expect(session.flow.result?["account"] == .string(record.id.rawValue))
  }

  @Test("the events of a flow tell its changes in order, with state, step and revision")
  func events() async throws {
    let told = Recorded<Event>()
    _ = harness.events.listen(since: nil) { told.add($0.event) }
    let session = try await harness.open()
    for word in ["halfway", "poll", "done"] {
      #expect(await harness.type(word, session) == nil)
    }
    let flows = told.all.filter { $0.topic == .flow }
    #expect(flows.map(\.what) == ["started", "moved", "finished"])
    #expect(flows.map(\.state) == ["asking", "halfway", "done"])
    #expect(flows.map(\.step) == [.enterCode, .enterCode, nil])
    #expect(flows.map(\.revision) == [1, 2, 3])
    #expect(flows.map(\.status) == [.active, .active, .succeeded])
    for event in flows {
      #expect(event.flow == session.id && event.provider == .work && event.kind == "stub")
    }
    let others = told.all.filter { $0.topic != .flow }
    #expect(others.map(\.topic) == [.account] && others.map(\.what) == ["added"])
    #expect(others.first?.account?.rawValue == session.flow.result?["account"]?.stringValue)
  }

  @Test("a flow may store an account with its first answer")
  func atOnce() async throws {
    let session = try await harness.open(
      [.store(.consented(["firstname": "Ada"]))], client: "till")
    let record = try #require(try harness.repository.accounts(of: .anna).first)
    try await reached("it is told") { session.flow.state == "stored \(record.id)" }
    #expect(try harness.store.loadConsents().count == 1)
  }

  @Test("a stored account and its consents have the time at which they are stored")
  func moment() async throws {
    let session = try await harness.open(client: "till")
    await harness.type("storing", session)
    harness.clock.advance(by: .seconds(90))
    await harness.type("store", session)
    let record = try #require(try harness.repository.accounts(of: .anna).first)
    #expect(record.details.createdAt == harness.clock.now())
    #expect(record.consents.entries.values.map(\.grantedAt) == [harness.clock.now()])
  }

  @Test("a call for an account in an unknown form has no token, so it is not sent again and again")
  func unknownForm() async throws {
    let row = AccountRow(
      id: AccountID("acc_0"), owner: .anna, provider: .work, subject: "broken",
      payload: try SealedPayload(encoding: ["no": "account"]))
    try await harness.store.commit([.putAccount(row)])
    let outcome = await harness.calls.send(harness.call, of: row.id, for: try .sample())
    #expect(
      outcome == .noToken(message: "a stored value is not of the form this usherd expects"))
  }

  @Test("a flow is not told that an account is absent if the store cannot be read")
  func unreadable() async throws {
    let (session, record) = (try await harness.open(), try await harness.repository.persist())
    let told = Recorded<DaemonAnswer>()
    func ask(_ account: AccountID, _ repository: AccountRepository) {
      let answers = DaemonAnswers(
        accounts: repository, localAuth: LocalAuthAnswers(service: harness.localAuth),
        totp: harness.totp, dependencies: harness.dependencies)
      answers.answer(.presence(of: account), session) { event in
        if case .daemon(.answered(let answer)) = event { told.add(answer) }
      }
    }
    ask(record.id, harness.repository)
    ask(AccountID("acc_none"), harness.repository)
    #expect(told.all == [.presence(true), .presence(false)])
    try harness.store.close()
    ask(
      record.id,
      AccountRepository(
        dependencies: harness.dependencies, events: harness.events, store: harness.store))
    #expect(told.all.count == 3 && told.all.last == .presence(nil))
  }

  @Test("a flow that relies on a consent succeeds while its client has the consent")
  func relying() async throws {
    let record = try await harness.repository.persist(
      .consented(["firstname": "Ada"]), client: "till")
    let session = try await harness.open(client: "till")
    await harness.type("rely \(record.id)", session)
    #expect(session.flow.status == .succeeded)
    #expect(session.flow.result?["profile"] == ["firstname": "Ada"])
  }

  @Test("a flow that relies on a consent of another client or an expired one fails as denied")
  func notRelying() async throws {
    let end = harness.clock.now() + .seconds(60)
    let record = try await harness.repository.persist(
      .consented(["firstname": "Ada"], until: end), client: "till")
    let other = try await harness.open(id: "flw_1", client: "desk")
    await harness.type("rely \(record.id)", other)
    let late = try await harness.open(id: "flw_2", client: "till")
    harness.clock.advance(by: .seconds(60))
    await harness.type("rely \(record.id)", late)
    for session in [other, late] {
      #expect(session.flow.status == .failed && session.flow.failure?.reason == .denied)
      #expect(session.flow.result == nil)
    }
    #expect(harness.repository.record(record.id)?.details.profile?["lastname"] == nil)
  }

  @Test("a flow does not restore an account that was forgotten meanwhile")
  func forgotten() async throws {
    let record = try await harness.repository.persist(
      .consented(["firstname": "Ada"]), client: "till")
    let session = try await harness.open(client: "till")
    try await harness.store.commit([.deleteAccount(record.id)])
    harness.repository.remove(record)
    await harness.type("rely \(record.id)", session)
    #expect(session.flow.failure?.reason == .denied)
    #expect(try harness.repository.accounts(of: .anna).isEmpty)
  }

  @Test("two concurrent flows of one person store one account with both clients' consents")
  func together() async throws {
    let one = try await harness.open(id: "flw_1", client: "till")
    let two = try await harness.open(id: "flw_2", client: "desk")
    async let first = harness.type("store", one)
    async let second = harness.type("store", two)
    #expect(await [first, second] == [nil, nil])
    let record = try #require(try harness.repository.accounts(of: .anna).first)
    #expect(try harness.repository.accounts(of: .anna).count == 1)
    #expect(Set(record.consents.entries.keys.map(\.client)) == ["till", "desk"])
    for session in [one, two] {
      try await reached("it is told") { session.flow.state == "stored \(record.id)" }
    }
  }

  @Test("a flow learns the unexpired consents of its own client only")
  func asking() async throws {
    let end = harness.clock.now() + .seconds(60)
    var record = try await harness.repository.persist(
      .consented(nil, granted: ["email", "phone"]), client: "till")
    record = try await harness.repository.persist(
      .consented(nil, granted: ["lastname"], until: end), client: "till")
    record = try await harness.repository.persist(
      .consented(nil, granted: ["firstname"]), client: "desk")
    let word = "ask \(record.id)"
    for (client, now, answer) in [
      ("till", end - .milliseconds(1), "may read.email read.lastname read.phone"),
      ("till", end, "may read.email read.phone"), ("desk", end, "may read.firstname"),
      ("(user)", end, "may "), (nil, end, "may "),
    ] {
      harness.clock.time = now
      let session = try await harness.open(
        id: "flw_\(client ?? "")\(now.milliseconds)", client: client)
      #expect(await harness.type(word, session) == nil)
      try await reached("\(answer), not \(session.flow.state)") { session.flow.state == answer }
    }
  }

  @Test("a flow learns no consents of another owner's account or an unknown one")
  func others() async throws {
    let record = try await harness.repository.persist(
      .consented(nil, granted: ["email"]), of: .bert, client: "till")
    for id in [record.id, AccountID("acc_none")] {
      let session = try await harness.open(id: "flw_\(id)", client: "till")
      await harness.type("ask \(id)", session)
      try await reached("the flow has its answer") { session.flow.state == "may " }
    }
  }
}
