import Synchronization
import Testing
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

/// A client-token call whose result is taken from the status and body of the reply.
private struct Grant: ClientTokenCall {
  var name: String { "grant" }

  func render(_ context: RenderContext<OIDCSettings>) throws(UsherError) -> HTTPRequest {
    HTTPRequest(method: .post, url: "https://id.example/token")
  }

  func read(_ reply: HTTPReply) -> ClientTokenReply {
    switch reply.status {
    case 200:
      .granted(Secret(String(decoding: reply.body, as: UTF8.self)), lifetime: .seconds(900))
    case 204: .unreadable("garbage")
    default: .refused
    }
  }
}

/// A provider that numbers its tokens and can hold its answers back.
private final class Grantor: Sendable {
  private struct State {
    var asked = 0
    var outcome: CallOutcome?
    var isHolding = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  var asked: Int { state.withLock { $0.asked } }

  /// - Parameter outcome: The answer to every call, or `nil` for the next token.
  func answer(_ outcome: CallOutcome?) { state.withLock { $0.outcome = outcome } }

  func hold() { state.withLock { $0.isHolding = true } }

  func letGo() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      state.isHolding = false
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  func ask() async -> CallOutcome {
    let (number, outcome) = state.withLock { state in
      state.asked += 1
      return (state.asked, state.outcome)
    }
    await withCheckedContinuation { continuation in
      let isHeld = state.withLock { state in
        if state.isHolding { state.waiting.append(continuation) }
        return state.isHolding
      }
      if !isHeld { continuation.resume() }
    }
    return outcome ?? .reply(HTTPReply(status: 200, body: Array("token-\(number)".utf8)))
  }
}

@Suite("Client tokens", .timeLimit(.minutes(10)))
struct ClientTokensTests {
  private let clock = FakeClock()
  private let grantor = Grantor()
  private let tokens: ClientTokens

  init() { tokens = ClientTokens(dependencies: .fake(clock)) }

  private func token(
    _ provider: ProviderName = .work, of client: String = "usher",
    otherThan refused: String? = nil
  ) async -> Result<Secret, ClientTokens.Unavailable> {
    let issuer = try! ProviderURL(setting: "https://id.example")
    let provider = ProviderConfig(
      name: provider, settings: OIDCSettings(issuer: issuer, clientID: client))
    return await tokens.token(
      for: provider, by: Grant(), otherThan: refused.map { Secret($0) }
    ) { [grantor] _ in await grantor.ask() }
  }

  private func text(_ result: Result<Secret, ClientTokens.Unavailable>) -> String? {
    try? result.get().revealed()
  }

  private func outcome(_ result: Result<Secret, ClientTokens.Unavailable>) -> CallOutcome? {
    if case .failure(let unavailable) = result { unavailable.outcome } else { nil }
  }

  @Test("20 concurrent requests for a client token cause one call to the provider")
  func once() async throws {
    grantor.hold()
    let many = try await withThrowingTaskGroup(of: String?.self) { group in
      defer { grantor.letGo() }
      for _ in 0..<20 { group.addTask { text(await token()) } }
      // Requests before the answer wait for it; later requests find the cached token.
      try await reached("the provider is asked") { grantor.asked > 0 }
      grantor.letGo()
      return try await group.reduce(into: [String?]()) { $0.append($1) }
    }
    #expect(many == Array(repeating: "token-1", count: 20))
    #expect(grantor.asked == 1)
  }

  @Test("a client token is cached until a minute before it expires")
  func kept() async {
    #expect(text(await token()) == "token-1")
    clock.advance(by: .seconds(839))
    #expect(text(await token()) == "token-1")
    clock.advance(by: .seconds(1))
    #expect(text(await token()) == "token-2")
    #expect(text(await token()) == "token-2")
    #expect(grantor.asked == 2)
  }

  @Test("a refused client token is replaced once for all callers that had it")
  func refused() async {
    _ = await token()
    #expect(text(await token(otherThan: "token-1")) == "token-2")
    #expect(text(await token(otherThan: "token-1")) == "token-2")
    #expect(text(await token()) == "token-2")
    #expect(grantor.asked == 2)
  }

  @Test("the client token of one provider is not used for another")
  func providers() async {
    #expect(text(await token()) == "token-1")
    #expect(text(await token(ProviderName("other"))) == "token-2")
    #expect(text(await token()) == "token-1")
  }

  @Test("a client token is not used for a changed client_id under the same provider name")
  func changed() async {
    #expect(text(await token()) == "token-1")
    #expect(text(await token(of: "other-client")) == "token-2")
    #expect(text(await token()) == "token-1")
    #expect(text(await token(of: "other-client")) == "token-2")
    tokens.removeTokens(of: [.work])
    #expect(text(await token(of: "other-client")) == "token-3")
  }

  @Test("a client token requested before its provider changed reaches its waiter and is not cached")
  func changedMeanwhile() async throws {
    grantor.hold()
    async let waiting = token()
    defer { grantor.letGo() }
    try await reached("the provider is asked") { grantor.asked > 0 }
    tokens.removeTokens(of: [.work])
    grantor.letGo()
    #expect(text(await waiting) == "token-1")
    #expect(text(await token()) == "token-2")
  }

  @Test("a failed client-token call is not cached: the next request calls the provider again")
  func failure() async {
    let gone = CallOutcome.unreachable(message: "gone", sent: true)
    grantor.answer(gone)
    #expect(outcome(await token()) == gone)
    let no = CallOutcome.reply(HTTPReply(status: 401))
    grantor.answer(no)
    #expect(outcome(await token()) == no)
    grantor.answer(.reply(HTTPReply(status: 204)))
    #expect(outcome(await token()) == .unreadable(message: "garbage"))
    grantor.answer(nil)
    #expect(text(await token()) == "token-4")
  }

  @Test("a refused client token is dropped even if its replacement cannot be fetched")
  func lost() async {
    _ = await token()
    grantor.answer(.reply(HTTPReply(status: 401)))
    #expect(outcome(await token(otherThan: "token-1")) != nil)
    grantor.answer(nil)
    #expect(text(await token()) == "token-3")
  }
}
