import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("The flow verifyContact of BSA")
struct VerifyContactTests {
  private func begun(
    _ channel: BSAContact.Channel = .email, _ target: String = BSAParts.email,
    _ change: (inout BSAVerifyContact.Params) -> Void = { _ in }
  ) throws -> DrivenContact {
    var params = BSAVerifyContact.Params(sendType: channel, sendTarget: target)
    change(&params)
    return try DrivenContact(params, BSAParts.origin())
  }

  @Test("BSA verifyContact accepts the configured clientKey and bundleIdentifier")
  func app() throws {
    let same = try begun {
      $0.clientKey = WireSecret("client-key-secret")
      $0.bundleIdentifier = "com.example.app"
    }
    #expect(same.calls == [.send(BSAParts.contact())])
  }

  @Test("another clientKey or bundleIdentifier fails BSA verifyContact before any call")
  func otherApp() throws {
    for key in ["", "client-key-secre", "client-key-secret ", "other-key-secret"] {
      let driven = try begun { $0.clientKey = WireSecret(key) }
      #expect(driven.end == End(.invalidRequest, "2000"))
      #expect(driven.failure?.message == "the clientKey is not the configured one")
      #expect(driven.failure?.retryable == false)
    }
    for package in ["", "com.example", "com.example.App"] {
      let driven = try begun { $0.bundleIdentifier = package }
      #expect(driven.end == End(.invalidRequest, "2000"))
      #expect(driven.failure?.message == "the bundleIdentifier is not the configured one")
    }
  }

  @Test("a clientKey parameter fails BSA verifyContact if the daemon has no client key")
  func keyNotSet() throws {
    var params = BSAVerifyContact.Params(sendType: .email, sendTarget: BSAParts.email)
    params.clientKey = WireSecret("client-key-secret")
    var origin = BSAParts.origin()
    origin.credential = CredentialCheck(nil)
    #expect(try DrivenContact(params, origin).end == End(.invalidRequest, "2000"))
  }

  @Test("an impossible sendTarget fails BSA verifyContact with a message that says what it must be")
  func targets() throws {
    let email = try begun(.email, " ")
    #expect(email.end == End(.invalidRequest, "2002"))
    #expect(email.failure?.message == "sendTarget must be an e-mail address")
    let number = try begun(.sms, "-")
    #expect(number.end == End(.invalidRequest, "2002"))
    #expect(number.failure?.message == "sendTarget must be a phone number")
    let both = try begun(.email, "") { $0.clientKey = WireSecret("other") }
    #expect(both.end?.code == "2000", "the client key is checked before the contact")
  }

  @Test("a BSA verifyContact with an impossible target fails the same way after a restart")
  func failedEarly() throws {
    var driven = try begun(.email, "")
    let failure = try #require(driven.failure)
    #expect(driven.state == "sending" && driven.isWaiting && driven.problem == nil)
    #expect(driven.receive(.woken) == .ignore)
    try driven.restart()
    #expect(driven.failure == failure)
  }

  @Test(
    "the key of a BSA verifyContact flow is its contact's key in every state",
    arguments: [(BSAContact.Channel.email, "ada@example.com"), (.sms, "+44 7700 900123")])
  func key(channel: BSAContact.Channel, target: String) throws {
    var driven = try begun(channel, target)
    let key = try BSAContact(channel, target).key
    #expect(driven.flow.view.key == key)
    driven.said()
    #expect(driven.flow.view.key == key)
    driven.type()
    #expect(driven.flow.view.key == key)
  }

  @Test(
    "BSA verifyContact returns a handle and leaves a handoff secret that is valid for 30 minutes")
  func handoffSecret() throws {
    for channel in BSAContact.Channel.allCases {
      var driven = try DrivenContact.verifying(channel)
      let end = now + .seconds(90)
      driven.verified(at: end)
      let completion = try #require(driven.completion)
      let handle = "dsp_0102030405060708090a0b0c0d0e0f10"
      #expect(completion.grant == nil)
      #expect(completion.result == ["disposeToken": .string(handle)])
      #expect(
        completion.handoffSecret
          == HandoffSecret(
            handle: handle, purpose: BSAParts.contact(channel).key, secret: BSAParts.dispose,
            expiresAt: end + .seconds(1800)))
    }
  }

  @Test("an abandoned verifyContact has nothing to clean up at BSA")
  func leftovers() throws {
    for driven in [try DrivenContact(), try .sent(), try .verifying()] {
      #expect(driven.flow.callsIfAbandoned.isEmpty)
    }
  }

  @Test("BSA verifyContact's outcome is unknown only during the call that sends the code")
  func dark() throws {
    var driven = try DrivenContact()
    #expect(driven.flow.isOutcomeUnknown)
    #expect(driven.flow.unknownOutcome == "a number may have been sent all the same")
    driven.answered(BSAParts.gone)
    #expect(!driven.flow.isOutcomeUnknown)
    for driven in [try DrivenContact.sent(), try .verifying()] {
      #expect(!driven.flow.isOutcomeUnknown)
    }
  }
}
