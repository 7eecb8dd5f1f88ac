import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Resends of a verification code (BSA)")
struct ResendTests {
  private func resending() throws -> DrivenContact {
    var driven = try DrivenContact.sent()
    driven.say(.resend, at: now + .seconds(31))
    return driven
  }

  @Test("a resend that BSA refuses is the problem not_sent, and the earlier code stays valid")
  func notSent() throws {
    for outcome in [BSAParts.refusal(3006), BSAParts.refusal(2012), BSAParts.failing(404)] {
      var driven = try resending()
      #expect(driven.state == "sending")
      driven.answered(outcome)
      #expect(driven.state == "otpSent" && driven.problem?.reason == "not_sent")
      driven.type()
      driven.verified()
      #expect(driven.completion != nil, "the earlier code is still accepted")
    }
  }

  @Test("a resend that BSA never gets becomes the problem not_sent after five retries")
  func away() throws {
    var driven = try resending()
    for _ in 1...5 {
      driven.answered(BSAParts.gone)
      driven.receive(.woken)
    }
    driven.answered(BSAParts.gone)
    #expect(driven.state == "otpSent" && driven.problem?.reason == "not_sent")
  }

  @Test("a refusal to send the first code ends BSA verifyContact in the state sending")
  func firstNotSent() throws {
    var driven = try DrivenContact()
    driven.refused(3006)
    #expect(driven.end == End(.providerRejected, "3006") && driven.failure?.retryable == true)
    #expect(
      driven.failure?.message
        == "the provider sends no more numbers to this contact at present")
    #expect(driven.state == "sending")
  }
}

@Suite("Final state and message of a BSA registration")
struct LastWordTests {
  @Test("a failed BSA reregisterDevice keeps the state in which it failed")
  func states() throws {
    var sending = try DrivenReregister()
    sending.said(["result": false])
    #expect(sending.failure != nil && sending.state == "sending")
    var proving = try DrivenReregister.sent()
    proving.type()
    proving.verified()
    proving.look()
    proving.say(.cancelLocalAuth)
    #expect(proving.failure != nil && proving.state == "localAuth")
  }

  @Test("a refusal after a lost replacement says that BSA may have taken this device")
  func replaced() throws {
    for isRestarted in [false, true] {
      var driven = try DrivenReregister.replacing()
      if isRestarted {
        try driven.restart()
      } else {
        driven.answered(BSAParts.lost)
        driven.receive(.woken)
      }
      #expect(driven.calls.map(\.name) == ["device"])
      driven.refused(3006)
      #expect(driven.end == End(.providerRejected, "3006"))
      #expect(driven.failure?.retryable == true)
      #expect(driven.failure?.message.contains("may have registered this device") == true)
    }
    var first = try DrivenReregister.replacing()
    first.refused(3006)
    #expect(first.failure?.retryable == false, "no reply was lost before the refusal")
  }

  @Test("an unreadable reply to a sign-up fails with a message that names BSA reregisterDevice")
  func unreadable() throws {
    for outcome in [BSAParts.failing(404), .unreadable(message: "a redirect")] {
      var driven = try DrivenRegister.signingUp()
      driven.answered(outcome)
      #expect(driven.end == End(.providerProtocolError))
      #expect(driven.failure?.message.contains("reregisterDevice") == true)
    }
  }
}

@Suite("BSA sign-ins that a site has asked for")
struct WishedTests {
  private typealias Driven = DrivenSignIn

  @Test("a BSA sign-in for a removed account fails after local authentication and is cancelled")
  func forgotten() throws {
    var driven = try Driven()
    driven.hasAccount = false
    driven.said(Driven.wish)
    driven.prove()
    #expect(driven.end == End(.denied))
    #expect(driven.cleared == [.cancel(Driven.visit(.push))])
  }

  @Test("a BSA sign-in asks each second for its account while that cannot be looked up")
  func unknown() throws {
    var driven = try Driven()
    driven.hasAccount = nil
    driven.said(Driven.wish)
    driven.prove()
    for _ in 1...3 {
      #expect(driven.pause == .seconds(1) && driven.state == "starting")
      driven.receive(.woken)
    }
    driven.hasAccount = true
    driven.receive(.woken)
    #expect(driven.calls.map(\.name) == ["auth"])
  }

  @Test("a site's request during a shown BSA code needs a new local authentication")
  func anyProof() throws {
    for age in [0, 100, 301] {
      var driven = try Driven.showing(.otp)
      driven.said(Driven.wish, at: now + .seconds(age))
      #expect(driven.state == "localAuth" && driven.calls.isEmpty, "\(age) s")
    }
  }
}

@Suite("Device ids of BSA")
struct BSADeviceTests {
  @Test("a BSA device id is a UUID that depends only on the user key and the installation")
  func ids() {
    let id = BSADevice.id("ada.1815", at: installation)
    #expect(id == BSADevice.id("ada.1815", at: installation))
    #expect(id != BSADevice.id("bob.1815", at: installation))
    #expect(id != BSADevice.id("ada.1815", at: "another"))
    let parts = id.split(separator: "-")
    #expect(parts.map(\.count) == [8, 4, 4, 4, 12])
    #expect(parts[2].first == "8" && "89ab".contains(parts[3].prefix(1)))
  }
}
