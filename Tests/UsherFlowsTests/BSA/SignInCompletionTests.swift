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

@Suite("A sign-in that is completed")
struct SignInCompletionTests {
  @Test("goes from the channel to its token, in each way")
  func course() throws {
    for way in Way.allCases {
      for stage in Leg.allCases {
        let driven = try stage.driven(way)
        #expect(driven.calls == [stage.call(way)])
        #expect(driven.state == stage.state && driven.isWaiting && driven.problem == nil)
      }
    }
  }

  @Test("gives the account its token, which goes out as it is, and leaves what there is")
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
      expected.reliance = .init(account: BSAParts.account, consents: [])
      #expect(completion.grant == expected)
      #expect(completion.grant?.totpSecret == nil, "the one that is there stays")
    }
  }

  @Test("says whether the person has proved to be there")
  func certified() throws {
    for way in Way.allCases {
      for isProved in [true, false] {
        let driven = try Driven.completing(way, isProved: isProved)
        #expect(driven.calls == [.complete(Driven.visit(way), isProved: isProved)])
      }
    }
  }

  @Test("without a channel has failed, and is cancelled")
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

  @Test("whose token is none has failed")
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

@Suite("A sign-in that the provider holds up")
struct HeldUpSignInTests {
  @Test("is asked for again ten times, then it is the end", arguments: [Int64(2010), 5019])
  func waits(code: Int64) throws {
    for stage in Leg.allCases {
      var driven = try stage.driven { $0.pollSeconds = 5 }
      for _ in 1...10 {
        driven.refused(code)
        #expect(driven.pause == .seconds(5))
        #expect(driven.state == stage.state && driven.problem == nil)
        driven.receive(.woken)
        #expect(driven.calls == [stage.call()])
      }
      driven.refused(code)
      #expect(driven.end == End(.providerRejected, String(code)))
      #expect(driven.failure?.retryable == (code == 2010))
      #expect(driven.cleared == [.cancel(Driven.visit(.push))])
    }
  }

  @Test("goes on when it is let")
  func goesOn() throws {
    for stage in Leg.allCases {
      var driven = try stage.driven()
      for _ in 1...10 {
        driven.refused(2010)
        driven.receive(.woken)
      }
      driven.said(stage.answer)
      #expect(driven.failure == nil)
      #expect((driven.completion != nil) == (stage == .fetch))
    }
  }

  @Test("begins to count anew when it has begun; completion and token share ten")
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

  @Test("that is refused is the end, and is cancelled where it is not over")
  func refused() throws {
    for stage in Leg.allCases {
      for entry in RTCode.table where ![0, 2010, 5019].contains(entry.code.number) {
        var driven = try stage.driven()
        let number = entry.code.number
        driven.refused(number)
        #expect(driven.end?.code == String(number))
        let isOver = [5000, 5001, 5011, 5018].contains(number)
        #expect(driven.failure?.retryable == (isOver || entry.isRetryable), "\(number)")
        #expect(driven.cleared == (isOver ? [] : [.cancel(Driven.visit(.push))]))
      }
      var unknown = try stage.driven()
      unknown.refused(4711)
      #expect(unknown.end == End(.providerRejected, "4711"))
      #expect(unknown.failure?.retryable == false)
      for (code, reason) in [
        (5000, .expired), (5001, .expired), (5011, .denied), (5018, .denied),
      ] as [(Int64, Failure.Reason)] {
        var driven = try stage.driven()
        driven.refused(code)
        #expect(driven.end == End(reason, String(code)))
      }
      var driven = try stage.driven()
      driven.answered(BSAParts.failing(404))
      #expect(driven.end == End(.providerProtocolError))
      #expect(driven.cleared == [.cancel(Driven.visit(.push))])
    }
  }

  @Test("is tried again where the provider is away, and in the end cancelled")
  func fault() throws {
    for stage in Leg.allCases {
      for outcome in [BSAParts.gone, BSAParts.lost, BSAParts.failing(503)] {
        var driven = try stage.driven()
        for pause in [1, 2, 4, 8, 16] {
          driven.answered(outcome)
          #expect(driven.pause == .seconds(pause))
          #expect(driven.state == stage.state)
          #expect(driven.problem?.reason == "provider_unreachable")
          driven.receive(.woken)
          #expect(driven.calls == [stage.call()])
        }
        driven.answered(outcome)
        #expect(driven.end == End(.providerUnreachable))
        #expect(driven.cleared == [.cancel(Driven.visit(.push))])
      }
      var asked = try stage.driven()
      asked.answered(BSAParts.failing(429, after: 44))
      #expect(asked.pause == .seconds(44))
      asked.receive(.woken)
      asked.refused(2010)
      #expect(asked.problem == nil, "it answers again")
    }
  }

  @Test("that nothing is in progress means, after a lost answer, that it was completed")
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
    #expect(mixed.calls == [Leg.fetch.call()], "the loss is not forgotten")
    var restarted = try Driven.completing()
    try restarted.restart()
    #expect(restarted.calls == [Leg.complete.call()])
    restarted.refused(5019)
    #expect(restarted.calls == [Leg.fetch.call()])
  }

  @Test("a loss outlives a restart, but not the call that it was of")
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

  @Test("each call may fail five times by itself")
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

  @Test("means nothing of the kind where no answer was lost")
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

  @Test("after a restart asks once more what it was asking")
  func restarts() throws {
    for stage in Leg.allCases {
      for way in Way.allCases {
        var paused = try stage.driven(way)
        paused.answered(BSAParts.gone)
        for var driven in [try stage.driven(way), paused] {
          try driven.restart()
          #expect(driven.calls == [stage.call(way)])
        }
      }
    }
  }
}
