import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenIdentity

@Suite("GoPay verify for an account with an earlier submission")
struct IdentityCurrentTests {
  private func driven() throws -> Driven { try Driven(.none, account: Driven.knownAccount) }

  private static func current(
    _ status: String, _ result: JSONValue = nil, _ id: JSONValue = "sub-0"
  ) -> JSONValue {
    [
      "status": .string(status), "result": result, "submissionId": id,
      "documents": [["url": "https://x/card.jpg"]], "submissionData": ["ktp": ["name": "Ada"]],
    ]
  }

  @Test("an earlier valid verdict ends GoPay verify at once, and its documents are not kept")
  func valid() throws {
    var driven = try driven()
    driven.answered(data: Self.current("COMPLETED", "VALID"))
    #expect(driven.state == "submitted")
    let completion = try #require(driven.completion)
    #expect(
      completion.result == [
        "submissionId": "sub-0", "metadata": ["status": "COMPLETED", "result": "VALID"],
      ])
    let time = JSONValue.string(now.description)
    #expect(
      driven.kyc == [
        "requestId": "req-1", "submissionId": "sub-0", "status": "COMPLETED", "result": "VALID",
        "reasonCode": nil, "submittedAt": time, "updatedAt": time,
      ])
    #expect(driven.grant?.subject == "corr-5678" && driven.grant?.label == "corr-5678")
    // The account keeps its own token, which the flow does not know.
    #expect(driven.grant?.tokens == nil)
  }

  @Test("an earlier GoPay submission without a valid verdict leads to the capture, as does none")
  func capture() throws {
    let others: [(String, JSONValue)] = [
      ("INITIATED", nil), ("IN_PROGRESS", nil), ("COMPLETED", "INVALID"), ("COMPLETED", nil),
      ("IN_PROGRESS", "VALID"), ("ERROR", nil), ("ERROR", "VALID"),
    ]
    let account = LinkingToken.account(AccountID("acc_1"))
    for (status, result) in others {
      var driven = try driven()
      driven.answered(data: Self.current(status, result))
      #expect(driven.state == "kyc")
      #expect(driven.calls == [.temporaryToken(account, requestID: "req-1")])
    }
    var driven = try driven()
    driven.refused(404, 1519, "SUBMISSION_NOT_FOUND")
    #expect(driven.state == "kyc")
  }

  @Test("a refused or unreadable inquiry about the earlier submission fails GoPay verify")
  func refusals() throws {
    let cases: [(Int, Int64, String)] = [
      (400, 1539, "GPE-2206"), (401, 1401, "GPE-2202"), (403, 1403, "GPE-2204"),
      (404, 1520, "GPE-2215"), (422, 1, "GPE-2215"),
    ]
    for (status, number, code) in cases {
      var driven = try driven()
      driven.refused(status, number)
      #expect(driven.code == code)
    }
    var driven = try driven()
    driven.answered(.noToken(message: "sign in again"))
    #expect(driven.code == "GPE-2202" && driven.failure?.retryable == true)
    driven = try self.driven()
    driven.answered(.reply(reply(text: "{")))
    #expect(driven.code == "GPE-2215")
  }

  @Test("an earlier GoPay submission with an unknown status or result leads to the capture")
  func odd() throws {
    for odd: JSONValue in [
      ["status": "EXPIRED", "submissionId": "sub-0"], ["status": "INITIATED"], [:],
      ["status": "COMPLETED", "result": "REVIEW", "submissionId": "sub-0"],
    ] {
      var driven = try driven()
      driven.answered(data: odd)
      #expect(driven.state == "kyc")
    }
  }

  @Test("an unanswered GoPay inquiry is retried five times, and a restart repeats it")
  func fault() throws {
    var driven = try driven()
    let call = driven.calls
    driven.waitOutFive()
    try driven.restart()
    #expect(driven.calls == call)
    var given = driven
    given.answered(Driven.gone)
    #expect(given.code == "GPE-2203")
    driven.refused(404, 1519)
    #expect(driven.state == "kyc" && driven.problem == nil)
  }
}
