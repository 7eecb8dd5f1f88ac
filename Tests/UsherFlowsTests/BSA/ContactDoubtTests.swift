import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Verification codes of BSA whose sending failed")
struct SendingDoubtTests {
  @Test(
    "BSA verifyContact retries a code request that was never sent five times, with growing pauses")
  func unsent() throws {
    var driven = try DrivenContact()
    for pause in [1, 2, 4, 8, 16] {
      driven.answered(BSAParts.gone)
      #expect(driven.pause == .seconds(pause))
      driven.receive(.woken)
      #expect(driven.calls == [.send(BSAParts.contact())])
    }
    driven.answered(BSAParts.gone)
    #expect(driven.end == End(.providerUnreachable))
  }

  @Test("Retry-After sets the pause before a BSA code is sent again, from 1 to 120 seconds")
  func retryAfter() throws {
    for (asked, pause) in [(7, 7), (0, 1), (3000, 120)] {
      var driven = try DrivenContact()
      driven.answered(BSAParts.failing(429, after: asked))
      #expect(driven.pause == .seconds(pause))
    }
  }

  @Test("a successful send of a BSA code clears the problem of the attempt before it")
  func cleared() throws {
    var driven = try DrivenContact()
    driven.answered(BSAParts.gone)
    driven.receive(.woken)
    driven.said()
    #expect(driven.state == "otpSent" && driven.problem == nil)
  }

  @Test("a usherd restarted in the pause after a refused connection has the BSA code sent at once")
  func restart() throws {
    var driven = try DrivenContact()
    driven.answered(BSAParts.gone)
    try driven.restart()
    #expect(driven.calls == [.send(BSAParts.contact())])
  }
}

@Suite("Verification codes of BSA whose check failed")
struct CheckingDoubtTests {
  @Test("the user types the BSA code again if the reply to its check was lost")
  func lost() throws {
    for outcome in [BSAParts.lost, BSAParts.failing(500), BSAParts.failing(503, after: 9)] {
      var driven = try DrivenContact.sent()
      let step = driven.step
      driven.type()
      driven.answered(outcome)
      #expect(driven.last == .proceed([]))
      #expect(driven.state == "otpSent" && driven.step == step)
      #expect(driven.problem?.reason == "provider_unreachable")
      #expect(driven.problem?.provider == nil)
    }
  }

  @Test("a check that never reached BSA is repeated five times, and then by the user")
  func unsent() throws {
    var driven = try DrivenContact.verifying()
    for pause in [1, 2, 4, 8, 16] {
      driven.answered(BSAParts.gone)
      #expect(driven.pause == .seconds(pause))
      #expect(driven.state == "verifying" && driven.problem?.reason == "provider_unreachable")
      driven.receive(.woken)
      #expect(driven.calls == [.verify(BSAParts.contact(), number: BSAParts.number)])
    }
    driven.answered(BSAParts.gone)
    #expect(driven.state == "otpSent" && driven.problem?.reason == "provider_unreachable")
    driven.type()
    driven.verified()
    #expect(driven.completion != nil)
  }

  @Test("HTTP 429 delays the check of a BSA code for as long as Retry-After says")
  func tooMany() throws {
    var driven = try DrivenContact.verifying()
    driven.answered(BSAParts.failing(429, after: 20))
    #expect(driven.pause == .seconds(20) && driven.state == "verifying")
    driven.receive(.woken)
    driven.verified()
    #expect(driven.completion != nil)
  }

  @Test("a BSA code that expires during the retry pause is not checked again")
  func expired() throws {
    var driven = try DrivenContact.verifying()
    driven.answered(BSAParts.gone)
    driven.receive(.woken, at: now + .seconds(180))
    #expect(driven.last == .proceed([]) && driven.problem?.reason == "code_expired")
  }

  @Test("after a restart of usherd the user types a BSA code again that was being checked")
  func restarted() throws {
    var paused = try DrivenContact.verifying()
    paused.answered(BSAParts.gone)
    for var driven in [try DrivenContact.verifying(), paused] {
      try driven.restart()
      #expect(driven.last == .proceed([]))
      #expect(driven.state == "otpSent" && driven.problem == .interrupted)
      #expect(driven.enterCode?.expiresAt == now + .seconds(180))
      driven.type()
      driven.verified()
      #expect(driven.completion != nil)
    }
    var forgotten = paused
    forgotten.flow = try storedAndRead(paused.flow)
    forgotten.receive(.woken)
    #expect(forgotten.problem == .interrupted, "the timer fires before the code is typed")
  }

  @Test("a restart of usherd changes nothing while BSA verifyContact waits for the code")
  func sent() throws {
    var driven = try DrivenContact.sent()
    driven.type()
    driven.wrong()
    let view = driven.flow.view
    try driven.restart()
    #expect(driven.last == .ignore && driven.flow.view == view)
  }
}
