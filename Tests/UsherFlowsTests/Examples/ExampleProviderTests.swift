import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

private let badge = Secret("badge-secret")
private let session = ExampleCall.session(badge: badge)

/// A flow of the example provider under test, with its answer to the last event.
private struct DrivenExample: DrivenMachine {
  private(set) var flow: ExampleSignIn
  private(set) var last: Answer<ExampleCall>

  init(_ badge: Secret = badge) throws {
    let provider = try #require(Provider<ExampleSettings>(example()))
    let origin = FlowContext(provider: provider, requestID: "req-1")
    var moment = moment()
    (flow, last) = try ExampleSignIn.begin(.init(badge: WireSecret(badge)), origin, at: &moment)
  }

  mutating func receive(_ event: FlowEvent<ExampleCall>) {
    var moment = moment()
    last = flow.receive(event, at: &moment)
  }
}

private func example() -> ProviderConfig {
  var settings = ExampleSettings.blank
  settings.apiKeyCredential = "example-key"
  return ProviderConfig(name: name, settings: settings)
}

@Suite("The example provider of the page AddingAProvider")
struct ExampleProviderTests {
  @Test("the example flow signIn finishes with an account and its token when its one call succeeds")
  func signIn() throws {
    var driven = try DrivenExample()
    #expect(driven.state == "calling" && driven.calls == [session])
    let answer: JSONValue = ["user": "u-1", "name": "Ada", "token": "access-secret"]
    driven.receive(.called(session, .reply(reply(answer))))
    let grant = try #require(driven.grant)
    #expect(grant.subject == "u-1" && grant.label == "Ada")
    #expect(grant.tokens?.accessToken.unsealed() == Secret("access-secret"))
    #expect(grant.tokens?.expiresAt == now + .seconds(3600))
  }

  @Test("the example flow signIn repeats its call to an unreachable provider at most five times")
  func unreachable() throws {
    var driven = try DrivenExample()
    for attempt in 0..<RetryBackoff.limit {
      driven.receive(.called(session, .unreachable(message: "gone", sent: true)))
      #expect(driven.state == "paused" && driven.problem == .unreachable("gone"))
      #expect(driven.effects == [.wake(after: .seconds(1 << attempt))])
      driven.receive(.woken)
      #expect(driven.state == "calling" && driven.calls == [session])
    }
    driven.receive(.called(session, .unreachable(message: "gone", sent: true)))
    #expect(driven.failure == .unreachable("gone"))
  }

  @Test(
    "the example flow signIn fails if the badge is refused or the reply has no user or no token")
  func refused() throws {
    let rows: [(HTTPReply, Failure.Reason)] = [
      (reply([:], status: 403), .providerRejected), (reply(text: "{"), .providerProtocolError),
      (reply(["user": "", "token": "t"]), .providerProtocolError),
      (reply(["user": "u-1"]), .providerProtocolError),
    ]
    for (answer, reason) in rows {
      var driven = try DrivenExample()
      driven.receive(.called(session, .reply(answer)))
      #expect(driven.failure?.reason == reason)
    }
  }

  @Test("the example flow signIn refuses an empty badge and does not start")
  func empty() {
    let error = #expect(throws: UsherError.self) { try DrivenExample(Secret("")) }
    #expect(error?.reason == .invalidParams && error?.detail.field == "params.badge")
  }

  @Test("the call of signIn carries the API key, and hides key and badge in the reply")
  func rendered() throws {
    let key = Secret("api-key-secret")
    let request = try session.rendered(at: example(), credentials: ["example-key": key])
    #expect(request.method == .post && request.url.hasSuffix("/sessions"))
    #expect(request.headers.contains(.init("X-API-Key", key)))
    #expect(request.body == Secret(#"{"badge":"badge-secret"}"#))
    let echo = reply(["error": "api-key-secret, badge-secret"], status: 400)
    #expect(echo.withoutEchoes(of: request).jsonObject == ["error": "…, …"])
    #expect(throws: UsherError.self) { try session.rendered(at: example()) }
  }

  @Test("the example flow signIn keeps the flow contract in both states")
  func contract() throws {
    let other = ExampleCall.session(badge: Secret("other"))
    let unrelatedEvents: [FlowEvent<ExampleCall>] = [
      .input(.denied), .listening(redirectURI: "http://127.0.0.1:1/"),
      .called(other, .reply(reply(["user": "u-2", "token": "t"]))),
    ]
    var driven = try DrivenExample()
    var flows = [DrivenFlow("calling", driven.flow, unrelatedEvents: unrelatedEvents + [.woken])]
    driven.receive(.called(session, .unreachable(message: "gone", sent: true)))
    let late = FlowEvent.called(session, .reply(reply(["user": "u-1", "token": "t"])))
    flows.append(DrivenFlow("paused", driven.flow, unrelatedEvents: unrelatedEvents + [late]))
    let broken = checkProviderContract(
      flows, secrets: [badge.revealed()], at: moment(), known: KnownProviders(prefix: "example "))
    #expect(broken == [])
  }

  @Test("the example provider names its API key, and its tokens are neither renewed nor revoked")
  func definition() throws {
    let definition = ExampleProvider(provider: try #require(Provider(example())))
    #expect(ExampleProvider.flows.map { $0.kind } == ["signIn"])
    #expect(definition.credentialNames == ["example-key"])
    let handling = definition.tokens(attributes: [:], installation: nil)
    guard case .known(let dialect) = handling else {
      return #expect(Bool(false), "the token dialect needs discovery")
    }
    #expect(dialect.renewal(badge, scope: nil) == nil)
    #expect(dialect.revocation(badge, .accessToken, bearer: nil) == nil)
  }

  @Test("the params and the result of the example flow signIn are described, and its example fits")
  func described() throws {
    let params = StrictDecoding.documentedSchema(of: ExampleSignIn.Params.self)
    #expect(params.undescribed("params") == [])
    #expect(params.complaints(about: ExampleSignIn.example.params, at: "params") == [])
    let result = Schema.object(ExampleSignIn.resultMembers)
    #expect(result.complaints(about: ExampleSignIn.example.result, at: "result") == [])
  }

  @Test("the code on the page AddingAProvider equals the examples, and its keys are the settings'")
  func documented() throws {
    let page = try DocumentedCode(
      page: "AddingAProvider", examples: "Tests/UsherFlowsTests/Examples")
    #expect(page.texts("swift").count >= 4 && page.texts("diff").count >= 3)
    #expect(page.mismatches() == [])
    let sample = try #require(page.texts("toml").first)
    let keys = sample.split(separator: "\n").compactMap { line in
      line.hasPrefix("#") && !line.hasPrefix("# ") && line.contains(" = ")
        ? line.dropFirst().split(separator: " ").first.map(String.init) : nil
    }
    #expect(keys == ["name", "type"] + HTTPSettings.keys + ExampleSettings.keys)
  }
}
