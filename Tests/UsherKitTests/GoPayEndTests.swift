import JSONRPC
import Testing

@testable import UsherKit

// MARK: - Beginning

extension GoPayVerificationTests {
  @Test("a start whose answer was lost is made again, and its flow is this call's own")
  func lostStart() async throws {
    let daemon = GoPayDaemon(starts: [.goesOnUntold([.submitted])])
    // A flow that has ended is not taken up: it may be an earlier one's.
    #expect(try await verify(daemon).code == "GPE-2206")
    let active = GoPayDaemon(starts: [.goesOnUntold([.asking()])], inputs: [captured])
    let outcome = try await verify(active) { try await nextCall().completion(success) }
    #expect(outcome.id == "sub-1")
    #expect(active.methods == ["flow.start", "flow.start", "flow.submit"])
  }

  @Test("a flow that was there before is another's: GPE-2206, and it goes on")
  func earlierFlow() async throws {
    let daemon = GoPayDaemon(starts: [.goesOnUntold([.asking()])])
    #expect(try await verify(daemon, at: 0.001).code == "GPE-2206")
    #expect(daemon.methods == ["flow.start", "flow.start"])
  }

  @Test("the same requestId twice at a time is asked for once, and again when the first is over")
  func twiceAtATime() async throws {
    let daemon = GoPayDaemon(starts: [.goesOn([.asking()])], inputs: [captured])
    try await daemon.run { path in
      let manager = goPaySDK(path).getFeatureManager()
      async let first = manager.outcome(goPayRequest, exchange.receiver, screen)
      let asked = try await nextCall()
      #expect(await manager.outcome(goPayRequest, exchange.receiver, screen).code == "GPE-2206")
      #expect(daemon.methods == ["flow.start"])
      asked.completion(success)
      #expect(await first.id == "sub-1")
      #expect(await manager.outcome(goPayRequest, exchange.receiver, screen).code == "GPE-2206")
      #expect(daemon.methods == ["flow.start", "flow.submit", "flow.start"])
    }
  }

  @Test(
    "what the daemon refuses has its code",
    arguments: [
      (GoPayDaemon.error("not_found", field: "provider"), "GPE-2201"),
      (GoPayDaemon.error("permission_denied"), "GPE-2204"),
      (GoPayDaemon.error("internal_error"), "GPE-2205"),
      (GoPayDaemon.error("rate_limited"), "GPE-2215"),
    ])
  func refused(error: String, code: String) async throws {
    #expect(try await verify(GoPayDaemon(starts: [.refused(error)])).code == code)
  }

  @Test("a daemon that is not there is GPE-2203")
  func noDaemon() async throws {
    let manager = goPaySDK("/tmp/no-such-folder/s").getFeatureManager()
    #expect(await manager.outcome(goPayRequest, .none, screen).code == "GPE-2203")
  }
}

// MARK: - The end

extension GoPayVerificationTests {
  @Test("a daemon that goes away and does not come back is GPE-2203")
  func disconnect() async throws {
    let daemon = GoPayDaemon(starts: [.goesOn([.exchanged])], cancelled: nil)
    daemon.losesLooks(100)
    #expect(try await verify(daemon).code == "GPE-2203")
  }

  @Test("a flow that cannot be followed is cancelled, unless it had succeeded by then")
  func lastWord() async throws {
    let words: [(GoPayStanding, id: String?, code: String?)] = [
      (.cancelled, nil, "GPE-2203"), (.submitted, "sub-1", nil),
    ]
    for (end, id, code) in words {
      let daemon = GoPayDaemon(starts: [.goesOn([.exchanged])], cancelled: end)
      daemon.losesLooks(100)
      let outcome = try await verify(daemon)
      #expect(outcome.id == id && outcome.code == code)
      #expect(daemon.methods == ["flow.start", "flow.cancel"])
    }
  }

  @Test("an end without a submission is GPE-2205")
  func noSubmission() async throws {
    let empty = GoPayStanding(state: "submitted", status: "succeeded", step: "null", result: "{}")
    #expect(try await verify(GoPayDaemon(empty)).code == "GPE-2205")
  }

  @MainActor
  @Test("giving up cancels the flow: GPE-2207, once")
  func cancel() async throws {
    let daemon = GoPayDaemon(.asking())
    try await daemon.run { @MainActor path in
      let ear = GoPayEar()
      let verification = try goPaySDK(path).getFeatureManager().verify(
        presenter: screen, request: goPayRequest, credentialReceiver: exchange.receiver,
        callback: AnyFeatureCallback(wrapping: ear))
      let asked = try await nextCall()
      verification.cancel()
      verification.cancel()
      await verification.task.value
      asked.completion(success)
      #expect(ear.heard.map(\.error?.code) == ["GPE-2207"])
      verification.cancel()
    }
    #expect(daemon.methods == ["flow.start", "flow.cancel"])
  }

  @Test(
    "what a cancelled task's flow had come to is told",
    arguments: [
      (GoPayStanding.submitted as GoPayStanding?, "sub-1", nil),
      (.failed("exchange_timed_out", 2209), nil, "GPE-2209"), (nil, nil, "GPE-2207"),
    ] as [(GoPayStanding?, String?, String?)])
  func cancelledTooLate(end: GoPayStanding?, id: String?, code: String?) async throws {
    let daemon = GoPayDaemon(starts: [.goesOn([.asking()])], cancelled: end)
    try await daemon.run { path in
      let manager = goPaySDK(path).getFeatureManager()
      let task = Task { await manager.outcome(goPayRequest, exchange.receiver, screen) }
      _ = try await nextCall()
      task.cancel()
      #expect(await task.value.id == id)
      #expect(await task.value.code == code)
    }
  }

  @Test("a task that is cancelled while it begins leaves no flow behind")
  func cancelledWhileBeginning() async throws {
    let daemon = GoPayDaemon(starts: [.goesOnSlowly(.asking())])
    try await daemon.run { path in
      let manager = goPaySDK(path).getFeatureManager()
      let task = Task { await manager.outcome(goPayRequest, exchange.receiver, screen) }
      var methods = daemon.methodsHeard.makeAsyncIterator()
      #expect(await methods.next() == "flow.start")
      task.cancel()
      try await daemon.tellsAtLast()
      #expect(await task.value.code == "GPE-2207")
    }
    #expect(daemon.methods == ["flow.start", "flow.cancel"])
  }

  @Test("a task that is cancelled before it begins asks nothing")
  func cancelledBefore() async throws {
    let daemon = GoPayDaemon(starts: [])
    try await daemon.run { path in
      let manager = goPaySDK(path).getFeatureManager()
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return await manager.outcome(goPayRequest, .none, screen)
      }
      #expect(await task.value.code == "GPE-2207")
    }
    #expect(daemon.methods == [])
  }
}
