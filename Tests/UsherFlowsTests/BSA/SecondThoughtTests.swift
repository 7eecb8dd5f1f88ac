import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("A number that is asked for once more")
struct ResendTests {
  private func resending() throws -> DrivenContact {
    var driven = try DrivenContact.sent()
    driven.say(.resend, at: now + .seconds(31))
    return driven
  }

  @Test("and not sent leaves the one before, and says why")
  func notSent() throws {
    for outcome in [BSAParts.refusal(3006), BSAParts.refusal(2012), BSAParts.failing(404)] {
      var driven = try resending()
      #expect(driven.state == "sending")
      driven.answered(outcome)
      #expect(driven.state == "otpSent" && driven.problem?.reason == "not_sent")
      driven.type()
      driven.verified()
      #expect(driven.completion != nil, "the number before is still good")
    }
  }

  @Test("of a provider that is away leaves the one before, in the end")
  func away() throws {
    var driven = try resending()
    for _ in 1...5 {
      driven.answered(BSAParts.gone)
      driven.receive(.woken)
    }
    driven.answered(BSAParts.gone)
    #expect(driven.state == "otpSent" && driven.problem?.reason == "not_sent")
  }

  @Test("without one before is the end, in the state in which it ends")
  func firstNotSent() throws {
    var driven = try DrivenContact()
    driven.refused(3006)
    #expect(driven.end == End(.providerRejected, "3006") && driven.failure?.retryable == true)
    #expect(driven.state == "sending")
  }
}

@Suite("A registration's last word")
struct LastWordTests {
  @Test("is where it stood: nobody takes a sign-up for sent that was not")
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

  @Test("of a replacement whose answer was lost says what may have become of it")
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
      #expect(driven.failure?.message.contains("may have taken this device") == true)
    }
    var first = try DrivenReregister.replacing()
    first.refused(3006)
    #expect(first.failure?.retryable == false, "nothing was lost")
  }

  @Test("after an answer that cannot be read says that the person may be registered")
  func unreadable() throws {
    for outcome in [BSAParts.failing(404), .unreadable(message: "a redirect")] {
      var driven = try DrivenRegister.signingUp()
      driven.answered(outcome)
      #expect(driven.end == End(.providerProtocolError))
      #expect(driven.failure?.message.contains("reregisterDevice") == true)
    }
  }
}

@Suite("A sign-in that a site has asked for")
struct WishedTests {
  private typealias Driven = DrivenSignIn

  @Test("is not begun for an account that was forgotten")
  func forgotten() throws {
    var driven = try Driven()
    driven.hasAccount = false
    driven.said(Driven.wish)
    driven.prove()
    #expect(driven.end == End(.denied))
    #expect(driven.cleared == [.cancel(Driven.visit(.push))])
  }

  @Test("while a number is shown wants the person again, whether the proof is young or old")
  func anyProof() throws {
    for age in [0, 100, 301] {
      var driven = try Driven.showing(.otp)
      driven.said(Driven.wish, at: now + .seconds(age))
      #expect(driven.state == "localAuth" && driven.calls.isEmpty, "\(age) s")
    }
  }
}

@Suite("A person's device")
struct BSADeviceTests {
  @Test("is a UUID, the same for ever, and another person's or installation's is another")
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
