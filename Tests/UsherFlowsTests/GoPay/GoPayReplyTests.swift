import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private let link = LinkingToken.token(Sealed(Secret("linking-secret")))
private let session = CaptureSession(id: "s-1", requestID: "req-1", locale: .id)
private let capture = GoPayCall.capture(session, token: Secret("capture-secret"))
private let binding = GoPayCall.binding(
  code: Secret("auth-code-secret"), device: device, externalID: "1")
private let unbinding = GoPayCall.unbinding(token: Secret("linking-secret"), device: device)
private let exchange = GoPayCall.exchange(
  code: Secret("auth-code-secret"), correlationID: "corr-1", requestID: "req-1")
private let sessionToken = GoPayCall.sessionToken(code: Secret("c"), requestID: "req-1")
private let current = GoPayCall.currentSubmission(link, requestID: "req-1")
/// One call of each kind to the identity and capture APIs.
private let asked: [GoPayCall] = [
  .authCode(link, correlationID: "corr-1", requestID: "req-1"), sessionToken,
  .temporaryToken(link, requestID: "req-1"), capture,
  .submission(id: "sub-1", session, token: Secret("capture-secret")), current,
]

private func read(_ json: JSONValue, _ status: Int = 200, to call: GoPayCall) -> GoPayReply {
  GoPayReply(.reply(reply(json, status: status)), to: call)
}

private func theRefusal(_ reply: GoPayReply) -> GoPayRefusal? {
  if case .refused(let refusal) = reply { refusal } else { nil }
}

private func replyError(_ reply: GoPayReply) -> GoPayReplyError? {
  if case .failed(let problem) = reply { problem } else { nil }
}

@Suite("Replies of SNAP")
struct SNAPReplyTests {
  private func snap(_ code: String, _ status: Int) -> GoPayReply {
    read(["responseCode": .string(code), "responseMessage": "No"], status, to: binding)
  }

  @Test("the members of a successful SNAP reply are decoded")
  func said() {
    let yes: JSONValue = ["responseCode": "2000700", "accessTokenInfo": ["accessToken": "t"]]
    #expect(read(yes, to: binding) == .success(GoPayData(members: yes.objectValue ?? [:])))
    #expect(read(["a": 1], to: binding) == .success(GoPayData(members: ["a": 1])))
  }

  @Test(
    "a refusal of SNAP has the GPE code of its responseCode, whatever the HTTP status",
    arguments: [
      ("4007300", .configuration), ("4017300", .configuration), ("4000702", .fieldMissing),
      ("4010700", .configuration), ("4010701", .configuration), ("4000701", .configuration),
      ("4040705", .exchangeFailed), ("4040711", .exchangeFailed), ("4090700", .exchangeFailed),
      ("4030701", .notWhitelisted), ("4040700", .api), ("4220700", .api),
    ] as [(String, GoPayErrorCode)])
  func refused(code: String, error: GoPayErrorCode) throws {
    for status in [200, Int(code.prefix(3)) ?? 0, 500] {
      let no = try #require(theRefusal(snap(code, status)))
      #expect(no.error == error)
      #expect(no.code == code)
      #expect(no.message == "No")
      #expect(no.isConflict == (code == "4090700"))
      let failure = no.failure(gopayName)
      #expect(failure.provider == error.providerErrorCode(gopayName, code: code, message: "No"))
      #expect(failure.reason == error.reason)
      #expect(failure.retryable == error.isRetryable)
      #expect(failure.message == "No")
    }
  }

  @Test("a responseCode of SNAP may be a number")
  func number() {
    let no = theRefusal(read(["responseCode": 4_000_702], 400, to: binding))
    #expect(no?.error == .fieldMissing)
    #expect(no?.code == "4000702")
  }

  @Test(
    "a SNAP reply with a server fault or too many requests is a failure to retry",
    arguments: ["5007300", "5000701", "5040700", "5030700", "4290700"])
  func tryLater(code: String) throws {
    for status in [200, Int(code.prefix(3)) ?? 0] {
      let problem = try #require(replyError(snap(code, status)))
      #expect(problem.error == .api)
      #expect(problem.mayHaveTakenEffect)
      #expect(
        problem.providerErrorCode(gopayName)
          == GoPayErrorCode.api.providerErrorCode(gopayName, code: code, message: "No"))
      #expect(problem.failure(gopayName).reason == .providerUnreachable)
    }
  }

  @Test("the HTTP status decides if SNAP's responseCode is absent, unknown or contradicts it")
  func byStatus() {
    #expect(theRefusal(read([:], 401, to: binding))?.error == .configuration)
    #expect(theRefusal(read([:], 403, to: binding))?.error == .notWhitelisted)
    #expect(theRefusal(read([:], 409, to: binding))?.isConflict == true)
    #expect(theRefusal(read(["responseCode": "401"], 404, to: binding))?.error == .api)
    #expect(replyError(snap("2000700", 500)) != nil)
    #expect(theRefusal(snap("2000700", 404)) != nil)
    let failed = GoPayReply(.reply(reply(text: "", status: 502)), to: binding)
    #expect(replyError(failed)?.mayHaveTakenEffect == true)
  }

  @Test(
    "a SNAP reply that is not a JSON object is unreadable",
    arguments: ["", "[]", "null", "7", "<html>", "{\"responseCode\":"])
  func garbage(text: String) {
    guard case .unreadable = GoPayReply(.reply(reply(text: text)), to: binding) else {
      return #expect(Bool(false), "the reply was decoded")
    }
  }

  @Test("a SNAP reply that is neither a success nor a refusal is unreadable")
  func neither() {
    for status in [301, 304] {
      #expect(read([:], status, to: binding) == .unreadable("the provider answers HTTP \(status)"))
    }
    #expect(snap("9990700", 200) == .unreadable("the provider answers HTTP 999"))
  }

  @Test(
    "SNAP's refusal of the client token is recognized by responseCode and HTTP status",
    arguments: [
      (401, "4010701", true), (200, "4010701", true), (401, "4010901", true), (401, nil, true),
      (401, "4010700", false), (401, "4017300", false), (401, "4010902", false),
      (400, "4000702", false), (403, nil, false), (500, nil, false), (200, nil, false),
    ] as [(Int, String?, Bool)])
  func clientToken(status: Int, code: String?, isRefused: Bool) {
    let members: [String: JSONValue] = code.map { ["responseCode": .string($0)] } ?? [:]
    let answer = reply(.object(members), status: status)
    #expect(binding.refusesClientToken(answer) == isRefused)
    #expect(unbinding.refusesClientToken(answer) == isRefused)
    #expect(!capture.refusesClientToken(answer))
    #expect(!current.refusesClientToken(answer))
  }
}

@Suite("Replies of GoPay's identity and capture APIs")
struct IdentityReplyTests {
  private func no(_ code: Int64?, _ status: Int, to call: GoPayCall) -> GoPayReply {
    guard let code else { return read([:], status, to: call) }
    return read(DrivenIdentity.refusal(code, "WHY"), status, to: call)
  }

  @Test("a successful reply of GoPay's identity or capture API is decoded", arguments: asked)
  func said(call: GoPayCall) {
    let yes: JSONValue = ["success": true, "data": ["a": 1]]
    #expect(read(yes, to: call) == .success(GoPayData(members: ["a": 1])))
  }

  @Test(
    "a refusal of GoPay's identity or capture API has its own GPE code, also with HTTP 200",
    arguments: asked,
    [
      (400, 1539, .fieldMissing), (401, 1401, .unauthorized), (403, 1403, .notWhitelisted),
      (404, 1519, .api), (422, 1999, .api), (422, 899, .api), (422, 1000, .api),
    ] as [(Int, Int64, GoPayErrorCode)])
  func refused(call: GoPayCall, row: (status: Int, code: Int64, error: GoPayErrorCode)) throws {
    for status in [row.status, 200] {
      let refusal = try #require(theRefusal(no(row.code, status, to: call)))
      #expect(refusal.error == row.error)
      #expect(refusal.status == row.status)
      #expect(refusal.code == String(row.code))
      #expect(refusal.message == "WHY")
      #expect(refusal.isUnauthorized == (row.status == 401))
      #expect(refusal.isPending == (row.status == 404))
      #expect(!refusal.isConflict)
      #expect(
        refusal.failure(gopayName).provider
          == row.error.providerErrorCode(gopayName, code: String(row.code), message: "WHY"))
    }
  }

  @Test("GoPay's error code 1601 is a failed exchange only in a reply to the session-token call")
  func notRedeemed() {
    for status in [409, 200] {
      #expect(theRefusal(no(1601, status, to: sessionToken))?.error == .exchangeFailed)
      #expect(theRefusal(no(1601, status, to: capture))?.error == .api)
    }
    #expect(theRefusal(no(1600, 409, to: sessionToken))?.error == .api)
  }

  @Test("the HTTP status of a GoPay refusal decides, whatever its error code", arguments: asked)
  func byStatus(call: GoPayCall) {
    #expect(theRefusal(no(nil, 401, to: call))?.error == .unauthorized)
    #expect(theRefusal(no(7, 401, to: call))?.error == .unauthorized)
    #expect(theRefusal(no(nil, 403, to: call))?.error == .notWhitelisted)
    #expect(theRefusal(no(1401, 400, to: call))?.error == .api)
    #expect(theRefusal(no(900, 404, to: call))?.isPending == false)
    #expect(theRefusal(no(nil, 404, to: call))?.sentence == "the provider answers HTTP 404")
  }

  @Test(
    "a GoPay reply with a server fault or too many requests is a failure to retry",
    arguments: asked)
  func tryLater(call: GoPayCall) {
    for (code, status) in [(900, 500), (nil, 503), (nil, 429), (900, 200), (999, 200), (nil, 408)]
      as [(Int64?, Int)]
    {
      let problem = replyError(no(code, status, to: call))
      #expect(problem?.error == .api)
      #expect(problem?.mayHaveTakenEffect == true)
      #expect(problem?.providerErrorCode(gopayName).error == code.map { String($0) })
      #expect(problem?.failure(gopayName).reason == .providerUnreachable)
      #expect(problem?.failure(gopayName).retryable == true)
    }
    let busy = reply([:], status: 429, headers: ["retry-after": "7"])
    #expect(
      replyError(GoPayReply(.reply(busy), to: call))?.retryAfter == .seconds(7))
  }

  @Test("an HTTP 200 reply of GoPay without success and data is unreadable", arguments: asked)
  func garbage(call: GoPayCall) {
    let texts = [
      "", "null", "[]", "{}", "<html>", "{\"success\":true}", "{\"data\":{}}",
      "{\"success\":\"true\",\"data\":{}}", "{\"success\":true,\"data\":[]}",
      "{\"success\":true,\"data\":null}", "{\"success\":1,\"data\":{\"token\":\"t\"}}",
    ]
    for text in texts {
      guard case .unreadable = GoPayReply(.reply(reply(text: text)), to: call) else {
        #expect(Bool(false), "the reply \(text) was decoded")
        continue
      }
    }
  }

  @Test("a refusal by GoPay's identity or capture API without an error code has the code GPE-2215")
  func silent() {
    for json in [["success": false], ["success": false, "errors": []]] as [JSONValue] {
      let no = theRefusal(read(json, to: capture))
      #expect(no?.error == .api)
      #expect(no?.code == nil)
    }
    #expect(theRefusal(read(["errors": [["code": 1403]]], to: capture))?.error == .notWhitelisted)
  }

  @Test("the error code and the cause of a GoPay refusal are cleaned and cut")
  func words() {
    let long = String(repeating: "x", count: 300)
    let json: JSONValue = [
      "success": false, "errors": [["code": "A\u{1B}[0m\u{202E}B", "cause": .string("\n" + long)]],
    ]
    let no = theRefusal(read(json, 400, to: capture))
    #expect(no?.code == "A[0mB")
    #expect(no?.message?.unicodeScalars.count == 200)
    #expect(no?.message?.hasPrefix("x") == true)
  }

  @Test(
    "an unreachable GoPay is a connection error, and an account without a token is unauthorized")
  func nothing() {
    let gone = GoPayReply(.unreachable(message: "gone", sent: false), to: current)
    #expect(replyError(gone)?.mayHaveTakenEffect == false)
    #expect(replyError(gone)?.error == .connection)
    let failure = replyError(gone)?.failure(gopayName)
    #expect(failure?.provider?.code == "GPE-2203")
    #expect(failure?.reason == .providerUnreachable)
    #expect(failure?.message == "gone")
    #expect(
      replyError(gone).map { Problem.unreachable($0, gopayName) }?.provider?.code == "GPE-2203")
    let broken = GoPayReply(.unreachable(message: "gone", sent: true), to: binding)
    #expect(replyError(broken)?.mayHaveTakenEffect == true)
    #expect(
      GoPayReply(.unreadable(message: "a redirect"), to: current) == .unreadable("a redirect"))
    let signIn = theRefusal(GoPayReply(.noToken(message: "sign in again"), to: current))
    #expect(signIn?.error == .unauthorized)
    #expect(signIn?.sentence == "sign in again")
    #expect(signIn?.code == nil)
  }

  @Test("a linking token that GoPay refuses is reported as refused, because nothing can refresh it")
  func linkingToken() {
    let own = GoPayCall.currentSubmission(.account(AccountID("acc_1")), requestID: "req-1")
    for status in [401, 403] {
      let answer = reply(DrivenIdentity.refusal(1401), status: status)
      #expect(!own.refusesToken(answer))
      #expect(theRefusal(GoPayReply(.reply(answer), to: own))?.code == "1401")
    }
  }
}

@Suite("Replies of the partner's backend (GoPay)")
struct PartnerReplyTests {
  @Test("the members of a successful reply of the GoPay partner's backend are decoded")
  func said() {
    let yes: JSONValue = ["userCorrelationId": "corr-1", "reason": nil]
    #expect(read(yes, to: exchange) == .success(GoPayData(members: yes.objectValue ?? [:])))
  }

  @Test(
    "a reason from the GoPay partner's backend is a failed exchange, whatever the status",
    arguments: [200, 400, 401, 404, 500])
  func reason(status: Int) {
    let no = theRefusal(
      read(["reason": "no\u{07} such user", "userCorrelationId": "c"], status, to: exchange))
    #expect(no?.error == .exchangeFailed)
    #expect(no?.failure(gopayName).message == "no such user")
    #expect(no?.failure(gopayName).reason == .exchangeFailed)
    #expect(no?.failure(gopayName).provider?.message == "no such user")
    let silent = theRefusal(read(["reason": ""], status, to: exchange))
    #expect(silent?.sentence == "the exchange failed")
  }

  @Test(
    "a GoPay backend's refusal without a reason has the code GPE-2215; a server fault is retried")
  func other() {
    for status in [400, 401, 403, 404, 409] {
      #expect(theRefusal(read([:], status, to: exchange))?.error == .api)
      #expect(theRefusal(read(["reason": 7], status, to: exchange))?.error == .api)
    }
    for status in [408, 429, 500, 503] {
      #expect(replyError(read([:], status, to: exchange))?.mayHaveTakenEffect == true)
    }
  }

  @Test(
    "a reply of the GoPay partner's backend without an object is unreadable",
    arguments: ["", "[]", "null", "<html>"])
  func garbage(text: String) {
    guard case .unreadable = GoPayReply(.reply(reply(text: text)), to: exchange) else {
      return #expect(Bool(false), "the reply was decoded")
    }
  }
}
