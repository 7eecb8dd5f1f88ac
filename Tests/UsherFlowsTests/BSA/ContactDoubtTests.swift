import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("A number that may have been sent")
struct SendingDoubtTests {
  @Test("is not counted where nothing was sent: five more tries, ever later")
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

  @Test("the provider says when to come back, within reason")
  func retryAfter() throws {
    for (asked, pause) in [(7, 7), (0, 1), (3000, 120)] {
      var driven = try DrivenContact()
      driven.answered(BSAParts.failing(429, after: asked))
      #expect(driven.pause == .seconds(pause))
    }
  }

  @Test("what was a problem is none when it was sent")
  func cleared() throws {
    var driven = try DrivenContact()
    driven.answered(BSAParts.gone)
    driven.receive(.woken)
    driven.said()
    #expect(driven.state == "otpSent" && driven.problem == nil)
  }

  @Test("a restart cuts the pause after a refused connection short")
  func restart() throws {
    var driven = try DrivenContact()
    driven.answered(BSAParts.gone)
    try driven.restart()
    #expect(driven.calls == [.send(BSAParts.contact())])
  }
}

@Suite("A number that may have been looked at")
struct CheckingDoubtTests {
  @Test("is typed once more where the answer is lost: it may be used up")
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

  @Test("is handed in again by itself where nothing was sent, up to five times")
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
    #expect(driven.end == End(.providerUnreachable))
  }

  @Test("429 is waited out as long as the provider says")
  func tooMany() throws {
    var driven = try DrivenContact.verifying()
    driven.answered(BSAParts.failing(429, after: 20))
    #expect(driven.pause == .seconds(20) && driven.state == "verifying")
    driven.receive(.woken)
    driven.verified()
    #expect(driven.completion != nil)
  }

  @Test("is not handed in when its time was over in between")
  func expired() throws {
    var driven = try DrivenContact.verifying()
    driven.answered(BSAParts.gone)
    driven.receive(.woken, at: now + .seconds(180))
    #expect(driven.last == .proceed([]) && driven.problem?.reason == "code_expired")
  }

  @Test("is typed once more after a restart: it is not kept")
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
    #expect(forgotten.problem == .interrupted, "a timer that comes first")
  }

  @Test("a restart changes nothing while the person has it")
  func sent() throws {
    var driven = try DrivenContact.sent()
    driven.type()
    driven.wrong()
    let view = driven.flow.view
    try driven.restart()
    #expect(driven.last == .ignore && driven.flow.view == view)
  }
}
