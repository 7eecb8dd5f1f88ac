import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Anna and Bert verify themselves at the same provider, each on a connection of their own and
/// with the same request id. Only the provider and the peers are fakes.
@Suite("GoPay verify of two users", .timeLimit(.minutes(10)))
struct GoPayOwnersTests {
  private let harness: ConnectionHarness
  private let callbackURL: String

  init() async throws {
    let address = "127.0.0.1:\(try LoopbackPort.unused())"
    callbackURL = "http://\(address)/v1/callback/partner"
    harness = try await ConnectionHarness(transport: GoPayStub()) { config in
      var settings = GoPaySettings(clientID: "acme", merchantID: "merchant")
      settings.callbackListen = try LoopbackAddress(setting: address)
      config.providers.append(ProviderConfig(name: ProviderName("gopay"), settings: settings))
    }
  }

  @Test("a GoPay exchangeCredential step is shown to its user only, and nobody else can answer it")
  func steps() async throws {
    let (anna, bert) = (try await user("anna", .anna), try await user("bert", .bert))
    let (hers, his) = (try await anna.start(), try await bert.start())
    #expect(hers["step"]?["credential"]?["code"] == "code-of-anna", "\(hers)")
    #expect(his["step"]?["credential"]?["code"] == "code-of-bert", "\(his)")
    let revision = hers["revision"] ?? .null
    let calls: [(String, [String: JSONValue])] = [
      ("flow.get", [:]), ("flow.wait", ["revision": 0, "timeoutMs": 0]), ("flow.cancel", [:]),
      ("flow.submit", ["revision": revision, "input": anna.exchanged]),
      ("flow.submit", ["revision": revision, "input": bert.exchanged]),
    ]
    for (method, params) in calls {
      let reply = try await bert.call(method, params, hers)
      #expect(reply["error"]?["data"]?["reason"] == "not_found", "\(method): \(reply)")
      #expect(!reply.text.contains("code-of-anna"), "\(method)")
    }
    let listed = try await bert.call("flow.list")["result"]?["flows"]?.arrayValue ?? []
    #expect(listed.map { $0["id"] } == [his["id"]])
    #expect(try await anna.flow(hers) == hers)
    #expect(try await anna.handOver(hers)["step"]?["url"] == "https://capture.example/anna")
    #expect(try await bert.flow(his) == his)
    await harness.end()
  }

  @Test("a GoPay callback with one user's linking token reaches no flow or event of another user")
  func callbacks() async throws {
    let (anna, bert) = (try await user("anna", .anna), try await user("bert", .bert))
    let hers = try await anna.handOver(anna.start())
    let his = try await bert.handOver(bert.start())
    #expect(try await status(ofCallback: "bert", about: "sub-anna") == 409)
    #expect(try await anna.flow(hers) == hers)
    #expect(try await bert.flow(his) == his)
    #expect(try await status(ofCallback: "bert", about: "sub-bert") == 200)
    try await reached("Bert's flow succeeds") { try await bert.flow(his)["status"] == "succeeded" }
    #expect(try await anna.flow(hers) == hers)
    #expect(try await anna.call("account.list")["result"]?["accounts"] == [])
    #expect(try await status(ofCallback: "anna", about: "sub-anna") == 200)
    try await reached("Anna's flow succeeds") { try await anna.flow(hers)["status"] == "succeeded" }
    for (user, flow) in [(anna, hers), (bert, his)] {
      let account = try await user.flow(flow)["result"]?["account"]
      let event = try CallLine.parse(try await user.events.line())["params"]?["event"]
      #expect(event?["topic"] == "kyc" && event?["account"] == account, "\(user.name)")
      #expect(user.events.linesSoFar == 0, "\(user.name) gets an event of another user")
    }
    await harness.end()
  }

  /// Has GoPay report a verdict with a user's linking token; returns the HTTP status of the answer.
  private func status(ofCallback user: String, about submission: String) async throws -> Int {
    let body: JSONValue = [
      "submissionId": .string(submission), "partnerSessionId": "same", "status": "COMPLETED",
      "result": "VALID",
    ]
    return try await RedirectListenerFixture.offPool { [callbackURL] in
      try Web.send(
        "PUT", callbackURL, body: body.encoded(), type: "application/json",
        headers: ["authorization": "link-of-\(user)"]
      ).status
    }
  }

  private func user(_ name: String, _ owner: Owner) async throws -> User {
    let peer = ConnectionHarness.peer(of: owner)
    let user = User(
      name: name, calls: try await harness.connect(as: owner.uid, peer: peer),
      events: try await harness.connect(as: owner.uid, peer: peer))
    let subscription = CallLine.line("events.subscribe", #"{"topics":["kyc"]}"#)
    let reply = try CallLine.parse(try await user.events.answer(subscription))
    #expect(reply["result"] != nil, "\(reply)")
    return user
  }

  /// A user with a connection for calls and one that has subscribed to verdicts.
  private struct User {
    let name: String
    let calls: HarnessConnection
    let events: HarnessConnection

    /// The report that the user's backend has exchanged the auth code.
    var exchanged: JSONValue {
      [
        "type": "exchangeCredential",
        "success": [
          "userCorrelationId": .string("corr-\(name)"), "token": .string("link-of-\(name)"),
        ],
      ]
    }

    /// Returns the reply to a call, by default about no flow.
    func call(
      _ method: String, _ params: [String: JSONValue] = [:], _ flow: JSONValue? = nil
    ) async throws -> JSONValue {
      var params = params
      params["flow"] = flow?["id"]
      let line = CallLine.line(method, JSONValue.object(params).text)
      return try CallLine.parse(try await calls.answer(line))
    }

    func flow(_ flow: JSONValue) async throws -> JSONValue {
      try await call("flow.get", [:], flow)["result"]?["flow"] ?? .null
    }

    /// Starts a verification; returns it at the step that shows the auth code.
    func start() async throws -> JSONValue {
      let params: JSONValue = [
        "userCorrelationId": .string("corr-\(name)"), "credentialReceiver": "exchange",
        "token": .string("short-of-\(name)"),
      ]
      let reply = try await call(
        "flow.start",
        [
          "provider": "gopay", "kind": "verify", "requestId": "same", "params": params,
          "waitMs": 60_000,
        ])
      return try #require(reply["result"]?["flow"], "\(reply)")
    }

    /// Reports the exchange of the code; returns the flow at the capture page.
    func handOver(_ flow: JSONValue) async throws -> JSONValue {
      let reply = try await call(
        "flow.submit",
        ["revision": flow["revision"] ?? .null, "input": exchanged, "waitMs": 60_000], flow)
      return try #require(reply["result"]?["flow"], "\(reply)")
    }
  }
}

/// A GoPay whose answers name the user whose token the request carries.
private struct GoPayStub: ProviderTransport {
  func send(_ request: HTTPRequest, by settings: HTTPSettings) async -> CallOutcome {
    let isAnna = request.headers.contains { $0.value.revealed().hasSuffix("-of-anna") }
    let user = isAnna ? "anna" : "bert"
    let data: JSONValue =
      if request.url.contains("/auth-code") {
        ["authCode": .string("code-of-\(user)")]
      } else if request.url.contains("/submissions/urls") {
        [
          "submissionId": .string("sub-\(user)"),
          "url": .string("https://capture.example/\(user)"),
        ]
      } else {
        ["token": .string("capture-of-\(user)")]
      }
    let body: JSONValue = ["success": true, "data": data]
    return .reply(HTTPReply(status: 200, body: body.encoded()))
  }

  func retain(_ settings: [HTTPSettings]) {}
  let closing = WorkCounter()
  func shutdown() async {}
}
