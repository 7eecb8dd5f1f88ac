import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// An OIDC device flow under test.
struct DrivenDevice: AnsweredMachine {
  var flow: OIDCDevice
  private(set) var last: Answer<OIDCCall>
  private var moment = UsherFlowsTests.moment()

  init(account: KnownAccount? = nil, _ params: OIDCDevice.Params = .init()) throws {
    (flow, last) = try OIDCDevice.begin(
      params,
      FlowContext<OIDCSettings>(
        provider: try Provider(provider())!, account: account, requestID: "req-1"),
      at: &moment)
  }

  @discardableResult
  mutating func receive(
    _ event: FlowEvent<OIDCCall>, at time: Timestamp = now
  ) -> Answer<OIDCCall> {
    var moment = UsherFlowsTests.moment(time)
    last = flow.receive(event, at: &moment)
    return last
  }

  static let grant = reply([
    "device_code": "device-secret", "user_code": "ABCD-EFGH",
    "verification_uri": "https://id.example.com/device", "expires_in": 600, "interval": 5,
  ])

  static let poll = OIDCCall.devicePoll(deviceCode: Secret("device-secret"), metadata())

  mutating func toRequest(_ metadata: OIDCMetadata = metadata()) {
    receive(.discovered(.found(metadata)))
  }

  mutating func toPolling(_ metadata: OIDCMetadata = metadata()) {
    toRequest(metadata)
    granted()
  }

  mutating func granted() {
    if let call = calls.first { receive(.called(call, .reply(Self.grant))) }
  }

  /// Wakes the flow and answers its poll with this outcome.
  @discardableResult
  mutating func polled(_ outcome: CallOutcome) -> Answer<OIDCCall> {
    receive(.woken)
    if let call = calls.first { receive(.called(call, outcome)) }
    return last
  }

  @discardableResult
  mutating func polled(_ error: JSONValue) -> Answer<OIDCCall> {
    polled(.reply(reply(["error": error], status: 400)))
  }
}

@Suite("The OIDC device flow")
struct DeviceTests {
  @Test("the device flow shows a code, polls, verifies the ID token, reads userinfo and completes")
  func way() throws {
    var driven = try DrivenDevice()
    #expect(driven.last == .proceed([.discover]))
    driven.toRequest()
    let scope = "openid profile offline_access"
    #expect(driven.last == .proceed([.call(.deviceAuthorization(scope: scope, metadata()))]))
    driven.granted()
    #expect(driven.last == .proceed([.wake(after: .seconds(5))]))
    #expect(
      driven.flow.view.step
        == .displayCode(
          .init(
            userCode: "ABCD-EFGH", verificationURI: "https://id.example.com/device",
            expiresAt: now + .seconds(600))))
    #expect(driven.receive(.woken) == .proceed([.call(DrivenDevice.poll)]))
    driven.receive(.called(DrivenDevice.poll, .reply(tokenReply())))
    #expect(driven.last == .proceed([.verifyIDToken(idToken, metadata: metadata())]))
    driven.receive(.idTokenVerified(.genuine(payload: claims(nonce: nil).encoded())))
    let call = try #require(driven.calls.first)
    driven.receive(.called(call, .reply(reply(["sub": "u-1"]))))
    #expect(driven.completion?.grant?.subject == "u-1")
  }

  @Test("the device flow polls every 5 s with an unchanged view while authorization is pending")
  func pending() throws {
    var driven = try DrivenDevice()
    driven.toPolling()
    let view = driven.flow.view
    for _ in 0..<3 {
      #expect(driven.polled("authorization_pending") == .proceed([.wake(after: .seconds(5))]))
      #expect(driven.flow.view == view)
    }
  }

  @Test(
    "the device flow classifies the reply to a poll by its HTTP status and its error code",
    arguments: [
      (400, "authorization_pending", .proceed([.wake(after: .seconds(5))])),
      (428, "authorization_pending", .proceed([.wake(after: .seconds(5))])),
      (200, "authorization_pending", .proceed([.wake(after: .seconds(5))])),
      (400, "slow_down", .proceed([.wake(after: .seconds(10))])),
      (429, "slow_down", .proceed([.wake(after: .seconds(10))])),
      (403, "access_denied", .fail(.denied(word("access_denied")))),
      (400, "expired_token", .fail(.expired(word("expired_token")))),
      (400, "invalid_grant", .fail(.rejected(word("invalid_grant")))),
      (401, "invalid_client", .fail(.rejected(word("invalid_client")))),
      (500, "slow_down", .proceed([.wake(after: .seconds(10))])),
    ] as [(Int, String, Answer<OIDCCall>)])
  func classified(status: Int, error: String, expected: Answer<OIDCCall>) throws {
    var driven = try DrivenDevice()
    driven.toPolling()
    let reply = reply(["error": .string(error)], status: status)
    #expect(driven.polled(.reply(reply)) == expected)
  }

  @Test("every slow_down adds 5 seconds to the polling interval of the device flow for good")
  func slowDown() throws {
    var driven = try DrivenDevice()
    driven.toPolling()
    #expect(driven.polled("slow_down") == .proceed([.wake(after: .seconds(10))]))
    #expect(driven.polled("authorization_pending") == .proceed([.wake(after: .seconds(10))]))
    #expect(driven.polled("slow_down") == .proceed([.wake(after: .seconds(15))]))
  }

  @Test(
    "a lost poll doubles the device flow's interval up to 60 s and shows a problem until a reply")
  func timeouts() throws {
    var driven = try DrivenDevice()
    driven.toPolling()
    for seconds in [10, 20, 40, 60, 60] {
      driven.polled(.unreachable(message: "gone", sent: true))
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.flow.view.problem == .unreachable("gone"))
    }
    #expect(driven.polled("authorization_pending") == .proceed([.wake(after: .seconds(60))]))
    #expect(driven.flow.view.problem == nil)
    #expect(driven.polled("slow_down") == .proceed([.wake(after: .seconds(65))]))
    driven.polled(.reply(reply(text: "", status: 503)))
    #expect(driven.last == .proceed([.wake(after: .seconds(65))]))
  }

  @Test(
    "an OAuth error in a poll's reply ends the device flow with the matching reason",
    arguments: [
      ("access_denied", .denied), ("expired_token", .expired), ("invalid_grant", .providerRejected),
      ("invalid_client", .providerRejected), ("brand_new", .providerRejected),
    ] as [(String, Failure.Reason)])
  func ends(code: String, reason: Failure.Reason) throws {
    var driven = try DrivenDevice()
    driven.toPolling()
    driven.polled(.string(code))
    #expect(driven.failure?.reason == reason)
    #expect(driven.failure?.provider == word(code))
  }

  @Test("an unreadable poll reply ends the device flow with provider_protocol_error")
  func unreadable() throws {
    for outcome in [CallOutcome.unreadable(message: "too long"), .reply(reply(text: "x"))] {
      var driven = try DrivenDevice()
      driven.toPolling()
      driven.polled(outcome)
      #expect(driven.failure?.reason == .providerProtocolError)
    }
  }

  @Test(
    "the device flow fails with expired_token instead of polling after the device code's expiry")
  func expiry() throws {
    var driven = try DrivenDevice()
    driven.toPolling()
    driven.receive(.woken, at: now + .seconds(600))
    #expect(driven.failure?.reason == .expired)
    #expect(driven.failure?.provider?.code == "expired_token")
  }

  @Test("the device flow sends one poll at a time and ignores the reply to any other poll")
  func onePoll() throws {
    var driven = try DrivenDevice()
    driven.toPolling()
    #expect(driven.receive(.called(DrivenDevice.poll, .reply(tokenReply()))) == .ignore)
    driven.receive(.woken)
    #expect(driven.receive(.woken) == .ignore)
    let other = OIDCCall.devicePoll(deviceCode: Secret("other"), metadata())
    #expect(driven.receive(.called(other, .reply(tokenReply()))) == .ignore)
  }

  @Test("the device flow repeats a lost request for a code after 1, 2, 4, 8 and 16 s, then fails")
  func requestRetries() throws {
    var driven = try DrivenDevice()
    driven.toRequest()
    let call = try #require(driven.calls.first)
    for seconds in [1, 2, 4, 8, 16] {
      driven.receive(.called(call, .unreachable(message: "gone", sent: true)))
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.receive(.woken) == .proceed([.call(call)]))
    }
    driven.receive(.called(call, .unreachable(message: "gone", sent: true)))
    #expect(driven.failure?.reason == .providerUnreachable)
  }

  @Test(
    "the device flow waits as long as Retry-After says before it repeats the request for a code")
  func retryAfter() throws {
    var driven = try DrivenDevice()
    driven.toRequest()
    let call = try #require(driven.calls.first)
    let busy = reply(text: "", status: 503, headers: ["retry-after": "30"])
    #expect(driven.receive(.called(call, .reply(busy))) == .proceed([.wake(after: .seconds(30))]))
  }

  @Test("a refused or unreadable reply to the request for a code ends the device flow")
  func requestRefused() throws {
    for (outcome, reason) in [
      (
        CallOutcome.reply(reply(["error": "invalid_client"], status: 401)),
        Failure.Reason.providerRejected
      ),
      (.reply(reply(["error": "invalid_scope"], status: 400)), .providerRejected),
      (.reply(reply(text: "x")), .providerProtocolError),
      (.unreadable(message: "too long"), .providerProtocolError),
    ] {
      var driven = try DrivenDevice()
      driven.toRequest()
      let call = try #require(driven.calls.first)
      driven.receive(.called(call, outcome))
      #expect(driven.failure?.reason == reason)
    }
  }

  @Test("the device flow fails if the metadata has no device authorization endpoint")
  func noEndpoint() throws {
    var driven = try DrivenDevice()
    driven.toRequest(metadata { $0.deviceAuthorizationEndpoint = nil })
    #expect(driven.failure?.reason == .providerProtocolError)
  }

  @Test("the device flow without an ID token takes the subject from userinfo and fails without one")
  func noIDToken() throws {
    let reply = tokenReply(["id_token": .some(nil)])
    let userinfo = OIDCCall.userinfo(accessToken: Secret("access-secret"), metadata())
    var driven = try DrivenDevice()
    driven.toPolling()
    driven.polled(.reply(reply))
    #expect(driven.last == .proceed([.call(userinfo)]))
    var failing = driven
    driven.receive(.called(userinfo, .reply(UsherFlowsTests.reply(["sub": "u-1"]))))
    #expect(driven.completion?.grant?.subject == "u-1")
    failing.receive(.called(userinfo, .unreadable(message: "too long")))
    #expect(failing.last == .fail(.protocolError("too long"), cleanUp: [revocation]))

    let account = KnownAccount(id: AccountID("acc_1"), subject: "u-9")
    var other = try DrivenDevice(account: account)
    other.toPolling()
    other.polled(.reply(reply))
    other.receive(.called(userinfo, .reply(UsherFlowsTests.reply(["sub": "u-1"]))))
    #expect(other.failure?.reason == .providerRejected)

    var nobody = try DrivenDevice()
    nobody.toPolling(metadata { $0.userinfoEndpoint = nil })
    nobody.polled(.reply(reply))
    #expect(nobody.failure?.reason == .providerProtocolError)
  }

  @Test("the device flow keeps its tokens and retries userinfo if the provider is unreachable")
  func awayForUserinfo() throws {
    let userinfo = OIDCCall.userinfo(accessToken: Secret("access-secret"), metadata())
    for outcome in [
      CallOutcome.unreachable(message: "gone", sent: true), .reply(reply([:], status: 500)),
      .reply(reply([:], status: 429)), .reply(reply([:], status: 408)),
    ] {
      var driven = try DrivenDevice()
      driven.toPolling()
      driven.polled(.reply(tokenReply(["id_token": .some(nil)])))
      for seconds in [1, 2, 4, 8, 16] {
        driven.receive(.called(userinfo, outcome))
        #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
        #expect(driven.flow.view.problem?.reason == "provider_unreachable")
        #expect(driven.receive(.called(userinfo, outcome)) == .ignore)
        #expect(driven.receive(.woken) == .proceed([.call(userinfo)]))
        #expect(driven.receive(.woken) == .ignore)
      }
      var failing = driven
      failing.receive(.called(userinfo, outcome))
      #expect(failing.failure != nil)
      driven.receive(.called(userinfo, .reply(reply(["sub": "u-1"]))))
      #expect(driven.completion?.grant?.subject == "u-1")
    }
  }

  @Test("a restored device flow continues in its state and keeps its polling interval")
  func resume() throws {
    var driven = try DrivenDevice()
    driven.flow = try storedAndRead(driven.flow)
    #expect(driven.receive(.resumed) == .proceed([.discover]))
    driven.toRequest()
    let request = driven.last
    driven.flow = try storedAndRead(driven.flow)
    #expect(driven.receive(.resumed) == request)
    driven.granted()
    driven.polled("slow_down")
    let view = driven.flow.view
    driven.receive(.woken)
    driven.flow = try storedAndRead(driven.flow)
    #expect(driven.receive(.resumed) == .proceed([.wake(after: .seconds(10))]))
    #expect(driven.flow.view == view)
    #expect(driven.receive(.woken) == .proceed([.call(DrivenDevice.poll)]))
  }

  @Test("the device flow requests a new code once if a lost reply may have spent the old one")
  func spent() throws {
    var driven = try DrivenDevice()
    driven.toPolling()
    driven.receive(.woken)
    driven.flow = try storedAndRead(driven.flow)
    driven.receive(.resumed)
    driven.polled("invalid_grant")
    let scope = "openid profile offline_access"
    #expect(driven.last == .proceed([.call(.deviceAuthorization(scope: scope, metadata()))]))
    driven.granted()
    #expect(driven.flow.view.step.kind == .displayCode)
    #expect(driven.flow.view.problem?.reason == "interrupted")
    driven.polled("authorization_pending")
    #expect(driven.flow.view.problem?.reason == "interrupted")
    driven.polled("invalid_grant")
    #expect(driven.failure?.reason == .providerRejected)
  }

  @Test("invalid_grant ends the device flow if a later poll found the code still pending")
  func unspent() throws {
    var driven = try DrivenDevice()
    driven.toPolling()
    driven.polled(.unreachable(message: "gone", sent: true))
    driven.polled("authorization_pending")
    driven.polled("invalid_grant")
    #expect(driven.failure?.reason == .providerRejected)
  }

  @Test("the device flow reports its cancellation as access_denied and its expiry as expired_token")
  func words() {
    #expect(OIDCDevice.providerErrorCode(for: .cancelled, provider: name)?.code == "access_denied")
    #expect(OIDCDevice.providerErrorCode(for: .expired, provider: name)?.code == "expired_token")
    #expect(OIDCDevice.providerErrorCode(for: .providerRejected, provider: name) == nil)
  }

  @Test("the device flow revokes tokens that arrive after it has ended")
  func cleanUp() {
    #expect(OIDCDevice.cleanUp(DrivenDevice.poll, .reply(tokenReply())) == [revocation])
  }
}
