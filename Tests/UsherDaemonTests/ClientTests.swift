import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("The client of a flow")
struct FlowClientTests {
  private let harness: ConsentHarness

  init() throws { harness = try ConsentHarness() }

  private func account() async throws -> AccountRecord {
    try await harness.keep(.sample(), for: "(user)")
  }

  @Test("a step is shown to the client that started the flow, and to no other of the owner's")
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

  @Test("a user database that hangs delays the start of a flow by two seconds at most")
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
    // No further user is asked for, so that no further thread blocks.
    let names = Task { await dependencies.lookups.names(of: [1000, 1001]) }
    try await scheduler.isSet(.seconds(2))
    scheduler.advance(by: .seconds(2))
    #expect(await names.value == [:])
    #expect(users.lookUps == 1)
    letGo()
  }

  @Test("another client's answer is refused and changes nothing; it may cancel")
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
    // How it ended is told; what a provider may have said of the person is not.
    #expect(ended.failure?.reason == .cancelled)
    #expect(ended.failure?.message == "the client that started the flow is told why")
    let own = try harness.flows.get(FlowGet(flow: flow.id), .program("till")).flow
    #expect(own.failure?.message == "the flow was cancelled")
  }

  @Test("root's own programs are another client too, also on the admin socket")
  func admin() async throws {
    let root = Owner(realm: "host", uid: 0)
    let record = try await harness.keep(.sample(), for: "till", owner: root)
    let flow = try await harness.start("till", of: record)
    let admin = try Caller.program(of: root, isAdmin: true)
    #expect(try harness.flows.get(FlowGet(flow: flow.id), admin).flow.step == nil)
  }

  @Test("a flow knows its client after a restart; one of before that is any client's of the owner")
  func restarted() async throws {
    let flow = try await harness.start("till", of: account())
    let row = try #require(try harness.harness.store.loadFlows().first { $0.id == flow.id })
    let coder = FlowCoder(nonce: "known_")
    #expect(try RestoredFlow(row, by: coder).client == "till")
    var members = try #require(try JSONValue(parsing: row.payload.bytes).objectValue)
    members["client"] = nil
    var older = row
    older.payload = SealedPayload(JSONValue.object(members).encoded())
    #expect(try RestoredFlow(older, by: coder).client == nil)
    let open = try await harness.harness.open(client: nil)
    #expect(open.isOpen(to: "till") && open.isOpen(to: "(user)"))
    let own = try await harness.harness.open(id: "flw_2", client: "(user)")
    #expect(!own.isOpen(to: "till") && own.isOpen(to: "(user)"))
  }

  @Test("people are told the rule's name, or the user's, or the number of one without a name")
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

@Suite("A client that forgets what it has")
struct ClientServiceTests {
  private let harness: ConsentHarness

  init() throws { harness = try ConsentHarness() }

  private func clear(_ client: String?, of owner: Owner = .anna) async throws -> ClientClear.Reply {
    try await harness.clients.clear(
      ClientClear(provider: ConsentHarness.provider), .program(client, of: owner))
  }

  @Test("its live flows are cancelled, and nobody else's")
  func flows() async throws {
    let record = try await harness.keep(.sample(), for: "(user)")
    let mine = try await harness.start("till", of: record)
    let others = try await harness.start("desk", of: record)
    let ended = try await harness.start("till", of: record)
    _ = try await harness.flows.cancel(FlowCancel(flow: ended.id), .program("till"))
    #expect(try await clear("till") == .init(cancelled: 1, forgotten: 0, kept: 0))
    #expect(try harness.engine.flow(mine.id, of: .anna).flow.status == .cancelled)
    #expect(try harness.engine.flow(others.id, of: .anna).flow.status == .active)
  }

  @Test("accounts it brought are forgotten, consents and all")
  func forgotten() async throws {
    try await harness.keep(.consented(["email": "a@x.example"]), for: "till")
    try await harness.keep(.consented(["email": "b@x.example"], subject: "usr_2"), for: "till")
    try await harness.keep(.consented(["email": "c@x.example"], subject: "usr_3"), for: "desk")
    try await harness.keep(.consented(["email": "d@x.example"]), for: "till", owner: .bert)
    #expect(try await clear("till") == .init(cancelled: 0, forgotten: 2, kept: 0))
    #expect(try harness.repository.accounts(of: .anna).map(\.subject) == ["usr_3"])
    #expect(try harness.repository.accounts(of: .bert).count == 1)
    #expect(try harness.harness.store.loadAccounts().count == 2)
    #expect(try harness.harness.store.loadConsents().count == 2)
    await harness.close()
  }

  @Test(
    "one of which another client was granted something stays, without what the first was granted")
  func shared() async throws {
    try await harness.keep(.consented(["email": "a@x.example", "firstname": "Ada"]), for: "till")
    let record = try await harness.keep(.consented(["email": "a@x.example"]), for: "desk")
    #expect(try await clear("till") == .init(cancelled: 0, forgotten: 0, kept: 1))
    #expect(try harness.profile(record, to: "till") == nil)
    #expect(try harness.profile(record, to: "desk") == ["email": "a@x.example"])
    #expect(try harness.stored(record.id)?.details.profile == ["email": "a@x.example"])
    #expect(try await clear("desk") == .init(cancelled: 0, forgotten: 0, kept: 1))
    #expect(harness.repository.record(record.id)?.consents.entries.isEmpty == true)
  }

  @Test("another's consent that has expired keeps nothing")
  func expired() async throws {
    let end = harness.clock.now() + .seconds(60)
    try await harness.keep(.consented(["email": "a@x.example"]), for: "till")
    try await harness.keep(.consented(["email": "a@x.example"], until: end), for: "desk")
    harness.clock.time = end
    #expect(try await clear("till") == .init(cancelled: 0, forgotten: 1, kept: 0))
    await harness.close()
  }

  @Test("what it did not bring it does not forget; what it was granted of that goes")
  func brought() async throws {
    try await harness.keep(.consented(nil), for: "desk")
    let record = try await harness.keep(.consented(["email": "a@x.example"]), for: "till")
    #expect(try await clear("till") == .init(cancelled: 0, forgotten: 0, kept: 1))
    #expect(harness.repository.record(record.id)?.details.profile == nil)
    #expect(try await clear("till") == .init(cancelled: 0, forgotten: 0, kept: 0))
  }

  @Test("a provider that is not there is said so")
  func unknown() async throws {
    let error = await #expect(throws: UsherError.self) {
      try await harness.clients.clear(
        ClientClear(provider: ProviderName("nobody")), .program("till"))
    }
    #expect(error?.reason == .notFound)
    #expect(try await clear("till") == .init(cancelled: 0, forgotten: 0, kept: 0))
  }
}
