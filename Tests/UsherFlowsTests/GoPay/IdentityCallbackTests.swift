import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenIdentity

private func callback(
  _ status: String = "COMPLETED", result: JSONValue = "VALID", submission: JSONValue = "sub-1",
  request: String = "req-1", shows token: String = "linking-secret", vouched: Bool = false
) -> ProviderCallback {
  ProviderCallback(
    requestID: request, authorization: Secret(token), isVouchedFor: vouched,
    members: [
      "partnerSessionId": .string(request), "submissionId": submission, "status": .string(status),
      "result": result,
    ])
}

extension VerifyIdentity {
  /// Where no account's token is asked for.
  fileprivate func judge(_ callback: ProviderCallback) -> CallbackVerdict {
    judge(callback) { _ in nil }
  }
}

@Suite("Verify with GoPay: the provider calls while the flow is at the capture")
struct IdentityCallbackTests {
  private func atPage() throws -> Driven {
    var driven = try Driven(.none, token: "linking-secret")
    driven.toPage()
    return driven
  }

  @Test("and ends it with the verdict")
  func verdict() throws {
    let cases: [(String, JSONValue, JSONValue)] = [
      ("COMPLETED", "VALID", ["status": "COMPLETED", "result": "VALID"]),
      ("COMPLETED", "INVALID", ["status": "COMPLETED", "result": "INVALID"]),
      ("ERROR", nil, ["status": "ERROR", "reasonCode": "BLUR"]),
    ]
    for (status, result, metadata) in cases {
      var driven = try atPage()
      var callback = callback(status, result: result)
      if status == "ERROR" { callback.members["reasonCode"] = "BLUR" }
      #expect(driven.flow.judge(callback) == .mine)
      driven.receive(.calledBack(callback))
      #expect(driven.state == "submitted")
      #expect(
        driven.completion?.result == ["submissionId": "sub-1", "metadata": metadata])
      #expect(driven.kyc?["status"] == .string(status) && driven.kyc?["result"] == result)
      #expect(driven.grant?.tokens?.accessToken.unsealed() == Secret("linking-secret"))
    }
  }

  @Test("is judged by its requestId, then by what it shows, then by its submission")
  func judgement() throws {
    let flow = try atPage().flow
    for id in ["", "req-2", "REQ-1", "req-1 "] {
      #expect(flow.judge(callback(request: id)) == .notMine)
      #expect(flow.judge(callback(request: id, vouched: true)) == .notMine)
    }
    for shown in ["", "linking-secreT", "linking-secre", "Bearer linking-secret", "capture-secret"]
    {
      #expect(flow.judge(callback(shows: shown)) == .unauthorized)
      #expect(flow.judge(callback(shows: shown, vouched: true)) == .mine)
    }
    for id in ["sub-2", "", nil, 1] as [JSONValue] {
      #expect(flow.judge(callback(submission: id)) == .conflict)
      #expect(flow.judge(callback(submission: id, shows: "x", vouched: true)) == .conflict)
      #expect(flow.judge(callback(submission: id, shows: "x")) == .unauthorized)
    }
  }

  @Test("a flow that has no page yet, or is over, takes none")
  func elsewhere() throws {
    var driven = try Driven(.none, token: "linking-secret")
    let flows = [
      driven.flow, try Driven().flow, try Driven(requestID: nil).flow,
      try Driven(.none, account: Driven.knownAccount).flow,
    ]
    for flow in flows { #expect(flow.judge(callback(vouched: true)) == .notMine) }
    driven.toPage()
    driven.submit()
    #expect(driven.flow.judge(callback()) == .notMine)
  }

  @Test("one that is not its own changes nothing")
  func notMine() throws {
    for stray in [
      callback(submission: "sub-2"), callback("ODD"), callback(result: "ODD"),
    ] {
      var driven = try atPage()
      let before = driven.flow
      #expect(driven.receive(.calledBack(stray)) == .ignore)
      #expect(driven.flow == before)
    }
  }

  @Test(
    "without a linking token only what is vouched for is taken, of an account also with its own")
  func noToken() throws {
    var driven = try Driven()
    driven.toKYC()
    driven.toPage()
    #expect(driven.flow.judge(callback(shows: "")) == .unauthorized)
    #expect(driven.flow.judge(callback(shows: "", vouched: true)) == .mine)
    driven = try Driven(.none, account: Driven.knownAccount)
    driven.refused(404, 1519)
    driven.toPage()
    let account = Driven.knownAccount.id
    #expect(driven.flow.judge(callback(shows: "linking-secret")) == .unauthorized)
    for token in ["", "other-secret"] {
      #expect(
        driven.flow.judge(callback(shows: "linking-secret")) { _ in Secret(token) } == .unauthorized
      )
    }
    #expect(
      driven.flow.judge(callback(shows: "linking-secret")) {
        $0 == account ? Secret("linking-secret") : nil
      } == .mine)
    driven.receive(.calledBack(callback(vouched: true)))
    #expect(driven.completion != nil && driven.grant?.tokens == nil)
  }

  @Test("what was bound is the account's, and not undone")
  func bound() throws {
    var driven = try Driven(provider: gopay(.snap))
    driven.toExchange()
    driven.answered([
      "responseCode": "2000700", "accessTokenInfo": ["accessToken": "bound-secret"],
    ])
    driven.toPage()
    #expect(driven.flow.judge(callback(shows: "bound-secret")) == .mine)
    driven.receive(.calledBack(callback(shows: "bound-secret")))
    #expect(driven.grant?.tokens?.accessToken.unsealed() == Secret("bound-secret"))
    #expect(driven.flow.abandoned == [])
  }
}

@Suite("GoPay's callback in HTTP")
struct CallbackDialectTests {
  private func dialect(
    _ change: (inout GoPaySettings) -> Void = { _ in }
  ) throws -> any CallbackDialect {
    let provider = try gopay {
      $0.callbackListen = try LoopbackAddress(setting: "127.0.0.1:8790")
      change(&$0)
    }
    return try #require(ProviderRegistry.callback(of: provider))
  }

  private static let good: JSONValue = [
    "submissionId": "sub-1", "partnerSessionId": "req-1", "status": "COMPLETED",
    "result": "VALID", "reasonCode": nil,
  ]

  private func refusal(_ body: [UInt8]) throws -> String? {
    let dialect = try dialect()
    do throws(CallbackRefusal) {
      _ = try dialect.read(authorization: Secret("t"), body: body)
      return nil
    } catch {
      return error.message
    }
  }

  @Test("is found by the id of the request, whoever sends it")
  func key() throws {
    let dialect = try dialect()
    for authorization in [nil, Secret("t")] {
      let callback = try dialect.read(
        authorization: authorization, body: Self.good.encoded())
      #expect(dialect.callKey(of: callback) == "req-1")
    }
  }

  @Test("is off unless there is an address")
  func off() throws {
    #expect(ProviderRegistry.callback(of: try gopay()) == nil)
    #expect(ProviderRegistry.callback(of: try provider()) == nil)
  }

  @Test("where and how it comes")
  func place() throws {
    var dialect = try dialect()
    #expect(dialect.address == (try LoopbackAddress(setting: "127.0.0.1:8790")))
    #expect(dialect.path == "/v1/callback/partner" && dialect.method == .put)
    #expect(dialect.credentialName == nil)
    dialect = try self.dialect { $0.callbackCredential = "gopay-callback" }
    #expect(dialect.credentialName == "gopay-callback")
  }

  @Test("is read with its five members, and nothing else of it")
  func reading() throws {
    var body = Self.good
    body["documents"] = [["url": "https://x"]]
    let callback = try dialect().read(authorization: Secret("linking"), body: body.encoded())
    #expect(callback.requestID == "req-1" && callback.authorization == Secret("linking"))
    #expect(!callback.isVouchedFor)
    #expect(JSONValue.object(callback.members) == Self.good)
  }

  @Test("nothing shown is nobody's value")
  func nothingShown() throws {
    let callback = try dialect().read(authorization: nil, body: Self.good.encoded())
    #expect(callback.authorization == Secret(""))
    var driven = try Driven(.none, token: "linking-secret")
    driven.toPage()
    #expect(driven.flow.judge(callback) == .unauthorized)
  }

  @Test("a reason is a text or a number")
  func reason() throws {
    for (reason, refused) in [("BLUR", false), (12, false), (["a": 1], true), ([1], true)]
      as [(JSONValue, Bool)]
    {
      var body = Self.good
      body["reasonCode"] = reason
      #expect(try (refusal(body.encoded()) != nil) == refused)
    }
  }

  @Test("a member that is missing or wrong is named")
  func wrong() throws {
    let cases: [(String, [JSONValue?])] = [
      ("partnerSessionId", [nil, "", 1, nil as JSONValue, [:]]),
      ("submissionId", [nil, "", 1, "a b", .string(String(repeating: "s", count: 257))]),
      ("status", [nil, "DONE", "completed", "IN_PROGRESS", "INITIATED", 1]),
      ("result", [nil, "valid", "MAYBE", 1, .null]),
    ]
    for (name, values) in cases {
      for value in values {
        var body = Self.good
        body[name] = value
        let message = try refusal(body.encoded())
        #expect(message?.hasPrefix(name) == true, "\(name): \(String(describing: value))")
      }
    }
    var failed = Self.good
    failed["status"] = "ERROR"
    failed["result"] = .null
    #expect(try refusal(failed.encoded()) == nil)
    failed["result"] = nil
    #expect(try refusal(failed.encoded()) == nil)
    for body in ["", "{", "[]", "null", "\"x\"", "{\"a\":1}{}", "\u{FEFF}{}"] {
      #expect(try refusal(Array(body.utf8)) != nil)
    }
    #expect(try refusal([0xFF, 0xFE]) == "the body is not a JSON object")
  }

  @Test("is answered as the page says")
  func answers() throws {
    let dialect = try dialect()
    #expect(dialect.answer(.taken).status == 200)
    #expect(dialect.answer(.taken).jsonObject == ["success": true])
    let cases: [(CallbackOutcome, Int, Int64)] = [
      (.unreadable(CallbackRefusal("status is missing")), 400, 1500), (.unauthorized, 401, 1401),
      (.unknown, 404, 1519), (.conflict, 409, 1409), (.otherPath, 404, 1404),
      (.otherMethod, 405, 1405), (.tooLarge, 413, 1413), (.unavailable, 503, 1503),
    ]
    for (outcome, status, code) in cases {
      let answer = dialect.answer(outcome)
      #expect(answer.status == status && answer.headers["content-type"] == "application/json")
      #expect(answer.jsonObject?["success"] == false)
      let error = answer.jsonObject?["errors"]?[0]
      #expect(error?["code"] == .integer(code) && error?["entity"] == "USHERD")
      #expect(error?["cause"]?.stringValue?.isEmpty == false)
    }
    let refusal = dialect.answer(.unreadable(CallbackRefusal("status is missing")))
    #expect(refusal.jsonObject?["errors"]?[0]?["cause"] == "status is missing")
    #expect(dialect.answer(.otherMethod).headers["allow"] == "PUT")
  }
}
