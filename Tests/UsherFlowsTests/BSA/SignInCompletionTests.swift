import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Driven = DrivenSignIn
private typealias Way = BSAAuthenticate.Way

/// The three calls of a sign-in.
private enum Leg: String, CaseIterable {
  case start, complete, fetch

  func driven(
    _ way: Way = .push, settings: (inout BSASettings) -> Void = { _ in }
  ) throws -> Driven {
    switch self {
    case .start: return try .starting(way, settings: settings)
    case .complete: return try .completing(way, settings: settings)
    case .fetch:
      var driven = try Driven.completing(way, settings: settings)
      driven.said()
      return driven
    }
  }

  func call(_ way: Way = .push) -> BSACall {
    let visit = Driven.visit(way)
    return switch self {
    case .start: .start(visit, userKey: BSAParts.userKey)
    case .complete: .complete(visit, isProved: true)
    case .fetch: .result(visit, channel: Driven.channel)
    }
  }

  var answer: JSONValue? {
    switch self {
    case .start: ["channelKey": "channel-secret"]
    case .complete: nil
    case .fetch: "token-secret"
    }
  }

  var state: String { self == .start ? "starting" : "completing" }
}

@Suite("Completion of a BSA sign-in")
struct SignInCompletionTests {
  @Test("each kind of BSA sign-in opens a channel, completes, then fetches the token")
  func everyLeg() throws {
    for way in Way.allCases {
      for leg in Leg.allCases {
        let driven = try leg.driven(way)
        #expect(driven.calls == [leg.call(way)])
        #expect(driven.state == leg.state && driven.isWaiting && driven.problem == nil)
      }
    }
  }

  @Test("authenticate gives the account BSA's token unchanged and keeps the TOTP secret")
  func token() throws {
    for way in Way.allCases {
      var driven = try Driven.fetching(way)
      driven.said("token-secret")
      let completion = try #require(driven.completion)
      #expect(completion.result.isEmpty && completion.handoffSecret == nil)
      var expected = AccountGrant(
        subject: "ada.1815", label: "ada.1815",
        tokens: TokenSet(
          accessToken: Sealed(Secret("token-secret")), tokenType: "raw", expiresAt: nil, scope: ""))
      expected.isPartial = true
      #expect(completion.grant == expected)
      #expect(completion.preconditions == .init(account: BSAParts.account, consents: []))
      #expect(completion.grant?.totpSecret == nil, "the account keeps its stored TOTP secret")
    }
  }

  @Test("the completion tells BSA whether local authentication took place")
  func certified() throws {
    for way in Way.allCases {
      for isProved in [true, false] {
        let driven = try Driven.completing(way, isProved: isProved)
        #expect(driven.calls == [.complete(Driven.visit(way), isProved: isProved)])
      }
    }
  }

  @Test("a reply to BSA's start call without a usable channelKey fails and cancels the sign-in")
  func noChannel() throws {
    for data: JSONValue? in [
      nil, "x", [:], ["channelKey": ""], ["channelKey": 7], ["channelKey": "a b"],
    ] {
      var driven = try Leg.start.driven()
      driven.said(data)
      #expect(driven.end == End(.providerProtocolError))
      #expect(driven.failure?.message.contains("data.channelKey") == true)
      #expect(driven.cleared == [.cancel(Driven.visit(.push))])
    }
  }

  @Test("a reply without a usable token makes BSA authenticate fail")
  func noToken() throws {
    let long = JSONValue.string(String(repeating: "t", count: 8193))
    for data: JSONValue? in [nil, "", "a b", "tökén", 7, ["token": "t"], ["t"], true, long] {
      var driven = try Leg.fetch.driven()
      driven.said(data)
      #expect(driven.end == End(.providerProtocolError))
      #expect(driven.failure?.message.contains("token") == true)
    }
  }
}

@Suite("BSA sign-ins that BSA delays, refuses or does not answer")
struct HeldUpSignInTests {
  @Test("a call with BSA rtCode 2010 or 5019 is retried ten times", arguments: [Int64(2010), 5019])
  func waits(code: Int64) throws {
    for leg in Leg.allCases {
      var driven = try leg.driven { $0.pollSeconds = 5 }
      for _ in 1...10 {
        driven.refused(code)
        #expect(driven.pause == .seconds(5))
        #expect(driven.state == leg.state && driven.problem == nil)
        driven.receive(.woken)
        #expect(driven.calls == [leg.call()])
      }
      driven.refused(code)
      #expect(driven.end == End(.providerRejected, String(code)))
      #expect(driven.failure?.retryable == (code == 2010))
      #expect(driven.cleared == [.cancel(Driven.visit(.push))])
    }
  }

  @Test("a BSA sign-in call that succeeds after ten delays continues the sign-in")
  func goesOn() throws {
    for leg in Leg.allCases {
      var driven = try leg.driven()
      for _ in 1...10 {
        driven.refused(2010)
        driven.receive(.woken)
      }
      driven.said(leg.answer)
      #expect(driven.failure == nil)
      #expect((driven.completion != nil) == (leg == .fetch))
    }
  }

  @Test(
    "BSA may defer the start call ten times, and the completion and token calls ten times together")
  func counts() throws {
    var driven = try Leg.start.driven()
    for _ in 1...10 {
      driven.refused(5019)
      driven.receive(.woken)
    }
    driven.said(Leg.start.answer)
    for _ in 1...6 {
      driven.refused(2010)
      driven.receive(.woken)
    }
    driven.said()
    for _ in 1...4 {
      driven.refused(2010)
      try driven.restart()
      #expect(driven.calls == [Leg.fetch.call()])
    }
    driven.refused(2010)
    #expect(driven.end == End(.providerRejected, "2010"))
  }

  @Test("any other rtCode ends authenticate and cancels a sign-in that BSA has not ended")
  func refused() throws {
    for leg in Leg.allCases {
      for entry in RTCode.table where ![0, 2010, 5019].contains(entry.code.number) {
        var driven = try leg.driven()
        let number = entry.code.number
        driven.refused(number)
        #expect(driven.end?.code == String(number))
        let isOver = [5000, 5001, 5011, 5018].contains(number)
        #expect(driven.failure?.retryable == (isOver || entry.isRetryable), "\(number)")
        #expect(driven.cleared == (isOver ? [] : [.cancel(Driven.visit(.push))]))
      }
      var unknown = try leg.driven()
      unknown.refused(4711)
      #expect(unknown.end == End(.providerRejected, "4711"))
      #expect(unknown.failure?.retryable == false)
      for (code, reason) in [
        (5000, .expired), (5001, .expired), (5011, .denied), (5018, .denied),
      ] as [(Int64, Failure.Reason)] {
        var driven = try leg.driven()
        driven.refused(code)
        #expect(driven.end == End(reason, String(code)))
      }
      var driven = try leg.driven()
      driven.answered(BSAParts.failing(404))
      #expect(driven.end == End(.providerProtocolError))
      #expect(driven.cleared == [.cancel(Driven.visit(.push))])
    }
  }

  @Test("an unanswered BSA sign-in call is retried five times, then the sign-in is cancelled")
  func fault() throws {
    for leg in Leg.allCases {
      for outcome in [BSAParts.gone, BSAParts.lost, BSAParts.failing(503)] {
        var driven = try leg.driven()
        for pause in [1, 2, 4, 8, 16] {
          driven.answered(outcome)
          #expect(driven.pause == .seconds(pause))
          #expect(driven.state == leg.state)
          #expect(driven.problem?.reason == "provider_unreachable")
          driven.receive(.woken)
          #expect(driven.calls == [leg.call()])
        }
        driven.answered(outcome)
        #expect(driven.end == End(.providerUnreachable))
        #expect(driven.cleared == [.cancel(Driven.visit(.push))])
      }
      var asked = try leg.driven()
      asked.answered(BSAParts.failing(429, after: 44))
      #expect(asked.pause == .seconds(44))
      asked.receive(.woken)
      asked.refused(2010)
      #expect(asked.problem == nil, "a reply of BSA clears the problem")
    }
  }

  @Test("BSA rtCode 5019 after a completion's reply was lost means that it was completed")
  func lostCompletion() throws {
    for outcome in [BSAParts.lost, BSAParts.failing(500)] {
      var driven = try Driven.completing()
      driven.answered(outcome)
      driven.receive(.woken)
      driven.refused(5019)
      #expect(driven.calls == [Leg.fetch.call()] && driven.problem == nil)
    }
    var mixed = try Driven.completing()
    mixed.answered(BSAParts.lost)
    mixed.receive(.woken)
    mixed.answered(BSAParts.gone)
    mixed.receive(.woken)
    mixed.refused(2010)
    mixed.receive(.woken)
    mixed.refused(5019)
    #expect(mixed.calls == [Leg.fetch.call()], "the flow remembers the lost reply")
    var restarted = try Driven.completing()
    try restarted.restart()
    #expect(restarted.calls == [Leg.complete.call()])
    restarted.refused(5019)
    #expect(restarted.calls == [Leg.fetch.call()])
  }

  @Test("a lost completion of a BSA sign-in survives a restart; a lost start does not count as one")
  func lossStays() throws {
    var completing = try Driven.completing()
    completing.answered(BSAParts.lost)
    try completing.restart()
    completing.refused(5019)
    #expect(completing.calls == [Leg.fetch.call()])
    var starting = try Driven.starting(.push)
    starting.answered(BSAParts.lost)
    starting.receive(.woken)
    starting.said(Leg.start.answer)
    starting.refused(5019)
    #expect(starting.pause == .seconds(2) && starting.state == "completing")
  }

  @Test("each call of a BSA sign-in has five retries of its own")
  func triesAnew() throws {
    var driven = try Driven.starting(.push)
    for leg in Leg.allCases {
      for _ in 1...5 {
        driven.answered(BSAParts.gone)
        #expect(driven.pause != nil)
        driven.receive(.woken)
      }
      driven.said(leg.answer)
    }
    #expect(driven.completion != nil)
  }

  @Test("BSA rtCode 5019 for a completion is a delay if no reply was lost")
  func notLost() throws {
    var unsent = try Driven.completing()
    unsent.answered(BSAParts.gone)
    var waiting = try Driven.completing()
    waiting.refused(2010)
    for paused in [unsent, waiting] {
      for isRestarted in [false, true] {
        var driven = paused
        if isRestarted { try driven.restart() } else { driven.receive(.woken) }
        #expect(driven.calls == [Leg.complete.call()])
        driven.refused(5019)
        #expect(driven.pause == .seconds(2))
      }
    }
  }

  @Test("a restarted usherd repeats the call of a BSA sign-in that was in progress")
  func restarts() throws {
    for leg in Leg.allCases {
      for way in Way.allCases {
        var paused = try leg.driven(way)
        paused.answered(BSAParts.gone)
        for var driven in [try leg.driven(way), paused] {
          try driven.restart()
          #expect(driven.calls == [leg.call(way)])
        }
      }
    }
  }
}
