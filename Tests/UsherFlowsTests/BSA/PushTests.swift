import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Driven = DrivenSignIn

@Suite("BSA sign-in by push")
struct PushTests {
  @Test("BSA authenticate polls every poll_seconds while no site waits")
  func polls() throws {
    var driven = try Driven { $0.pollSeconds = 7 }
    for _ in 1...20 {
      driven.said(["isExist": false])
      #expect(driven.pause == .seconds(7))
      #expect(driven.state == "pending" && driven.problem == nil)
      driven.receive(.woken)
      #expect(driven.calls == [Driven.exists])
    }
  }

  @Test("BSA rtCodes 2010 and 5019 mean that no site waits yet, and polling continues")
  func notYet() throws {
    var driven = try Driven()
    driven.answered(BSAParts.gone)
    driven.receive(.woken)
    for _ in 1...15 {
      for code: Int64 in [2010, 5019] {
        driven.refused(code)
        #expect(driven.pause == .seconds(2) && driven.problem == nil)
        driven.receive(.woken)
      }
    }
  }

  @Test("any other BSA rtCode ends authenticate, except a retryable one, which is polled again")
  func refused() throws {
    for entry in RTCode.table where ![0, 2010, 5019].contains(entry.code.number) {
      var driven = try Driven()
      driven.refused(entry.code.number)
      guard !entry.isRetryable else {
        #expect(driven.state == "pending" && driven.problem?.message == entry.meaning)
        #expect(driven.pause == .seconds(1), "a retryable refusal only delays the next poll")
        continue
      }
      #expect(driven.end?.code == String(entry.code.number))
      #expect(driven.cleared.isEmpty)
    }
    var driven = try Driven()
    driven.refused(5001)
    #expect(driven.end == End(.expired, "5001"))
  }

  @Test("authenticate polls an unreachable BSA without limit, with pauses of up to 16 s")
  func fault() throws {
    for outcome in [BSAParts.gone, BSAParts.lost, BSAParts.failing(503)] {
      var driven = try Driven()
      for pause in [1, 2, 4, 8, 16, 16, 16] {
        driven.answered(outcome)
        #expect(driven.pause == .seconds(pause))
        #expect(driven.problem?.reason == "provider_unreachable" && driven.state == "pending")
        driven.receive(.woken)
        #expect(driven.calls == [Driven.exists])
      }
    }
  }

  @Test("Retry-After sets the pause, and the next successful BSA poll clears the problem")
  func recovered() throws {
    var driven = try Driven()
    for _ in 1...3 {
      for _ in 1...4 {
        driven.answered(BSAParts.failing(429, after: 33))
        #expect(driven.pause == .seconds(33))
        driven.receive(.woken)
      }
      driven.said(["isExist": false])
      #expect(driven.problem == nil)
      driven.receive(.woken)
    }
  }

  @Test("a BSA poll reply without isExist or clientKey fails with an error that names the member")
  func unusable() throws {
    let answers: [(JSONValue?, String)] = [
      (nil, "data.isExist"), ([:], "data.isExist"), (["isExist": "true"], "data.isExist"),
      (true, "data.isExist"), (["isExist": true], "data.clientKey"),
      (["isExist": true, "clientKey": ""], "data.clientKey"),
      (["isExist": true, "clientKey": 7], "data.clientKey"),
    ]
    for (data, member) in answers {
      var driven = try Driven()
      driven.said(data)
      #expect(driven.end == End(.providerProtocolError))
      #expect(driven.failure?.message.contains(member) == true)
    }
    var driven = try Driven()
    driven.answered(BSAParts.failing(404))
    #expect(driven.end == End(.providerProtocolError))
  }

  @Test(
    "BSA authenticate names the waiting site and starts the sign-in after local authentication")
  func wished() throws {
    var driven = try Driven()
    driven.said(Driven.wish)
    #expect(driven.state == "localAuth" && driven.calls.isEmpty)
    #expect(driven.questions == [.localAuth(.passcodeAvailability)])
    driven.look()
    #expect(
      driven.step
        == .localAuth(
          .init(
            methods: [.passcode],
            reason: "sign in to https://shop.example.com by bsa as ada.1815", scanning: false)))
    driven.say(.passcode(Secret("1234-passcode")))
    driven.answer(.checked(.accepted))
    #expect(driven.calls == [.start(Driven.visit(.push), userKey: BSAParts.userKey)])
    #expect(driven.state == "starting" && driven.isWaiting)
  }

  @Test("a BSA account without local authentication starts the sign-in without asking the user")
  func none() throws {
    var driven = try Driven(.push, knownBy: "NONE")
    driven.said(Driven.wish)
    #expect(driven.calls == [.start(Driven.visit(.push), userKey: BSAParts.userKey)])
  }

  @Test("BSA authenticate accepts no earlier local authentication and no changed fingerprints")
  func proof() throws {
    var driven = try Driven()
    driven.said(Driven.wish)
    driven.look([.init(method: .passcode, at: now)])
    #expect(driven.state == "localAuth" && driven.calls.isEmpty)
    driven = try Driven(.push, knownBy: "BIOMETRIC")
    driven.said(Driven.wish)
    driven.answer(.availability(.init(biometric: .ready(hasChanged: true), passcode: .ready)))
    #expect(driven.end == End(.localAuthFailed, "DOMAIN_STATE_CHANGED"))
    #expect(driven.failure?.provider?.error == "9006")
    #expect(driven.failure?.provider?.name == BSAParts.name)
  }

  @Test("a failed local authentication cancels the BSA sign-in that the site waits for")
  func notKnown() throws {
    let ends: [(FlowEvent<BSACall>, End)] = [
      (.input(.cancelLocalAuth), End(.cancelled, "USER_CANCEL")),
      (.input(.fallback), End(.localAuthFailed, "USER_FALLBACK")),
      (
        .answered(.localAuth(.scanned(.noReader))),
        End(.localAuthFailed, "BIOMETRIC_NOT_SUPPORT_HARDWARE")
      ),
    ]
    for (event, end) in ends {
      var driven = try Driven(.push, knownBy: "BIOMETRIC")
      driven.said(Driven.wish)
      driven.answer(.availability(.init(biometric: .ready(hasChanged: false), passcode: .ready)))
      driven.receive(event)
      #expect(driven.end == end)
      #expect(driven.cleared == [.cancel(Driven.visit(.push))])
    }
  }

  @Test("a restarted BSA authenticate polls at once, or asks for the local authentication again")
  func restarts() throws {
    var asking = try Driven()
    var waiting = asking
    waiting.said(["isExist": false])
    var troubled = asking
    troubled.answered(BSAParts.gone)
    for var driven in [asking, waiting, troubled] {
      try driven.restart()
      #expect(driven.calls == [Driven.exists])
    }
    try asking.restart()
    asking.said(Driven.wish)
    try asking.restart()
    #expect(asking.state == "localAuth" && asking.questions.count == 1)
  }
}
