import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Driven = DrivenIdentity

private func callback(
  _ status: String = "COMPLETED", result: JSONValue = "VALID", submission: JSONValue = "sub-1",
  request: String = "req-1", shows token: String = "linking-secret", vouched: Bool = false
) -> ProviderCallback {
  ProviderCallback(
    requestID: request, authorization: Secret(token), isAuthenticated: vouched,
    members: [
      "partnerSessionId": .string(request), "submissionId": submission, "status": .string(status),
      "result": result,
    ])
}

extension VerifyIdentity {
  /// Judges the callback without the token of an account.
  fileprivate func validate(_ callback: ProviderCallback) -> CallbackVerdict {
    validate(callback) { _ in nil }
  }
}

@Suite("GoPay callbacks during the capture of verify")
struct IdentityCallbackTests {
  private func atPage() throws -> Driven {
    var driven = try Driven(.none, token: "linking-secret")
    driven.toPage()
    return driven
  }

  @Test("a callback ends GoPay verify with the verdict that it brings")
  func verdict() throws {
    let cases: [(String, JSONValue, JSONValue)] = [
      ("COMPLETED", "VALID", ["status": "COMPLETED", "result": "VALID"]),
      ("COMPLETED", "INVALID", ["status": "COMPLETED", "result": "INVALID"]),
    ]
    for (status, result, metadata) in cases {
      var driven = try atPage()
      let callback = callback(status, result: result)
      #expect(driven.flow.validate(callback) == .match)
      driven.receive(.calledBack(callback))
      #expect(driven.state == "submitted")
      #expect(
        driven.completion?.result == ["submissionId": "sub-1", "metadata": metadata])
      #expect(driven.kyc?["status"] == .string(status) && driven.kyc?["result"] == result)
      #expect(driven.grant?.tokens?.accessToken.unsealed() == Secret("linking-secret"))
    }
  }

  @Test("a callback with ERROR fails GoPay verify, with GPE-2212 or the code of its reason")
  func error() throws {
    let cases: [(JSONValue, String, String?)] = [
      (nil, "GPE-2212", nil), ("BLUR", "GPE-2212", "BLUR"), (12, "GPE-2212", "12"),
      ("CAMERA", "GPE-2210", "CAMERA"), ("SECURITY", "GPE-2214", "SECURITY"),
    ]
    for (reason, code, error) in cases {
      var driven = try atPage()
      var callback = callback("ERROR", result: nil)
      callback.members["reasonCode"] = reason
      #expect(driven.flow.validate(callback) == .match)
      driven.receive(.calledBack(callback))
      #expect(driven.completion == nil && driven.code == code)
      #expect(driven.failure?.provider?.error == error)
      #expect(driven.failure?.message == "the provider could not decide about the submission")
    }
  }

  @Test("a callback with ERROR undoes the binding that GoPay verify has made")
  func errorAfterBinding() throws {
    var driven = try Driven(provider: gopay(.snap))
    driven.toExchange()
    driven.answered([
      "responseCode": "2000700", "accessTokenInfo": ["accessToken": "bound-secret"],
    ])
    driven.toPage()
    driven.receive(.calledBack(callback("ERROR", result: nil)))
    #expect(driven.cleanUp == [.unbinding(token: Secret("bound-secret"), device: device)])
  }

  @Test("a GoPay callback is judged by its requestId, its authorization, then its submissionId")
  func judgement() throws {
    let flow = try atPage().flow
    for id in ["", "req-2", "REQ-1", "req-1 "] {
      #expect(flow.validate(callback(request: id)) == .noMatch)
      #expect(flow.validate(callback(request: id, vouched: true)) == .noMatch)
    }
    for shown in ["", "linking-secreT", "linking-secre", "Bearer linking-secret", "capture-secret"]
    {
      #expect(flow.validate(callback(shows: shown)) == .unauthorized)
      #expect(flow.validate(callback(shows: shown, vouched: true)) == .match)
    }
    for id in ["sub-2", "", nil, 1] as [JSONValue] {
      #expect(flow.validate(callback(submission: id)) == .conflict)
      #expect(flow.validate(callback(submission: id, shows: "x", vouched: true)) == .conflict)
      #expect(flow.validate(callback(submission: id, shows: "x")) == .unauthorized)
    }
  }

  @Test("a GoPay verify flow takes no callback before its capture page or after its end")
  func elsewhere() throws {
    var driven = try Driven(.none, token: "linking-secret")
    let flows = [
      driven.flow, try Driven().flow, try Driven(requestID: nil).flow,
      try Driven(.none, account: Driven.knownAccount).flow,
    ]
    for flow in flows { #expect(flow.validate(callback(vouched: true)) == .noMatch) }
    driven.toPage()
    driven.submit()
    #expect(driven.flow.validate(callback()) == .noMatch)
  }

  @Test(
    "GoPay verify ignores a callback with another flow's submissionId or with an unknown verdict")
  func noMatch() throws {
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
    "GoPay verify without a linking token accepts its account's token or the shared credential")
  func noToken() throws {
    var driven = try Driven()
    driven.toKYC()
    driven.toPage()
    #expect(driven.flow.validate(callback(shows: "")) == .unauthorized)
    #expect(driven.flow.validate(callback(shows: "", vouched: true)) == .match)
    driven = try Driven(.none, account: Driven.knownAccount)
    driven.refused(404, 1519)
    driven.toPage()
    let account = Driven.knownAccount.id
    #expect(driven.flow.validate(callback(shows: "linking-secret")) == .unauthorized)
    for token in ["", "other-secret"] {
      #expect(
        driven.flow.validate(callback(shows: "linking-secret")) { _ in Secret(token) }
          == .unauthorized
      )
    }
    #expect(
      driven.flow.validate(callback(shows: "linking-secret")) {
        $0 == account ? Secret("linking-secret") : nil
      } == .match)
    driven.receive(.calledBack(callback(vouched: true)))
    #expect(driven.completion != nil && driven.grant?.tokens == nil)
  }

  @Test("a callback that completes GoPay verify stores the account's linking token")
  func bound() throws {
    var driven = try Driven(provider: gopay(.snap))
    driven.toExchange()
    driven.answered([
      "responseCode": "2000700", "accessTokenInfo": ["accessToken": "bound-secret"],
    ])
    driven.toPage()
    #expect(driven.flow.validate(callback(shows: "bound-secret")) == .match)
    driven.receive(.calledBack(callback(shows: "bound-secret")))
    #expect(driven.grant?.tokens?.accessToken.unsealed() == Secret("bound-secret"))
    #expect(driven.flow.callsIfAbandoned == [])
  }
}

@Suite("The HTTP format of GoPay callbacks")
struct CallbackDialectTests {
  private func dialect(
    _ change: (inout GoPaySettings) -> Void = { _ in }
  ) throws -> any CallbackDialect {
    let provider = try gopay {
      $0.callbackListen = try LoopbackAddress(setting: "127.0.0.1:8790")
      change(&$0)
    }
    return try #require(provider.definition.callback)
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

  @Test("a GoPay callback is looked up by its partnerSessionId, whatever its authorization")
  func key() throws {
    let dialect = try dialect()
    for authorization in [nil, Secret("t")] {
      let callback = try dialect.read(
        authorization: authorization, body: Self.good.encoded())
      #expect(dialect.callKey(of: callback) == "req-1")
    }
  }

  @Test("a GoPay callback's partnerSessionId is the requestId, as it is or as the headers have it")
  func encodedKey() throws {
    let dialect = try dialect()
    for (text, id) in [
      ("M%C3%BCller%2042", "Müller 42"), ("Müller 42", "Müller 42"), ("50%25", "50%"),
      ("50%", "50%"), ("a%2520b", "a%20b"), ("a%41", "a%41"), ("%ff%", "%ff%"), ("%FF", "%FF"),
      ("a%2", "a%2"), ("a%c3%bc", "a%c3%bc"),
    ] {
      var body = Self.good
      body["partnerSessionId"] = .string(text)
      let callback = try dialect.read(authorization: Secret("t"), body: body.encoded())
      #expect(callback.requestID == id && dialect.callKey(of: callback) == id)
    }
  }

  @Test("GoPay callbacks are off unless callback_listen is set")
  func off() throws {
    #expect(try gopay().definition.callback == nil)
    #expect(try provider().definition.callback == nil)
  }

  @Test("GoPay callbacks are PUT requests at the configured address and path")
  func place() throws {
    var dialect = try dialect()
    #expect(dialect.address == (try LoopbackAddress(setting: "127.0.0.1:8790")))
    #expect(dialect.path == "/v1/callback/partner" && dialect.method == .put)
    #expect(dialect.credentialName == nil)
    dialect = try self.dialect { $0.callbackCredential = "gopay-callback" }
    #expect(dialect.credentialName == "gopay-callback")
  }

  @Test("only the five known members of a GoPay callback are read")
  func reading() throws {
    var body = Self.good
    body["documents"] = [["url": "https://x"]]
    let callback = try dialect().read(authorization: Secret("linking"), body: body.encoded())
    #expect(callback.requestID == "req-1" && callback.authorization == Secret("linking"))
    #expect(!callback.isAuthenticated)
    #expect(JSONValue.object(callback.members) == Self.good)
  }

  @Test("a GoPay callback without authorization is unauthorized")
  func nothingShown() throws {
    let callback = try dialect().read(authorization: nil, body: Self.good.encoded())
    #expect(callback.authorization == Secret(""))
    var driven = try Driven(.none, token: "linking-secret")
    driven.toPage()
    #expect(driven.flow.validate(callback) == .unauthorized)
  }

  @Test("the reasonCode of a GoPay callback is a string or a number")
  func reason() throws {
    for (reason, refused) in [("BLUR", false), (12, false), (["a": 1], true), ([1], true)]
      as [(JSONValue, Bool)]
    {
      var body = Self.good
      body["reasonCode"] = reason
      #expect(try (refusal(body.encoded()) != nil) == refused)
    }
  }

  @Test("a malformed GoPay callback is refused with the name of its missing or wrong member")
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

  @Test("each outcome of a GoPay callback has its own HTTP status and error code")
  func answers() throws {
    let dialect = try dialect()
    #expect(dialect.answer(.accepted).status == 200)
    #expect(dialect.answer(.accepted).jsonObject == ["success": true])
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
