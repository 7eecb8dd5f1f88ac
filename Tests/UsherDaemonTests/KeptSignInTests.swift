import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

@Suite("Handoff of Freedom ID tokens whose user is unknown", .timeLimit(.minutes(10)))
struct KeptSignInTests {
  private static let grants = ["read.firstname", "read.email"]

  private let harness: ConsentHarness
  private let provider: ProviderConfig

  init() async throws {
    var settings = FreedomIDSettings(mode: .oauth2)
    settings.clientID = "acme"
    settings.clientCredential = "freedom-secret"
    // Nothing listens at port 9 of the loopback interface.
    settings.baseURL = try ProviderURL(setting: "http://127.0.0.1:9")
    provider = ProviderConfig(name: ProviderName("freedom"), settings: settings)
    harness = try ConsentHarness(provider)
    _ = try await harness.credentials.set(
      CredentialSet(name: "freedom-secret", value: WireSecret(Secret("shared-value"))))
  }

  enum Ending: CaseIterable {
    case cancelled, expired, failed
  }

  /// A sign-in of the client `till` that has its tokens and asks for the user.
  private func asking() async throws -> LiveFlow {
    var moment = harness.harness.dependencies.transitionContext()
    let origin = FlowContext<FreedomIDSettings>(
      provider: try #require(Provider(provider)), requestID: "req-1")
    var (machine, answer) = try FreedomPartnerAuthorize.begin(
      .init(grants: Self.grants), origin, at: &moment)
    guard case .proceed(let effects) = answer, case .listen(let expectation)? = effects.first
    else { throw TestError("the flow asks for no listener") }
    answer = machine.receive(
      .browser(.listening(redirectURI: "http://127.0.0.1:40001\(expectation.path)")), at: &moment)
    try reply(["redirect_uri": "https://passport.freedompay.kz/login"], to: answer, &machine)
    answer = machine.receive(
      .browser(.redirected(AuthorizationResponse(code: Secret("code")))), at: &moment)
    try reply(["access_token": "earned", "refresh_token": "renewing"], to: answer, &machine)
    #expect(machine.view.state == "completion")
    let session = try await harness.harness.open(machine, at: provider.name, client: "till")
    harness.engine.index.insert(session)
    return session
  }

  private func reply(
    _ members: JSONValue, to answer: Answer<FreedomPartnerCall>,
    _ machine: inout FreedomPartnerAuthorize
  ) throws {
    guard case .proceed(let effects) = answer, case .call(let call)? = effects.last else {
      throw TestError("the flow makes no call to the provider")
    }
    var moment = harness.harness.dependencies.transitionContext()
    let reply = HTTPReply(status: 200, body: members.encoded())
    _ = machine.receive(.provider(.called(call, .reply(reply))), at: &moment)
  }

  private func end(_ session: LiveFlow, by ending: Ending) async throws {
    switch ending {
    case .cancelled: #expect(await harness.harness.cancel(session) == nil)
    case .expired: harness.harness.scheduler.advance(by: FlowHarness.deadline)
    case .failed:
      let user = FreedomPartnerCall.user(token: Secret("earned"))
      let gone = CallOutcome.unreachable(message: "gone", sent: true)
      for _ in 0..<6 {
        harness.harness.engine.deliver(.event(.called(user, gone)), to: session)
        harness.harness.engine.deliver(.event(.woken), to: session)
      }
    }
    try await reached("the sign-in has ended") { session.isFinished }
  }

  private func start(_ client: String, grants: [String] = Self.grants) async throws -> LiveFlow {
    let params: JSONValue = ["grants": .array(grants.map { .string($0) })]
    let flow = try await harness.flows.start(
      FlowStart(provider: provider.name, kind: "authorize", params: params, waitMs: 0),
      .program(client, of: .anna)
    ).flow
    return try harness.engine.flow(flow.id, of: .anna)
  }

  private func handoffSecrets() throws -> [String] {
    try harness.harness.store.loadFlows().filter {
      try StoredFlow.reading($0.payload).flow.ending.handoffSecret != nil
    }.map(\.id.rawValue)
  }

  @Test(
    "tokens of an unfinished Freedom ID sign-in are handed to the client's next sign-in, once",
    arguments: Ending.allCases)
  func handedOn(ending: Ending) async throws {
    let first = try await asking()
    try await end(first, by: ending)
    #expect(first.flow.failure?.message.contains("the tokens are kept for a day") == true)
    #expect(try handoffSecrets() == ["flw_1"])

    let second = try await start("till")
    #expect(second.flow.state == "completion")
    #expect(try handoffSecrets() == [])
    #expect(first.snapshot.ending.handoffSecret == nil)
    #expect(try await start("till").flow.state == "preparing")

    #expect(await harness.harness.cancel(second) == nil)
    #expect(try handoffSecrets() == [second.id.rawValue])
    #expect(try await start("till").flow.state == "completion")
    await harness.close()
  }

  @Test("handed-off tokens are given neither to another client nor for other grants")
  func others() async throws {
    try await end(try await asking(), by: .cancelled)
    #expect(try await start("shop").flow.state == "preparing")
    #expect(try await start("till", grants: ["read.firstname"]).flow.state == "preparing")
    #expect(try await start("till").flow.state == "completion")
    await harness.close()
  }

  @Test("client.clear deletes handed-off tokens, also those of the sign-in that it cancels")
  func cleared() async throws {
    let session = try await asking()
    let clear = ClientClear(provider: provider.name)
    let reply = try await harness.clients.clear(clear, .program("till", of: .anna))
    #expect(reply.cancelled == 1 && session.isFinished)
    #expect(try handoffSecrets() == [])
    #expect(try await start("till").flow.state == "preparing")
    await harness.close()
  }

  @Test("handed-off tokens survive a restart of the daemon")
  func restart() async throws {
    try await end(try await asking(), by: .cancelled)
    let engine = harness.engine
    for session in engine.index.all { engine.index.remove(session) }
    #expect(try await engine.restore().isEmpty)
    #expect(try await start("till").flow.state == "completion")
    await harness.close()
  }
}
