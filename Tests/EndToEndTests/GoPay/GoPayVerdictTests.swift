import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Verdicts by the provider's callback.
@Suite("GoPay's verdicts by callback", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayCallbackTests {
  private let fixture: GoPayFixture

  init() throws {
    fixture = try GoPayFixture()
    try fixture.set(["callbackUrl": .string(fixture.callbackURL)])
  }

  /// The body of a callback.
  private func body(_ end: JSONValue, _ more: JSONValue = [:]) -> JSONValue {
    let body: JSONValue = [
      "submissionId": .string(end.submissionID),
      "partnerSessionId": end["requestId"] ?? .null, "status": "COMPLETED", "result": "VALID",
    ]
    return body + more
  }

  @Test("a GoPay callback after the flow's end updates the account, emits an event, keeps the flow")
  func right() throws {
    let listener = try GoPayListener(fixture.daemon.client())
    let end = try fixture.verified()
    #expect(try fixture.decide(end.submissionID, "COMPLETED", "VALID", reason: "R-1") == [200])
    #expect(try listener.verdicts(until: "completed") == ["submitted", "completed"])
    let kyc = try fixture.kyc(of: end)
    #expect(kyc["status"] == "COMPLETED" && kyc["result"] == "VALID", "\(kyc.text)")
    #expect(kyc["reasonCode"] == "R-1" && kyc["requestId"] == end["requestId"])
    #expect(kyc["submissionId"] == .string(end.submissionID))
    #expect(kyc["submittedAt"] != kyc["updatedAt"])
    #expect(try fixture.flow(end) == end)
  }

  @Test("a callback before the flow's end ends GoPay verify with the verdict")
  func early() throws {
    // The capture host reports the submission late.
    try fixture.set(["submissionReply": ["status": "CREATED"]])
    let flow = try fixture.atCapture()
    try GoPayFixture.photograph(at: flow.url)
    let id = try #require(try fixture.submissions().first?["submissionId"]?.stringValue)
    #expect(try fixture.decide(id, "COMPLETED", "VALID") == [200])
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "succeeded" && end.submissionID == id, "\(end.text)")
    #expect(end["result"]?["metadata"] == ["status": "COMPLETED", "result": "VALID"])
    #expect(try fixture.kyc(of: end)["result"] == "VALID")
    #expect(try fixture.push(id) == [200])
  }

  @Test("during a GoPay flow, a callback may carry the account's linking token or the credential")
  func earlyForAccount() throws {
    let first = try fixture.verified()
    try fixture.set(["submissionReply": ["status": "CREATED"]])
    let flow = try fixture.verify("none", more: ["account": first["result"]?["account"] ?? .null])
    try GoPayFixture.photograph(at: flow.url)
    let id = try #require(try fixture.submissions().last?["submissionId"]?.stringValue)
    #expect(id != first.submissionID)
    #expect(try fixture.push(id, ["authorization": "otherPerson", "times": 2]) == [400, 400])
    try fixture.decide(id, "COMPLETED", "VALID", push: false)
    #expect(try fixture.push(id, ["authorization": "otherPerson"]) == [401])
    #expect(try fixture.flow(flow)["status"] == "active")
    #expect(try fixture.push(id, ["value": "alice-long-term"]) == [200])
    let end = try fixture.app.finished(flow)
    #expect(end.submissionID == id && end["result"]?["metadata"]?["result"] == "VALID")
    #expect(try fixture.kyc(of: end)["requestId"] == end["requestId"])
  }

  @Test("a GoPay callback with a wrong authorization value gets 401 and changes nothing")
  func wrongValue() throws {
    let end = try fixture.verified()
    try fixture.decide(end.submissionID, "COMPLETED", "VALID", push: false)
    for kind in ["wrong", "absent", "bearer", "otherPerson"] {
      #expect(
        try fixture.push(end.submissionID, ["authorization": .string(kind)]) == [401], "\(kind)")
    }
    #expect(try fixture.kyc(of: end)["status"] == "SUBMITTED")
    #expect(try fixture.push(end.submissionID, ["authorization": "credential"]) == [200])
    #expect(try fixture.kyc(of: end)["status"] == "COMPLETED")
  }

  @Test(
    "a GoPay callback with the credential for a cancelled or failed flow changes nothing, gets 200")
  func cancelled() throws {
    let flow = try fixture.atCapture()
    try GoPayFixture.photograph(at: flow.url, "card")
    let id = try #require(try fixture.submissions().first?["submissionId"])
    let end = try fixture.cancel(flow)
    let callback = body(flow, ["submissionId": id])
    #expect(try fixture.call(callback).status == 200)
    #expect(try fixture.call(callback, authorization: "alice-long-term").status == 401)
    #expect(try fixture.flow(flow) == end)
    #expect(try fixture.app.call("account.list")["accounts"] == [])
    let failed = try fixture.handIn(fixture.atCapture(), action: "CAMERA")
    #expect(try fixture.call(body(failed, ["submissionId": id])).status == 200)
    #expect(try fixture.app.call("account.list")["accounts"] == [])
  }

  @Test("a GoPay callback with another path, another method or a large body is refused")
  func elsewhere() throws {
    let end = try fixture.verified()
    #expect(try fixture.call(body(end), path: "/").status == 404)
    #expect(try fixture.call(body(end), path: "/v1/callback/partner/x").status == 404)
    for method in ["POST", "GET", "DELETE"] {
      #expect(try fixture.call(body(end), method: method).status == 405)
    }
    let large = String(repeating: "x", count: 70_000)
    #expect(try fixture.call(body(end, ["more": .string(large)])).status == 413)
    #expect(try fixture.kyc(of: end)["status"] == "SUBMITTED")
    #expect(try fixture.call(body(end), authorization: "alice-long-term").status == 200)
  }
}

/// Verdicts by polling, first after five seconds.
@Suite("GoPay's verdicts by polling", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayPullTests {
  @Test("the daemon polls until GoPay has a verdict, reports each change and drops documents")
  func pull() throws {
    let clock = MovableClock()
    let fixture = try GoPayFixture(clock: clock)
    let listener = try GoPayListener(fixture.daemon.client())
    let end = try fixture.verified()
    try fixture.decide(end.submissionID, "IN_PROGRESS")
    try eventually("the daemon asks for the verdict", moving: clock) {
      try fixture.requests("currentSubmission") >= 1
    }
    #expect(try listener.verdicts(until: "in_progress") == ["submitted", "in_progress"])
    try fixture.decide(end.submissionID, "COMPLETED", "INVALID", reason: "R-9", push: false)
    let asked = try fixture.requests("currentSubmission")
    try eventually("the daemon asks for the verdict again", moving: clock) {
      try fixture.requests("currentSubmission") > asked
    }
    #expect(try listener.verdicts(until: "completed") == ["completed"])
    let account = try fixture.account(of: end)
    let kyc = try #require(account["attributes"]?["kyc"])
    #expect(kyc["status"] == "COMPLETED" && kyc["result"] == "INVALID", "\(kyc.text)")
    #expect(kyc["reasonCode"] == "R-9")
    for word in ["documents", "KTP", "nik", "3171000000000000", "birthDate"] {
      #expect(!account.text.contains(word), "\(word)")
    }
    let apart = try kyc.time("updatedAt").timeIntervalSince(kyc.time("submittedAt"))
    #expect(apart >= 5, "the daemon asked for the verdict after \(apart) s")
  }
}
