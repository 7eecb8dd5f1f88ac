import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Client of a flow", .timeLimit(.minutes(10)))
struct FlowClientTests {
  private let harness: ConsentHarness

  init() throws { harness = try ConsentHarness() }

  private func account() async throws -> AccountRecord {
    try await harness.persist(.sample(), for: "(user)")
  }

  @Test("a flow's step is shown to the client that started it, and to none of the owner's others")
  func shown() async throws {
    let flow = try await harness.start("till", of: account())
    #expect(flow.step != nil)
    for other in ["desk", nil] {
      let caller = try Caller.program(other)
      let got = try harness.flows.get(FlowGet(flow: flow.id), caller).flow
      let waited = try await harness.flows.wait(
        FlowWait(flow: flow.id, revision: 0, timeoutMs: 0), caller
      ).flow
      #expect(got.step == nil && got.status == .active && got.state == flow.state)
      #expect(waited == got)
    }
    let own = try harness.flows.get(FlowGet(flow: flow.id), .program("till")).flow
    #expect(own == flow)
  }

  @Test("a hanging user database delays the start of a flow by two seconds at most")
  func hangingUserDatabase() async throws {
    let (clock, users) = (FakeClock(), FakeUsers())
    let scheduler = FakeScheduler(clock)
    let letGo = users.hang()
    let dependencies = Dependencies.fake(clock, scheduler, users: users.database(nameHolds: .zero))
    let caller = try Caller.program()
    let client = Task { await caller.flowClient(dependencies) }
    try await scheduler.isSet(.seconds(2))
    scheduler.advance(by: .seconds(2))
    #expect(await client.value.title == "uid 1000")
    // While one lookup hangs, no other lookup is started, so that no further thread blocks.
    let names = Task { await dependencies.lookups.names(of: [1000, 1001]) }
    try await scheduler.isSet(.seconds(2))
    scheduler.advance(by: .seconds(2))
    #expect(await names.value == [:])
    #expect(users.lookUps == 1)
    letGo()
  }

  @Test("flow.submit by another client is refused and changes nothing; flow.cancel is allowed")
  func answered() async throws {
    let flow = try await harness.start("till", of: account())
    let submit = FlowSubmit(
      flow: flow.id, revision: flow.revision, input: ["type": "choose", "id": "PIN"])
    let error = await #expect(throws: UsherError.self) {
      try await harness.flows.submit(submit, .program())
    }
    #expect(error?.reason == .permissionDenied)
    #expect(error?.detail.flow == flow.id)
    #expect(try harness.flows.get(FlowGet(flow: flow.id), .program("till")).flow == flow)
    let ended = try await harness.flows.cancel(FlowCancel(flow: flow.id), .program()).flow
    #expect(ended.status == .cancelled)
    // The other client learns that the flow was cancelled, but not the message: it may quote the
    // provider.
    #expect(ended.failure?.reason == .cancelled)
    #expect(ended.failure?.message == "only the client that started the flow is told the reason")
    let own = try harness.flows.get(FlowGet(flow: flow.id), .program("till")).flow
    #expect(own.failure?.message == "the flow was cancelled")
  }

  @Test("on the admin socket, root is another client than the one that started root's flow")
  func admin() async throws {
    let root = Owner(realm: "host", uid: 0)
    let record = try await harness.persist(.sample(), for: "till", owner: root)
    let flow = try await harness.start("till", of: record)
    let admin = try Caller.program(of: root, isAdmin: true)
    #expect(try harness.flows.get(FlowGet(flow: flow.id), admin).flow.step == nil)
  }

  @Test("a flow keeps its client over a restart; a stored flow without one is open to all clients")
  func restarted() async throws {
    let flow = try await harness.start("till", of: account())
    let row = try #require(try harness.harness.store.loadFlows().first { $0.id == flow.id })
    let coder = FlowCoder(nonce: "known_")
    #expect(try RestoredFlow(row, by: coder).stored.client == "till")
    var members = try #require(try JSONValue(parsing: row.payload.bytes).objectValue)
    members["client"] = nil
    var older = row
    older.payload = SealedPayload(JSONValue.object(members).encoded())
    #expect(try RestoredFlow(older, by: coder).stored.client == nil)
    let open = try await harness.harness.open(client: nil)
    #expect(open.isOpen(to: "till") && open.isOpen(to: "(user)"))
    let own = try await harness.harness.open(id: "flw_2", client: "(user)")
    #expect(!own.isOpen(to: "till") && own.isOpen(to: "(user)"))
  }

  @Test("a flow client's title is the rule's name, the user's name, or the uid of a nameless user")
  func titles() async throws {
    #expect(
      try await Caller.program("till").flowClient(.fake())
        == .init(name: "till", title: "till", uid: 1000)
    )
    let root = try Caller.program(of: Owner(realm: "host", uid: 0))
    #expect(await root.flowClient(.fake()) == .init(name: "(user)", title: "root", uid: 0))
    let nameless = try Caller.program(of: Owner(realm: "host", uid: 3_999_999_999))
    #expect(
      await nameless.flowClient(.fake())
        == .init(name: "(user)", title: "uid 3999999999", uid: 3_999_999_999))
  }
}

@Suite("client.clear", .timeLimit(.minutes(10)))
struct ClientServiceTests {
  private let harness: ConsentHarness

  init() throws { harness = try ConsentHarness() }

  private func clear(_ client: String?, of owner: Owner = .anna) async throws -> ClientClear.Reply {
    try await harness.clients.clear(
      ClientClear(provider: ConsentHarness.provider), .program(client, of: owner))
  }

  @Test("client.clear cancels the client's live flows, and not those of other clients")
  func flows() async throws {
    let record = try await harness.persist(.sample(), for: "(user)")
    let mine = try await harness.start("till", of: record)
    let others = try await harness.start("desk", of: record)
    let ended = try await harness.start("till", of: record)
    _ = try await harness.flows.cancel(FlowCancel(flow: ended.id), .program("till"))
    #expect(try await clear("till") == .init(cancelled: 1, forgotten: 0, kept: 0))
    #expect(try harness.engine.flow(mine.id, of: .anna).flow.status == .cancelled)
    #expect(try harness.engine.flow(others.id, of: .anna).flow.status == .active)
  }

  @Test("client.clear forgets the accounts that the client created, with their consents")
  func forgotten() async throws {
    try await harness.persist(.consented(["email": "a@x.example"]), for: "till")
    try await harness.persist(.consented(["email": "b@x.example"], subject: "usr_2"), for: "till")
    try await harness.persist(.consented(["email": "c@x.example"], subject: "usr_3"), for: "desk")
    try await harness.persist(.consented(["email": "d@x.example"]), for: "till", owner: .bert)
    #expect(try await clear("till") == .init(cancelled: 0, forgotten: 2, kept: 0))
    #expect(try harness.repository.accounts(of: .anna).map(\.subject) == ["usr_3"])
    #expect(try harness.repository.accounts(of: .bert).count == 1)
    #expect(try harness.harness.store.loadAccounts().count == 2)
    #expect(try harness.harness.store.loadConsents().count == 2)
    await harness.close()
  }

  @Test(
    "client.clear keeps an account with another client's consent and withdraws its own consents")
  func shared() async throws {
    try await harness.persist(
      .consented(["email": "a@x.example", "firstname": "Ada"]), for: "till")
    let record = try await harness.persist(.consented(["email": "a@x.example"]), for: "desk")
    #expect(try await clear("till") == .init(cancelled: 0, forgotten: 0, kept: 1))
    #expect(try harness.profile(record, to: "till") == nil)
    #expect(try harness.profile(record, to: "desk") == ["email": "a@x.example"])
    #expect(try harness.stored(record.id)?.details.profile == ["email": "a@x.example"])
    #expect(try await clear("desk") == .init(cancelled: 0, forgotten: 0, kept: 1))
    #expect(harness.repository.record(record.id)?.consents.entries.isEmpty == true)
  }

  @Test("client.clear forgets an account on which another client's consent has expired")
  func expired() async throws {
    let end = harness.clock.now() + .seconds(60)
    try await harness.persist(.consented(["email": "a@x.example"]), for: "till")
    try await harness.persist(.consented(["email": "a@x.example"], until: end), for: "desk")
    harness.clock.time = end
    #expect(try await clear("till") == .init(cancelled: 0, forgotten: 1, kept: 0))
    await harness.close()
  }

  @Test("client.clear keeps an account of another client and withdraws its own consents to it")
  func brought() async throws {
    try await harness.persist(.consented(nil), for: "desk")
    let record = try await harness.persist(.consented(["email": "a@x.example"]), for: "till")
    #expect(try await clear("till") == .init(cancelled: 0, forgotten: 0, kept: 1))
    #expect(harness.repository.record(record.id)?.details.profile == nil)
    #expect(try await clear("till") == .init(cancelled: 0, forgotten: 0, kept: 0))
  }

  @Test("client.clear at an unknown provider fails with not_found")
  func unknown() async throws {
    let error = await #expect(throws: UsherError.self) {
      try await harness.clients.clear(
        ClientClear(provider: ProviderName("nobody")), .program("till"))
    }
    #expect(error?.reason == .notFound)
    #expect(try await clear("till") == .init(cancelled: 0, forgotten: 0, kept: 0))
  }
}
