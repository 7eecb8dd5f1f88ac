import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The SDK's calls and the daemon's flow, as the documentation's page GoPay lists them.
@Suite("Documented flow of GoPay", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayFlowsTableTests {
  private let fixture: GoPayFixture

  init() throws { fixture = try GoPayFixture() }

  @Test(
    "provider.get lists the params of GoPay verify; flow.start refuses others without a request")
  func params() throws {
    let provider = try fixture.app.call("provider.get", ["provider": "gopay"])
    let flows = (provider["provider"] ?? provider)["flows"]?.arrayValue ?? []
    let flow = try #require(flows.first { $0["kind"] == "verify" }, "\(provider.text)")
    for name in [
      "userCorrelationId", "credentialReceiver", "token", "account", "redirectURI", "returnUrl",
      "locale", "featureId",
    ] {
      #expect(flow.text.contains("\"\(name)\""), "\(name)")
    }
    let misspelt = GoPayFixture.start("exchange", nil, "corr-5678", "req-1", more: ["tokn": "x"])
    #expect(try fixture.app.error(of: "flow.start", misspelt)["code"] == -32602)
    let other = GoPayFixture.start("perhaps", nil)
    #expect(try fixture.app.error(of: "flow.start", other)["code"] == -32602)
    #expect(try fixture.allRequests() == 0)
  }

  @Test(
    "a blank requestId or userCorrelationId makes a GoPay verify flow that failed with GPE-2206")
  func blank() throws {
    let blanks = [
      try fixture.verify(token: "alice-short-term", requestID: " "),
      try fixture.verify(token: "alice-short-term", person: " "),
    ]
    for flow in blanks {
      #expect(flow["status"] == "failed")
      #expect(flow["failure"]?["provider"]?["code"] == "GPE-2206")
    }
  }

  @Test("flow.start of GoPay verify refuses the param featureId")
  func featureID() throws {
    let start = GoPayFixture.start("none", "t", "corr-5678", "req-1", more: ["featureId": "x"])
    let error = try fixture.app.error(of: "flow.start", start)
    #expect(error["code"] == -32602)
    #expect(error["data"]?["field"]?.stringValue?.hasSuffix("featureId") == true)
  }

  @Test(
    "GoPay verify's requestId is shown in the step, is the partnerSessionId and cannot be reused")
  func requestID() throws {
    let asked = try fixture.verify(token: "alice-short-term", requestID: "req-1")
    #expect(asked["requestId"] == "req-1" && asked["step"]?["requestId"] == "req-1")
    let page = try fixture.submit(GoPayFixture.exchanged(), to: asked)
    #expect(try fixture.submissions().first?["partnerSessionId"] == "req-1")
    #expect(
      try fixture.app.reason(
        of: "flow.start", GoPayFixture.start("none", "alice-long-term", "corr-5678", "req-1"))
        == "request_id_reused")
    #expect(try fixture.handIn(page)["status"] == "succeeded")
  }

  @Test("GoPay verify with exchange and a token gets an auth code without a log-in page")
  func exchangeWithToken() throws {
    let asked = try fixture.verify(token: "alice-short-term")
    let page = try fixture.submit(GoPayFixture.exchanged(), to: asked)
    let end = try fixture.handIn(page)
    #expect(try fixture.states(of: end) == ["authCode", "waitAck", "kyc", "submitted"])
    #expect(try fixture.requests("authCodePage") == 0)
  }

  @Test("GoPay verify without an exchange and without a token fails with GPE-2206")
  func noneWithoutToken() throws {
    #expect(try fixture.verify("none").failure == ["invalid_request", "GPE-2206", nil])
  }

  @Test("GoPay's exchangeCredential step stays until it gets a success or a failure (GPE-2208)")
  func handler() throws {
    let asked = try fixture.verify(token: "alice-short-term")
    #expect(asked["step"]?["credential"]?["type"] == "authCode")
    for _ in 0..<2 { #expect(try fixture.again().flow(asked)["step"] == asked["step"]) }
    #expect(try fixture.submit(GoPayFixture.exchanged(), to: asked)["state"] == "kyc")
    let other = try fixture.verify(token: "alice-short-term")
    let failed = try fixture.submit(GoPayFixture.failed("no"), to: other)
    #expect(failed["failure"]?["provider"]?["code"] == "GPE-2208")
    #expect(failed["failure"]?["message"] == "no")
  }

  @Test("a second GoPay exchange answer is a conflict; a blank userCorrelationId is GPE-2208")
  func once() throws {
    let asked = try fixture.verify(token: "alice-short-term")
    _ = try fixture.submit(GoPayFixture.exchanged(), to: asked)
    #expect(try fixture.refusal(GoPayFixture.exchanged(), to: asked).0 == "conflict")
    let other = try fixture.verify(token: "alice-short-term")
    let end = try fixture.submit(GoPayFixture.exchanged(" "), to: other)
    #expect(end["failure"]?["provider"]?["code"] == "GPE-2208")
  }

  @Test("a GoPay verify result has the submissionId, the metadata and the account")
  func result() throws {
    let end = try fixture.verified()
    let result = try #require(end["result"])
    #expect(result["submissionId"]?.stringValue?.hasPrefix("sub_") == true)
    #expect(result["metadata"] == ["status": "SUBMITTED"])
    #expect(result["account"]?.stringValue?.hasPrefix("acc_") == true)
    #expect(try fixture.requests("currentSubmission") == 0)
  }
}
