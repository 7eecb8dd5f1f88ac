import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Driven = DrivenIdentity

@Suite("The end of time at GoPay's capture page")
struct IdentityCaptureEndTests {
  private func atPage(
    until end: Duration? = nil, receiver: VerifyIdentity.CredentialReceiver = .none,
    settings: (inout GoPaySettings) -> Void = { _ in }
  ) throws -> Driven {
    var driven = try Driven(
      receiver, token: "linking-secret", provider: gopay(.app, settings),
      endsAt: now + .seconds(600)
    )
    if receiver == .exchange { driven.toKYC() }
    driven.answered(data: ["token": "capture-secret"])
    driven.answered(data: Self.page(until: end))
    return driven
  }

  private static func page(_ url: String = Driven.page, until end: Duration?) -> JSONValue {
    var page: JSONValue = ["submissionId": "sub-1", "url": .string(url)]
    if let end { page["expiresAt"] = .string((now + end).description) }
    return page
  }

  private static let second = "https://onekyc.example.com/c/2"
  private static let created: JSONValue = ["submissionId": "sub-1", "status": "CREATED"]

  /// Polls the capture, which GoPay reports as not submitted yet.
  private func poll(_ driven: inout Driven, at time: Duration) {
    driven.clock = now + time
    driven.receive(.woken)
    driven.answered(data: Self.created)
  }

  @Test("the capture of GoPay verify has capture_seconds from its beginning, whatever was before")
  func deadline() throws {
    var driven = try Driven(token: "linking-secret", endsAt: now + .seconds(600))
    #expect(driven.flow.endsAt == nil)
    driven.toExchange()
    #expect(driven.flow.endsAt == nil)
    driven.clock = now + .seconds(59)
    driven.receive(.input(.exchanged(["userCorrelationId": Secret("corr-5678")])))
    #expect(driven.state == "kyc" && driven.flow.endsAt == now + .seconds(59 + 1800))
    driven.clock = now + .seconds(500)
    driven.toPage()
    #expect(driven.flow.endsAt == now + .seconds(59 + 1800))
    try driven.restart()
    #expect(driven.flow.endsAt == now + .seconds(59 + 1800))
    #expect(try atPage(settings: { $0.captureSeconds = 60 }).flow.endsAt == now + .seconds(60))
  }

  @Test(
    "a GoPay capture that is not finished in time ends as that, with GPE-2212, not as cancelled")
  func tooLate() throws {
    let failure = try #require(try atPage(settings: { $0.captureSeconds = 90 }).flow.expiryFailure)
    #expect(failure.reason == .expired && failure.retryable)
    #expect(failure.provider?.code == "GPE-2212" && failure.title == "Verification failed")
    #expect(failure.message == "card and face were not submitted within 90 seconds")
    #expect(try Driven().flow.expiryFailure == nil)
  }

  @Test("a GoPay capture page that has expired is replaced by a fresh one for the same submission")
  func expired() throws {
    var driven = try atPage(until: .seconds(900))
    poll(&driven, at: .seconds(899))
    #expect(driven.last == .proceed([.wake(after: .seconds(3))]))
    #expect(driven.page?.url == Driven.page)
    poll(&driven, at: .seconds(900))
    guard case .capture(let session, token: Secret("capture-secret"))? = driven.calls.first else {
      Issue.record("the flow does not request a fresh page")
      return
    }
    #expect(session.requestID == "req-1" && driven.state == "kyc" && driven.page == nil)
    #expect(driven.flow.view.step == .wait(.init(for: "the capture page")))
    driven.answered(data: Self.page(Self.second, until: .seconds(1800)))
    #expect(driven.page?.url == Self.second)
    #expect(driven.last == .proceed([.wake(after: .seconds(3))]))
    driven.receive(.woken)
    driven.answered(data: ["submissionId": "sub-1", "status": "SUBMITTED"])
    #expect(driven.completion != nil)
  }

  @Test("a submission that arrives with the expiry of GoPay's capture page ends verify")
  func submittedAtTheEnd() throws {
    var driven = try atPage(until: .seconds(900))
    driven.clock = now + .seconds(901)
    driven.submit()
    #expect(driven.completion != nil)
  }

  @Test("a GoPay capture page without an expiry, or with an unreadable one, is never replaced")
  func noExpiry() throws {
    for expiry: JSONValue? in [nil, .null, 7, "soon"] {
      var driven = try Driven(.none, token: "linking-secret")
      driven.answered(data: ["token": "capture-secret"])
      var page = Self.page(until: nil)
      page["expiresAt"] = expiry
      driven.answered(data: page)
      poll(&driven, at: .seconds(1700))
      #expect(driven.page?.url == Driven.page)
    }
  }

  @Test(
    "a GoPay server with a wrong clock does not make the daemon replace the page more than once a minute"
  )
  func wrongClock() throws {
    var driven = try atPage(until: .seconds(-60))
    poll(&driven, at: .seconds(59))
    #expect(driven.page?.url == Driven.page)
    poll(&driven, at: .seconds(60))
    #expect(driven.page == nil)
    driven.answered(data: Self.page(Self.second, until: .seconds(-60)))
    poll(&driven, at: .seconds(119))
    #expect(driven.page?.url == Self.second)
  }

  @Test("an unreachable GoPay does not end verify while a fresh capture page is requested")
  func unreachable() throws {
    var driven = try atPage(until: .seconds(900))
    poll(&driven, at: .seconds(900))
    let call = driven.pending
    for seconds in [6, 12, 24] {
      driven.answered(Driven.gone)
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.problem?.reason == "provider_unreachable")
      driven.receive(.woken)
      #expect(driven.calls == call.map { [$0] })
    }
    try driven.restart()
    #expect(driven.calls == call.map { [$0] })
    driven.answered(data: Self.page(Self.second, until: nil))
    #expect(driven.page?.url == Self.second && driven.problem == nil)
  }

  @Test("a fresh GoPay capture page that is refused ends verify with the cause")
  func refused() throws {
    var driven = try atPage(until: .seconds(900))
    poll(&driven, at: .seconds(900))
    var other = driven
    driven.refused(403, 1403, "the merchant is not whitelisted")
    #expect(driven.code == "GPE-2204")
    #expect(driven.failure?.message == "the merchant is not whitelisted")
    // A capture token that has expired is replaced first.
    other.refused(401, 1401)
    other.answered(data: ["token": "second-secret"])
    guard case .capture(_, token: Secret("second-secret"))? = other.calls.first else {
      Issue.record("the flow does not request the page with the second token")
      return
    }
    other.answered(data: Self.page(Self.second, until: nil))
    #expect(other.page?.url == Self.second)
  }

  @Test("a GoPay callback is accepted while a fresh capture page is requested")
  func callback() throws {
    var driven = try atPage(until: .seconds(900))
    poll(&driven, at: .seconds(900))
    let callback = ProviderCallback(
      requestID: "req-1", authorization: Secret("linking-secret"),
      members: ["submissionId": "sub-1", "status": "COMPLETED", "result": "VALID"])
    #expect(driven.flow.validate(callback) { _ in nil } == .match)
    driven.receive(.calledBack(callback))
    #expect(driven.completion != nil)
  }
}
