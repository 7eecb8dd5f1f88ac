import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The seed's usage notes, at the socket; those about threads and references are UsherKit's, and are
/// shown with the seed's example.
@Suite("The usage notes of Verify with GoPay", .mayBlock, .serialized, .timeLimit(.minutes(10)))
struct GoPayUsageTests {
  private let scene: GoPayScene

  init() throws { scene = try GoPayScene() }

  // MARK: FeatureRequest

  private static let blanks = ["", " ", "\t\n ", "\u{A0}\u{2003}"]

  @Test("a blank requestId is not refused but told as GPE-2206, and nobody is asked anything")
  func blankRequestID() throws {
    for id in Self.blanks {
      for receiver in ["exchange", "none"] {
        var start = GoPayScene.start(receiver, "alice-long-term")
        start["requestId"] = .string(id)
        try expectMissing(scene.app.flow(in: scene.app.call("flow.start", start)))
      }
    }
    #expect(try scene.allRequests() == 0)
  }

  @Test("a requestId that is not there likewise, and none of these is remembered")
  func noRequestID() throws {
    for _ in 0..<2 {
      try expectMissing(scene.verify("none", token: "alice-long-term", requestID: ""))
    }
    #expect(try scene.allRequests() == 0)
  }

  @Test("a blank userCorrelationId is told as GPE-2206, and nobody is asked anything")
  func blankPerson() throws {
    for id in Self.blanks {
      for receiver in ["exchange", "none"] {
        try expectMissing(scene.verify(receiver, token: "alice-long-term", person: id))
      }
    }
    #expect(try scene.allRequests() == 0)
  }

  @Test("what no header can carry is told as GPE-2206 as well: it is not sent, not even in part")
  func unsendable() throws {
    let long = String(repeating: "x", count: 4097)
    for odd in ["a b", "\u{FC}", "a\r\nX-Evil: 1", "a\u{0}", long] {
      try expectMissing(scene.verify("none", token: odd))
      try expectMissing(scene.verify("none", token: "alice-long-term", person: odd))
      try expectMissing(scene.verify("none", token: "alice-long-term", requestID: odd))
    }
    for blank in ["", " "] { try expectMissing(scene.verify("none", token: blank)) }
    #expect(try scene.allRequests() == 0)
  }

  private func expectMissing(_ flow: JSONValue) throws {
    #expect(flow["status"] == "failed", "\(flow.text)")
    #expect(flow.failure == ["invalid_request", "GPE-2206", nil])
    #expect(flow["failure"]?["title"] == "Required field missing")
    #expect(flow["failure"]?["retryable"] == false)
  }

  @Test("requestId is used for correlation: the handler and GoPay's capture get it as it is")
  func correlation() throws {
    let id = "Req~\(UUID().uuidString)"
    let asked = try scene.verify(token: "alice-short-term", requestID: id)
    #expect(asked["step"]?["requestId"] == .string(id))
    _ = try scene.submit(GoPayScene.exchanged(), to: asked)
    #expect(try scene.submissions().first?["partnerSessionId"] == .string(id))
  }

  @Test("a requestId must be fresh for every verify: used before, in whatever way it ended")
  func reused() throws {
    let cancelled = try scene.atCapture(requestID: "req-1")
    _ = try scene.cancel(cancelled)
    let failed = try scene.verify("none", token: "expired-token", requestID: "req-2")
    #expect(failed["status"] == "failed")
    let done = try scene.verified(requestID: "req-3")
    let active = try scene.atCapture(requestID: "req-4")
    let before = try scene.requests("temporaryToken")
    for (id, flow) in [
      ("req-1", cancelled), ("req-2", failed), ("req-3", done), ("req-4", active),
    ] {
      let error = try scene.app.error(
        of: "flow.start", GoPayScene.start("none", "alice-long-term", "corr-5678", id))
      #expect(error["data"]?["reason"] == "request_id_reused")
      #expect(error["data"]?["flow"] == flow["id"])
    }
    #expect(try scene.requests("temporaryToken") == before && scene.requests("authCode") == 0)
    #expect(try scene.submissions().count == 3)
  }

  @Test("… also when the daemon was killed and started again")
  func reusedAfterRestart() throws {
    let scene = try GoPayScene(limits: "request_id_days = 1")
    let done = try scene.verified(requestID: "req-1")
    try scene.daemon.restart()
    let error = try scene.again().app.error(
      of: "flow.start", GoPayScene.start("none", "alice-long-term", "corr-5678", "req-1"))
    #expect(error["data"]?["reason"] == "request_id_reused")
    #expect(error["data"]?["flow"] == done["id"])
    // Each is compared whole, byte by byte.
    #expect(try scene.again().atCapture(requestID: "req-1x")["status"] == "active")
    #expect(try scene.again().atCapture(requestID: "Req-1")["status"] == "active")
  }

  @Test("featureId is reserved: set, it is refused, and nothing is remembered")
  func featureID() throws {
    let start = GoPayScene.start(
      "none", "alice-long-term", "corr-5678", "req-1", more: ["featureId": "KTP_SCAN"])
    let reply = try scene.app.reply(to: "flow.start", start)
    #expect(reply["error"]?["code"] == -32602, "\(reply.text)")
    #expect(reply["error"]?["data"]?["field"] == "params.featureId")
    #expect(try scene.atCapture(requestID: "req-1")["status"] == "active")
  }

  // MARK: CredentialReceiver

  @Test("exchange is for a short-term token: the code it gets is for the backend to redeem")
  func shortTerm() throws {
    let asked = try scene.verify(token: "short-term-linking-token")
    #expect(asked.stepType == "exchangeCredential", "\(asked.text)")
    #expect(asked["step"]?["credential"]?["type"] == "authCode")
    #expect(try scene.codeStates() == ["waiting"])
    #expect(try !scene.redeem(asked.authCode).isEmpty)
    #expect(try scene.codeStates() == ["redeemed"])
  }

  @Test("none is for a long-term token, and no auth code is exchanged")
  func longTerm() throws {
    let end = try scene.verified("long-term-token")
    #expect(try scene.states(of: end) == ["kyc", "submitted"])
    #expect(try scene.codeStates() == [])
    // Without a token there is nothing to go by.
    try expectMissing(scene.verify("none"))
  }

  @Test("completion is called exactly once: the second answer changes nothing")
  func once() throws {
    let asked = try scene.verify(token: "alice-short-term")
    let page = try scene.submit(GoPayScene.exchanged(), to: asked)
    for second in [GoPayScene.exchanged(), GoPayScene.failed("changed my mind")] {
      #expect(try scene.refusal(second, to: asked).0 == "conflict")
    }
    #expect(try scene.refusal(GoPayScene.exchanged(), to: page).0 == "unexpected_input")
    #expect(try scene.flow(asked) == page)
    let end = try scene.handIn(page)
    #expect(try scene.refusal(GoPayScene.exchanged(), to: end).0 == "flow_finished")
    #expect(try scene.flow(end) == end)
  }

  @Test("a handler that returns without calling completion ends with GPE-2209")
  func never() async throws {
    try await aside {
      let scene = try GoPayScene(provider: "exchange_seconds = 5")
      let asked = try scene.verify(token: "alice-short-term")
      let end = try scene.app.finished(asked)
      #expect(end.failure == ["exchange_timed_out", "GPE-2209", nil], "\(end.text)")
      #expect(end["failure"]?["title"] == "Exchange timed out")
      #expect(end["failure"]?["retryable"] == true)
      #expect(try scene.refusal(GoPayScene.exchanged(), to: asked).0 == "flow_finished")
      #expect(try scene.submissions() == [])
    }
  }

  // MARK: ExchangeResult

  @Test("success with the userCorrelationId of the request goes on to the capture")
  func success() throws {
    let asked = try scene.verify(token: "alice-short-term")
    let page = try scene.submit(GoPayScene.exchanged(), to: asked)
    #expect(page["state"] == "kyc" && page.completes == "poll", "\(page.text)")
  }

  @Test("failure stops the flow with GPE-2208, which propagates the reason")
  func failure() throws {
    let asked = try scene.verify(token: "alice-short-term")
    let end = try scene.submit(GoPayScene.failed("the backend is down for tonight"), to: asked)
    #expect(end.failure == ["exchange_failed", "GPE-2208", nil], "\(end.text)")
    #expect(end["failure"]?["message"] == "the backend is down for tonight")
    #expect(end["failure"]?["title"] == "Exchange failed")
    #expect(end["failure"]?["retryable"] == false)
    #expect(end["result"] == .null)
    #expect(try scene.submissions() == [])
  }
}
