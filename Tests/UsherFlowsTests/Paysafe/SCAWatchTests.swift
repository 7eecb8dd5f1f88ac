import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

@Suite("Push and REDIRECT verifications of Paysafe sca")
struct SCAWatchTests {
  private let pending = WalletReplies.standing("PENDING")

  @Test("Paysafe sca waits for a push, whether it is a method or a channel (trap 4)")
  func push() throws {
    for verification in [
      PaysafeCall.Verification.push, .init(method: "BIOMETRIC", channel: "PUSH_NOTIFICATION"),
    ] {
      var driven = try DrivenSCA(wanting: verification)
      driven.answer(
        WalletReplies.challenge([
          "verification": ["method": "PUSH_NOTIFICATION", "channel": "PUSH_NOTIFICATION"]
        ]))
      #expect(driven.state == "challenged")
      #expect(driven.wait?.for == "the confirmation on your device")
      #expect(driven.wait?.pollAfterMs == 3000 && driven.wait?.takesConfirmation == nil)
      #expect(driven.last == .proceed([.wake(after: .seconds(3))]))
    }
  }

  @Test("Paysafe sca polls the event with an unchanged view until the event is settled")
  func polls() throws {
    for settled: JSONValue in ["VERIFIED", "REJECTED", "FAILED"] {
      var driven = try DrivenSCA.pushed()
      driven.receive(.woken)
      // The first poll tells which alternatives there are.
      driven.answer(pending)
      let view = driven.flow.view
      for _ in 0..<3 {
        #expect(driven.receive(.woken) == .proceed([.call(.event(WalletReplies.event))]))
        #expect(driven.receive(.woken) == .ignore)
        #expect(driven.flow.view == view)
        driven.answer(pending)
        #expect(driven.last == .proceed([.wake(after: .seconds(3))]))
        #expect(driven.flow.view == view)
        #expect(driven.answer(WalletReplies.standing("VERIFIED")) == .ignore)
      }
      driven.receive(.woken)
      driven.answer(WalletReplies.standing(settled))
      switch settled {
      case "VERIFIED": #expect(driven.result?["status"] == "VERIFIED")
      case "REJECTED": #expect(driven.failure?.reason == .denied)
      default: #expect(driven.failure?.reason == .attemptsExhausted)
      }
    }
  }

  @Test("a REDIRECT verification opens the provider's page, but only the event settles Paysafe sca")
  func redirect() throws {
    var driven = try DrivenSCA.redirected()
    #expect(driven.page?.url == WalletReplies.page && driven.page?.completes == .poll)
    #expect(driven.page?.redirectURI == WalletReplies.returnURL)
    driven.submit(.redirect(url: Secret(WalletReplies.returnURL + "?status=success")))
    #expect(driven.isAsking)
    driven.answer(pending)
    #expect(driven.page != nil && driven.result == nil)
    driven.receive(.woken)
    driven.answer(WalletReplies.standing("REJECTED"))
    #expect(driven.failure?.reason == .denied)
  }

  @Test("a return URL that claims a failure does not end Paysafe sca; the event decides")
  func liar() throws {
    var driven = try DrivenSCA.redirected()
    driven.submit(.redirect(url: Secret(WalletReplies.returnURL + "?status=fail")))
    driven.answer(WalletReplies.standing("VERIFIED"))
    #expect(driven.result?["status"] == "VERIFIED")
  }

  @Test("a return URL that arrives during an event request makes no second request of Paysafe sca")
  func askedAlready() throws {
    var driven = try DrivenSCA.redirected()
    driven.receive(.woken)
    driven.submit(.redirect(url: Secret(WalletReplies.returnURL)))
    #expect(driven.last == .proceed([]))
    driven.answer(WalletReplies.standing("VERIFIED"))
    #expect(driven.result != nil)
  }

  @Test(
    "Paysafe sca refuses a URL that does not match returnUrl and makes no request",
    arguments: [
      "", "x", "https://shop.example/", "https://shop.example/backdoor?status=success",
      "https://evil.example/back", "http://shop.example/back",
      "https://shop.example/back?" + String(repeating: "x", count: 32 * 1024),
    ])
  func foreign(url: String) throws {
    var driven = try DrivenSCA.redirected()
    let before = driven.flow
    driven.submit(.redirect(url: Secret(url)))
    #expect(driven.refusedField == "input.redirectURL" && driven.flow == before)
  }

  @Test(
    "an unsafe page URL ends Paysafe sca with provider_protocol_error",
    arguments: [
      "javascript:alert(1)", "http://wallet.example.com/", "/approve", "",
      "https://me@wallet.example.com/", "https://wallet.example.com/a b",
      "https://wallet.example.com/#é",
    ])
  func badPage(url: String) throws {
    #expect(try DrivenSCA.redirected(url).failure?.reason == .providerProtocolError)
  }

  @Test("Paysafe sca opens a page on loopback or with a fragment, and fails without a page")
  func goodPage() throws {
    for url in ["http://127.0.0.1:8080/approve", "https://wallet.example.com/app#/approve/1"] {
      #expect(try DrivenSCA.redirected(url).page?.url == url)
    }
    var none = try DrivenSCA(wanting: .redirect) { $0.returnUrl = WalletReplies.returnURL }
    none.answer(WalletReplies.challenge())
    #expect(none.failure?.reason == .providerProtocolError)
  }

  @Test("Paysafe sca polls less often and shows a problem while the provider is unreachable")
  func away() throws {
    var driven = try DrivenSCA.pushed()
    driven.receive(.woken)
    driven.answer(pending)
    let view = driven.flow.view
    for seconds in [6, 12, 24, 48, 60, 60, 60, 60] {
      driven.receive(.woken)
      driven.answer(WalletReplies.gone)
      #expect(driven.wake == .seconds(seconds))
      #expect(driven.problem?.reason == "provider_unreachable")
    }
    for outcome in [
      CallOutcome.reply(reply(text: "", status: 429, headers: ["retry-after": "90"])),
      .reply(reply(text: "", status: 503, headers: ["retry-after": "90"])),
    ] {
      driven.receive(.woken)
      driven.answer(outcome)
      #expect(driven.wake == .seconds(90))
    }
    driven.receive(.woken)
    driven.answer(WalletReplies.unsent)
    driven.receive(.woken)
    driven.answer(pending)
    #expect(driven.last == .proceed([.wake(after: .seconds(3))]))
    #expect(driven.flow.view == view)
    driven.receive(.woken)
    driven.answer(WalletReplies.gone)
    #expect(driven.wake == .seconds(6))
  }

  @Test("an unreadable event reply, a missing token or a missing event ends Paysafe sca")
  func ends() throws {
    for (outcome, reason) in [
      (.reply(reply(text: "<html>")), .providerProtocolError),
      (.unreadable(message: "too long"), .providerProtocolError),
      (.noToken(message: "dead"), .reauthenticationRequired),
      (.reply(WalletReplies.refusal(410, "EVENT_EXPIRED")), .expired),
      (.reply(WalletReplies.refusal(404, "SCA_EVENT_NOT_FOUND")), .providerRejected),
    ] as [(CallOutcome, Failure.Reason)] {
      var driven = try DrivenSCA.pushed()
      driven.receive(.woken)
      driven.answer(outcome)
      #expect(driven.failure?.reason == reason)
    }
  }

  @Test("Paysafe sca checks an expired push once more, then lets the customer choose again")
  func challengeExpiry() throws {
    var driven = try DrivenSCA.pushed()
    driven.clock = now + .seconds(301)
    driven.receive(.woken)
    var late = driven
    late.answer(WalletReplies.standing("VERIFIED"))
    #expect(late.result != nil)
    driven.answer(pending)
    #expect(driven.state == "choosing")
    #expect(driven.problem?.reason == "challenge_expired")
    #expect(driven.options.contains("PIN"))
  }

  @Test("an expired event ends Paysafe sca unless the last event request shows it as verified")
  func eventExpiry() throws {
    var driven = try DrivenSCA.pushed()
    driven.receive(.woken)
    driven.answer(pending)
    driven.clock = now + .seconds(900)
    driven.receive(.woken)
    var late = driven
    late.answer(WalletReplies.standing("VERIFIED"))
    #expect(late.result != nil)
    driven.answer(pending)
    #expect(driven.failure?.reason == .expired)
  }
}
