import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// What the provider says, right or wrong (contract page, § Words).
@Suite("BSA: answers of the provider", .mayBlock, .timeLimit(.minutes(10)))
struct BSAProviderAnswerTests {
  private let scene: BSAScene

  init() throws { scene = try BSAScene() }

  /// A flow that has the number, and one that was handed in.
  private func verified() throws -> JSONValue {
    let flow = try scene.verifyContact()
    return try scene.enter(scene.number(), to: flow)
  }

  /// A registration at its end; the person may be known already.
  private func signedUp() throws -> JSONValue {
    let flow = try scene.registering()
    return flow.stepType == "localAuth" ? try scene.prove(flow) : flow
  }

  @Test(
    "an rtCode other than 0 in HTTP 200 is a refusal, in our words, with its retry flag",
    arguments: [
      (2012, "the server is being maintained", true),
      (2013, "the client's licence has ended", false),
    ])
  func refused(rtCode: Int64, message: String, isRetryable: Bool) throws {
    try scene.answers("mail", ["rtCode": .integer(rtCode), "rtMsg": "the vendor's own"])
    let flow = try scene.verifyContact()
    #expect(flow.failure == ["provider_rejected", "\(rtCode)", nil], "\(flow.text)")
    #expect(flow["failure"]?["message"] == .string(message))
    #expect(flow["failure"]?["retryable"] == .bool(isRetryable))
    try scene.answers("users", ["rtCode": .integer(rtCode)])
    #expect(try signedUp().failure == ["provider_rejected", "\(rtCode)", nil])
    #expect(try scene.accounts().isEmpty)
  }

  @Test("the same under whatever HTTP status")
  func status() throws {
    for status: Int64 in [400, 401, 403, 409, 500, 503] {
      try scene.answers("mail", ["rtCode": 2013, "status": .integer(status)])
      #expect(
        try scene.verifyContact().failure == ["provider_rejected", "2013", nil], "\(status)")
      // And a yes is a yes.
      try scene.answers("mail", ["rtCode": 0, "status": .integer(status)])
      #expect(try scene.verifyContact().state == "otpSent", "\(status)")
    }
  }

  @Test("an rtCode that nobody knows is a refusal all the same, by its number, and not retryable")
  func unknown() throws {
    try scene.answers("users", ["rtCode": 4711])
    let end = try signedUp()
    #expect(end.failure == ["provider_rejected", "4711", nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(
      end["failure"]?["message"] == "the provider refuses for a reason that has no name")
  }

  @Test("of the number: 3005 is wrong_code, 3006 code_expired, what passes provider_busy")
  func numbers() throws {
    var flow = try scene.verifyContact()
    for (rtCode, problem) in [
      (3005, "wrong_code"), (3006, "code_expired"), (2001, "provider_busy"),
    ] as [(Int64, String)] {
      try scene.answers("mailVerify", ["rtCode": .integer(rtCode)])
      flow = try scene.enter(scene.number(), to: flow)
      #expect(flow.problem == [problem, "\(rtCode)"], "\(flow.text)")
    }
    try scene.answers("mailVerify", ["rtCode": 2013])
    #expect(
      try scene.enter(scene.number(), to: flow).failure == ["provider_rejected", "2013", nil])
  }

  @Test("data.result or data.disposeToken that is missing or nonsense is no answer")
  func lackingProof() throws {
    for data: JSONValue in [
      ["result": .null], ["result": "yes"], ["disposeToken": .null], ["disposeToken": ""],
      ["disposeToken": "a b"], .null,
    ] {
      try scene.answers("mailVerify", ["data": data])
      let end = try verified()
      #expect(end.failure == ["provider_protocol_error", nil, nil], "\(data.text): \(end.text)")
    }
  }

  @Test("a secretKey that is missing, no Base32 or too short leaves an account without codes")
  func lackingSecret() throws {
    for data: JSONValue in [
      .null, ["secretKey": .null], ["secretKey": ""], ["secretKey": 1],
      ["secretKey": "not base32 at all, and long enough"], ["secretKey": "MFRGGZDF"],
    ] {
      try scene.answers("users", ["data": data])
      let end = try signedUp()
      #expect(end["status"] == "succeeded", "\(data.text): \(end.text)")
      let problem = end["result"]?["totpProblem"]?.stringValue
      #expect(problem?.contains("data.secretKey") == true, "\(data.text): \(end.text)")
      try scene.sandbox.control("DELETE", "bsa/registrations/alice.01")
    }
    #expect(try scene.accounts().count == 1)
    #expect(try scene.app.call("totp.list")["accounts"] == [])
  }

  @Test("what is no envelope is provider_protocol_error")
  func noEnvelope() throws {
    for text in [
      "Bad Gateway", " ", "[]", "{}", #"{"rtCode":"0"}"#, #"{"rtCode":null}"#, #"{"rtCode":0"#,
    ] {
      try scene.answers("mail", ["text": .string(text)])
      let end = try scene.verifyContact()
      #expect(end.failure == ["provider_protocol_error", nil, nil], "\(text): \(end.text)")
      try scene.answers("users", ["text": .string(text)])
      #expect(try signedUp().failure == ["provider_protocol_error", nil, nil], "\(text)")
    }
  }

  @Test("no envelope and a status from 500: a number may have been sent, and none is sent again")
  func unreachable() throws {
    try scene.answers("mail", ["text": "Bad Gateway", "status": 502], times: 0)
    let flow = try scene.verifyContact()
    #expect(
      flow.state == "otpSent" && flow.problem == ["may_have_been_sent", nil], "\(flow.text)")
    #expect(try scene.requests("mail") == 1)
  }

  @Test("a mail whose answer is lost is not sent again, and its number is good")
  func lostOnce() throws {
    try scene.spoil("mail", ["reset": true, "processed": true], times: 1)
    let flow = try scene.verifyContact()
    #expect(
      flow.state == "otpSent" && flow.problem == ["may_have_been_sent", nil], "\(flow.text)")
    #expect(try scene.requests("mail") == 1 && scene.messages().count == 1)
    #expect(try scene.enter(scene.number(), to: flow)["status"] == "succeeded")
  }

  @Test("a number whose answer is lost is typed once more", arguments: [false, true])
  func lostNumber(processed: Bool) throws {
    let flow = try scene.verifyContact()
    try scene.spoil("mailVerify", ["reset": true, "processed": .bool(processed)], times: 1)
    let asked = try scene.enter(scene.number(), to: flow)
    #expect(asked.problem == ["provider_unreachable", nil], "\(asked.text)")
    #expect(try scene.requests("mailVerify") == 1)
    let end = try scene.enter(scene.number(), to: asked)
    // What was accepted and not told is used up.
    #expect(
      processed ? end.problem == ["code_expired", "3006"] : end["status"] == "succeeded",
      "\(end.text)")
  }

  @Test("a sign-up whose answer is lost is not repeated: it says so, and reregisterDevice takes it")
  func lostSignUp() throws {
    try scene.spoil("users", ["reset": true, "processed": true], times: 1)
    let end = try signedUp()
    #expect(end.failure == ["provider_unreachable", nil, nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(end["failure"]?["message"]?.stringValue?.contains("reregisterDevice") == true)
    #expect(try scene.requests("users") == 1)
    #expect(try scene.accounts().isEmpty)
    let account = try scene.reregistered()
    #expect(account["attributes"]?["localAuthType"] == "PASSCODE", "\(account.text)")
  }

  @Test("one that was not taken is tried again with the same proof: HTTP 429")
  func busy() throws {
    try scene.answers("users", ["text": "busy", "status": 429])
    let end = try signedUp()
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.requests("users") == 2)
  }

  @Test("the checks: 2009 and 2019 each say taken; other codes and what is none are errors")
  func checks() throws {
    let calls: [(String, String, JSONValue, JSONValue)] = [
      (
        "registration.checkDuplicate", "duplicateCheck",
        ["provider": "bsa", "verifyType": "email", "verifyData": "alice@example.com"],
        ["duplicate": true]
      ),
      (
        "registration.checkUserKey", "idCheck", ["provider": "bsa", "userKey": "alice.01"],
        ["available": false]
      ),
    ]
    for (method, endpoint, params, taken) in calls {
      for rtCode: JSONValue in [2009, 2019] {
        try scene.answers(endpoint, ["rtCode": rtCode])
        #expect(try scene.app.call(method, params) == taken)
      }
      for (answer, reason, code) in [
        (["rtCode": 2012], "provider_rejected", "2012"),
        (["rtCode": 4711], "provider_rejected", "4711"),
        (["text": "Bad Gateway", "status": 502], "provider_unreachable", nil),
        (["text": "Hello"], "provider_protocol_error", nil),
      ] as [(JSONValue, String, String?)] {
        try scene.answers(endpoint, answer)
        let error = try scene.app.error(of: method, params)
        #expect(error["data"]?["reason"]?.stringValue == reason, "\(error.text)")
        #expect(error["data"]?["provider"]?["code"]?.stringValue == code, "\(error.text)")
      }
    }
  }

  @Test("the checks are refused where the configuration does not allow them, and asked nothing")
  func checksAreOff() throws {
    let scene = try BSAScene(["registration_checks": "false"])
    for (method, params) in [
      ("registration.checkDuplicate", ["verifyType": "email", "verifyData": "a@b"]),
      ("registration.checkUserKey", ["userKey": "alice.01"]),
    ] as [(String, JSONValue)] {
      #expect(
        try scene.app.reason(of: method, params + ["provider": "bsa"]) == "permission_denied")
    }
    #expect(try scene.requestsInOrder() == [])
  }
}
