import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenIdentity

@Suite("The capture of GoPay verify")
struct IdentityCaptureTests {
  private func driven(
    _ change: (inout VerifyIdentity.Params) -> Void = { _ in },
    settings: (inout GoPaySettings) -> Void = { _ in }
  ) throws -> Driven {
    try Driven(.none, token: "linking-secret", provider: gopay(.app, settings), change)
  }

  private func atPage(
    _ change: (inout VerifyIdentity.Params) -> Void = { _ in },
    settings: (inout GoPaySettings) -> Void = { _ in }
  ) throws -> Driven {
    var driven = try driven(change, settings: settings)
    driven.toPage()
    return driven
  }

  private static let created: JSONValue = ["submissionId": "sub-1", "status": "CREATED"]

  @Test("GoPay verify requests a capture token, then the page of a new capture session")
  func page() throws {
    var driven = try driven {
      $0.returnUrl = "https://partner.example/done"
      $0.locale = .en
    }
    driven.answered(data: ["token": "capture-secret"])
    guard case .capture(let session, token: Secret("capture-secret"))? = driven.calls.first else {
      Issue.record("the flow does not request a capture page")
      return
    }
    #expect(session.requestID == "req-1" && session.locale == .en)
    #expect(session.returnURL == "https://partner.example/done")
    // The next 16 random bytes as a version 4 UUID; the bytes before went to an unused log-in.
    #expect(session.id == "11121314-1516-4718-991a-1b1c1d1e1f20")
    driven.answered(data: ["submissionId": "sub-1", "url": .string(Driven.page)])
    #expect(driven.state == "kyc")
    #expect(
      driven.page
        == .init(
          url: Driven.page, redirectURI: "https://partner.example/done", completes: .poll))
    #expect(driven.last == .proceed([.wake(after: .seconds(3))]))
    driven.receive(.woken)
    #expect(driven.calls == [.submission(id: "sub-1", session, token: Secret("capture-secret"))])
  }

  @Test("GoPay verify polls the capture every poll_seconds, and its state does not change")
  func polling() throws {
    var driven = try atPage(settings: { $0.pollSeconds = 7 })
    #expect(driven.last == .proceed([.wake(after: .seconds(7))]))
    let before = driven.flow
    for _ in 0..<3 {
      driven.receive(.woken)
      #expect(driven.calls.count == 1 && driven.flow == before)
      driven.answered(data: Self.created)
      #expect(driven.last == .proceed([.wake(after: .seconds(7))]))
      #expect(driven.flow == before)
    }
  }

  @Test("a submission ends GoPay verify with an account that has the linking token")
  func submitted() throws {
    var driven = try atPage()
    driven.clock = now + .seconds(30)
    driven.submit()
    #expect(driven.state == "submitted" && driven.problem == nil)
    #expect(
      driven.completion?.result
        == ["submissionId": "sub-1", "metadata": ["status": "SUBMITTED"]])
    let grant = try #require(driven.grant)
    #expect(grant.subject == "corr-5678" && grant.label == "corr-5678" && !grant.keepAlive)
    #expect(grant.profile == nil)
    let tokens = try #require(grant.tokens)
    #expect(tokens.accessToken.unsealed() == Secret("linking-secret"))
    #expect(tokens.tokenType == "Bearer" && tokens.expiresAt == nil)
    #expect(tokens.refreshToken == nil && tokens.scope == "")
    let time = JSONValue.string((now + .seconds(30)).description)
    #expect(
      driven.kyc == [
        "requestId": "req-1", "submissionId": "sub-1", "status": "SUBMITTED", "result": nil,
        "reasonCode": nil, "submittedAt": time, "updatedAt": time,
      ])
    #expect(driven.receive(.woken) == .ignore)
  }

  @Test("GoPay verify without any linking token ends with an account without tokens")
  func noToken() throws {
    var driven = try Driven()
    driven.toKYC()
    driven.toPage()
    driven.submit()
    #expect(driven.grant?.subject == "corr-5678" && driven.grant?.tokens == nil)
  }

  @Test("GoPay verify ends with the linking token of the exchange, not with the given one")
  func handedIn() throws {
    var driven = try Driven(token: "given-secret")
    driven.toKYC(token: "handed-secret")
    driven.toPage()
    driven.submit()
    #expect(driven.grant?.tokens?.accessToken.unsealed() == Secret("handed-secret"))
  }

  @Test("each capture error fails GoPay verify with its own GPE code")
  func failed() throws {
    let cases: [(String?, String, Failure.Reason, Bool)] = [
      ("CAMERA", "GPE-2210", .providerRejected, true),
      ("PERMISSION", "GPE-2211", .providerRejected, true),
      ("NETWORK", "GPE-2203", .providerUnreachable, true),
      ("USER_CANCELLED", "GPE-2207", .denied, true),
      ("VERIFICATION", "GPE-2212", .providerRejected, true),
      ("HELP_CLICKED", "GPE-2213", .denied, true),
      ("SECURITY", "GPE-2214", .providerRejected, false),
      ("API", "GPE-2215", .providerRejected, true),
      ("ODD", "GPE-2205", .providerRejected, false),
      ("camera", "GPE-2205", .providerRejected, false), (nil, "GPE-2205", .providerRejected, false),
    ]
    for (error, code, reason, retryable) in cases {
      var driven = try atPage()
      driven.receive(.woken)
      driven.answered(data: [
        "submissionId": "sub-1", "status": "FAILED", "message": "No\u{1B}[1m",
        "error": error.map { .string($0) } ?? nil,
      ])
      #expect(driven.code == code)
      #expect(driven.failure?.reason == reason && driven.failure?.retryable == retryable)
      #expect(driven.failure?.provider?.error == error && driven.failure?.message == "No[1m")
    }
  }

  @Test(
    "a polled submission with ERROR fails GoPay verify, with GPE-2212 or the code of its reason")
  func endedWithError() throws {
    let cases: [(JSONValue, String)] = [
      (["status": "ERROR"], "GPE-2212"), (["status": "ERROR", "error": "CAMERA"], "GPE-2210"),
      (["status": "ERROR", "reasonCode": "NETWORK"], "GPE-2203"),
      (["status": "ERROR", "reasonCode": "BLUR"], "GPE-2212"),
    ]
    for (members, code) in cases {
      var driven = try atPage()
      driven.receive(.woken)
      var submission = members
      submission["submissionId"] = "sub-1"
      driven.answered(data: submission)
      #expect(driven.code == code && driven.completion == nil)
    }
  }

  /// `GoPayDataTests` covers each malformed value.
  @Test("an unreadable capture token, page or status fails GoPay verify with GPE-2215")
  func unreadable() throws {
    let other: JSONValue = ["submissionId": "sub-2", "status": "SUBMITTED"]
    let answers = [["token": "a b"], ["submissionId": "s", "url": "javascript:alert(1)"], other]
    for (stage, answer) in answers.enumerated() {
      var driven = try stage == 2 ? atPage() : driven()
      if stage == 1 { driven.answered(data: ["token": "capture-secret"]) }
      if stage == 2 { driven.receive(.woken) }
      driven.answered(data: answer)
      #expect(driven.code == "GPE-2215" && driven.failure?.reason == .providerProtocolError)
    }
    var driven = try atPage()
    driven.receive(.woken)
    driven.answered(.unreadable(message: "too long"))
    #expect(driven.code == "GPE-2215" && driven.completion == nil)
  }

  @Test("HTTP 401 to a linking token or a log-in's code fails GoPay verify with GPE-2202")
  func linkRefused() throws {
    var driven = try driven()
    driven.refused(401, 1401)
    #expect(driven.code == "GPE-2202" && driven.failure?.retryable == true)
    driven = try Driven()
    driven.toKYC()
    driven.refused(401, 1401)
    #expect(driven.code == "GPE-2202")
    driven = try Driven()
    driven.toKYC()
    driven.refused(409, 1601)
    #expect(driven.code == "GPE-2208" && driven.failure?.reason == .exchangeFailed)
  }

  @Test("a merchant that is not whitelisted fails GoPay verify with GPE-2204 at each call")
  func notWhitelisted() throws {
    var driven = try driven()
    driven.refused(403, 1403)
    #expect(driven.code == "GPE-2204")
    driven = try self.driven()
    driven.answered(data: ["token": "capture-secret"])
    driven.refused(403, 1403)
    #expect(driven.code == "GPE-2204")
    driven = try atPage()
    driven.receive(.woken)
    driven.refused(403, 1403)
    #expect(driven.code == "GPE-2204")
  }

  @Test("a refused GoPay capture token is replaced once, and the capture page stays")
  func replaced() throws {
    var driven = try atPage()
    let view = driven.flow.view
    driven.receive(.woken)
    let question = driven.pending
    driven.refused(401, 1401)
    let link = LinkingToken.token(Sealed(Secret("linking-secret")))
    #expect(driven.calls == [.temporaryToken(link, requestID: "req-1")])
    #expect(driven.flow.view == view)
    driven.answered(data: ["token": "second-secret"])
    guard case .submission("sub-1", let session, token: Secret("second-secret"))? = driven.pending,
      question == .submission(id: "sub-1", session, token: Secret("capture-secret"))
    else {
      Issue.record("the flow does not ask with the second token")
      return
    }
    #expect(driven.flow.view == view)
    var refused = driven
    refused.refused(401, 1401)
    #expect(refused.code == "GPE-2202")
    // A capture token that was accepted may be replaced again.
    driven.answered(data: Self.created)
    driven.receive(.woken)
    driven.refused(401, 1401)
    #expect(driven.calls == [.temporaryToken(link, requestID: "req-1")])
  }

  @Test("a GoPay capture token that is refused before the page is replaced once")
  func replacedEarly() throws {
    var driven = try driven()
    driven.answered(data: ["token": "capture-secret"])
    driven.refused(401, 1401)
    #expect(driven.failure == nil && driven.state == "kyc")
    driven.answered(data: ["token": "second-secret"])
    driven.refused(401, 1401)
    #expect(driven.code == "GPE-2202")
  }

  @Test("an unanswered call before the GoPay capture page is retried five times")
  func troubleEarly() throws {
    for hasToken in [false, true] {
      var driven = try driven()
      if hasToken { driven.answered(data: ["token": "capture-secret"]) }
      driven.waitOutFive()
      driven.answered(Driven.gone)
      #expect(driven.code == "GPE-2203")
    }
  }

  @Test("GoPay verify counts the retries of the page call apart from those of the token call")
  func tries() throws {
    var driven = try driven()
    driven.answered(Driven.gone)
    driven.receive(.woken)
    driven.answered(data: ["token": "capture-secret"])
    #expect(driven.problem == nil)
    driven.answered(Driven.gone)
    #expect(driven.last == .proceed([.wake(after: .seconds(1))]))
  }

  @Test("an unreachable capture does not end GoPay verify, which polls it less often")
  func troubleLate() throws {
    var driven = try atPage()
    driven.receive(.woken)
    for seconds in [6, 12, 24, 48, 60, 60, 60, 60] {
      driven.answered(Driven.gone)
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.problem?.reason == "provider_unreachable" && driven.page != nil)
      driven.receive(.woken)
    }
    driven.answered(.reply(reply([:], status: 503, headers: ["retry-after": "90"])))
    #expect(driven.last == .proceed([.wake(after: .seconds(90))]))
    driven.receive(.woken)
    // An hour would be too long for a user who waits.
    driven.answered(.reply(reply([:], status: 503, headers: ["retry-after": "3600"])))
    #expect(driven.last == .proceed([.wake(after: .seconds(120))]))
    driven.receive(.woken)
    driven.answered(data: Self.created)
    #expect(driven.problem == nil && driven.last == .proceed([.wake(after: .seconds(3))]))
    driven.receive(.woken)
    driven.answered(Driven.gone)
    #expect(driven.last == .proceed([.wake(after: .seconds(6))]))
  }

  @Test("a retry pause at GoPay's capture page is never shorter than poll_seconds")
  func longPoll() throws {
    var driven = try atPage(settings: { $0.pollSeconds = 60 })
    driven.receive(.woken)
    driven.answered(Driven.gone)
    #expect(driven.last == .proceed([.wake(after: .seconds(60))]))
  }

  @Test("a return to the returnUrl only makes GoPay verify poll at once; other URLs are refused")
  func cameBack() throws {
    var driven = try atPage { $0.returnUrl = "https://partner.example/done" }
    let before = driven.flow
    for url in ["https://partner.example/done", "https://partner.example/done?status=success#x"] {
      driven.receive(.input(.redirect(url: Secret(url))))
      #expect(driven.calls.count == 1 && driven.flow == before)
    }
    for url in ["https://partner.example/donesome", "https://evil.example/done", ""] {
      driven.receive(.input(.redirect(url: Secret(url))))
      #expect(driven.refusedField == "input.redirectURL")
    }
    driven.receive(.input(.back(.openURL)))
    #expect(driven.refusedField == "input.back")
    var nowhere = try atPage()
    #expect(nowhere.receive(.input(.redirect(url: Secret("https://x/")))) == .ignore)
  }

  @Test("a restarted usherd repeats GoPay's pending capture call, and the capture page stays")
  func restart() throws {
    var driven = try driven()
    let first = driven.calls
    try driven.restart()
    #expect(driven.calls == first)
    driven.answered(data: ["token": "capture-secret"])
    let second = driven.calls
    try driven.restart()
    #expect(driven.calls == second)
    driven.answered(data: ["submissionId": "sub-1", "url": .string(Driven.page)])
    let view = driven.flow.view
    try driven.restart()
    #expect(driven.flow.view == view)
    guard case .submission("sub-1", _, token: Secret("capture-secret"))? = driven.calls.first else {
      Issue.record("the flow does not ask about the submission")
      return
    }
    driven.answered(data: ["submissionId": "sub-1", "status": "SUBMITTED"])
    #expect(driven.completion != nil)
  }

  @Test("a cancelled or expired GoPay verify has GPE-2207")
  func givenUp() {
    for reason in [Failure.Reason.cancelled, .expired] {
      #expect(
        VerifyIdentity.providerErrorCode(for: reason, provider: gopayName)?.code == "GPE-2207")
      #expect(
        VerifyIdentity.providerErrorCode(for: reason, provider: gopayName)?.title
          == "User cancelled")
    }
    for reason in Failure.Reason.allCases where ![.cancelled, .expired].contains(reason) {
      #expect(VerifyIdentity.providerErrorCode(for: reason, provider: gopayName) == nil)
    }
  }
}
