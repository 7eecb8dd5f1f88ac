import JSONRPC
import Testing

@testable import UsherKit

// MARK: - Start

extension GoPayVerificationTests {
  @Test(
    "a GoPay start whose reply was lost is repeated, and its flow is taken up, also an ended one")
  func lostStart() async throws {
    let ended = GoPayDaemon(starts: [.advancesAndDisconnects([.submitted])])
    #expect(try await verify(ended).id == "sub-1")
    let active = GoPayDaemon(starts: [.advancesAndDisconnects([.asking()])], inputs: [captured])
    let outcome = try await verify(active) { try await nextCall().completion(success) }
    #expect(outcome.id == "sub-1")
    #expect(active.methods == ["flow.start", "flow.start", "flow.submit"])
  }

  @Test("after a lost start, a GoPay flow older than the call yields GPE-2205 and is left alone")
  func earlierFlow() async throws {
    let daemon = GoPayDaemon(starts: [.advancesAndDisconnects([.asking()])])
    #expect(try await verify(daemon, at: 0.001).code == "GPE-2205")
    #expect(daemon.methods == ["flow.start", "flow.start"])
  }

  @Test("a GoPay requestId in use or used before yields GPE-2205; the first case asks no daemon")
  func twiceAtATime() async throws {
    let daemon = GoPayDaemon(starts: [.advances([.asking()])], inputs: [captured])
    try await daemon.run { path in
      let manager = goPaySDK(path).getFeatureManager()
      async let first = manager.outcome(goPayRequest, exchange.receiver, screen)
      let asked = try await nextCall()
      #expect(await manager.outcome(goPayRequest, exchange.receiver, screen).code == "GPE-2205")
      #expect(daemon.methods == ["flow.start"])
      asked.completion(success)
      #expect(await first.id == "sub-1")
      #expect(await manager.outcome(goPayRequest, exchange.receiver, screen).code == "GPE-2205")
      #expect(daemon.methods == ["flow.start", "flow.submit", "flow.start"])
    }
  }

  @Test("a GoPay requestId that another object or program uses at the same time yields GPE-2205")
  func twiceAtATimeElsewhere() async throws {
    let asking = GoPayDaemon(starts: [.advances([.asking()])], inputs: [captured])
    try await asking.run { path in
      async let first = goPaySDK(path).getFeatureManager()
        .outcome(goPayRequest, exchange.receiver, screen)
      let asked = try await nextCall()
      let other = goPaySDK(path).getFeatureManager()
      #expect(await other.outcome(goPayRequest, exchange.receiver, screen).code == "GPE-2205")
      // Another program: the daemon names the first call's flow, which is no older than this call.
      let elsewhere = goPaySDK("/.\(path)").getFeatureManager()
      #expect(await elsewhere.outcome(goPayRequest, exchange.receiver, screen).code == "GPE-2205")
      #expect(asking.methods == ["flow.start", "flow.start"])
      asked.completion(success)
      #expect(await first.id == "sub-1")
    }
  }

  @Test(
    "each refusal of a GoPay start by the daemon has its GPE code",
    arguments: [
      (GoPayDaemon.error("not_found", field: "provider"), "GPE-2201"),
      (GoPayDaemon.error("permission_denied"), "GPE-2204"),
      (GoPayDaemon.error("internal_error"), "GPE-2205"),
      (GoPayDaemon.error("rate_limited"), "GPE-2215"),
    ])
  func refused(error: String, code: String) async throws {
    #expect(try await verify(GoPayDaemon(starts: [.refused(error)])).code == code)
  }

  @Test("GoPay verify without a running daemon ends with GPE-2203")
  func noDaemon() async throws {
    let manager = goPaySDK("/tmp/no-such-folder/s").getFeatureManager()
    #expect(await manager.outcome(goPayRequest, .none, screen).code == "GPE-2203")
  }
}

// MARK: - The end

extension GoPayVerificationTests {
  @Test("GoPay verify ends with GPE-2203 if the daemon does not come back")
  func disconnect() async throws {
    let daemon = GoPayDaemon(starts: [.advances([.exchanged])], cancelled: nil)
    daemon.disconnectReads(100)
    #expect(try await verify(daemon).code == "GPE-2203")
  }

  @Test("a GoPay flow that cannot be followed is cancelled, unless it has succeeded")
  func lastWord() async throws {
    let words: [(GoPayFlowSnapshot, id: String?, code: String?)] = [
      (.cancelled, nil, "GPE-2203"), (.submitted, "sub-1", nil),
    ]
    for (end, id, code) in words {
      let daemon = GoPayDaemon(starts: [.advances([.exchanged])], cancelled: end)
      daemon.disconnectReads(100)
      let outcome = try await verify(daemon)
      #expect(outcome.id == id && outcome.code == code)
      #expect(daemon.methods == ["flow.start", "flow.cancel"])
    }
  }

  @Test("a GoPay flow that succeeds without a submission ends with GPE-2205")
  func noSubmission() async throws {
    let empty = GoPayFlowSnapshot(
      state: "submitted", status: "succeeded", step: "null", result: "{}")
    #expect(try await verify(GoPayDaemon(empty)).code == "GPE-2205")
  }

  @MainActor
  @Test("cancelling a GoPay verification twice cancels the flow and reports GPE-2207 once")
  func cancel() async throws {
    let daemon = GoPayDaemon(.asking())
    try await daemon.run { @MainActor path in
      let recorder = GoPayCallbackRecorder()
      let verification = try goPaySDK(path).getFeatureManager().verify(
        viewController: screen, request: goPayRequest, credentialReceiver: exchange.receiver,
        callback: AnyFeatureCallback(wrapping: recorder))
      let asked = try await nextCall()
      verification.cancel()
      verification.cancel()
      await verification.task.value
      asked.completion(success)
      #expect(recorder.heard.map(\.error?.code) == ["GPE-2207"])
      verification.cancel()
    }
    #expect(daemon.methods == ["flow.start", "flow.cancel"])
  }

  @Test(
    "a cancelled GoPay task returns the outcome that its flow has already reached",
    arguments: [
      (GoPayFlowSnapshot.submitted as GoPayFlowSnapshot?, "sub-1", nil),
      (.failed("exchange_timed_out", 2209), nil, "GPE-2209"), (nil, nil, "GPE-2207"),
    ] as [(GoPayFlowSnapshot?, String?, String?)])
  func cancelledTooLate(end: GoPayFlowSnapshot?, id: String?, code: String?) async throws {
    let daemon = GoPayDaemon(starts: [.advances([.asking()])], cancelled: end)
    try await daemon.run { path in
      let manager = goPaySDK(path).getFeatureManager()
      let task = Task { await manager.outcome(goPayRequest, exchange.receiver, screen) }
      _ = try await nextCall()
      task.cancel()
      #expect(await task.value.id == id)
      #expect(await task.value.code == code)
    }
  }

  @Test("a GoPay task that is cancelled during its start cancels the new flow")
  func cancelledWhileBeginning() async throws {
    let daemon = GoPayDaemon(starts: [.advancesAndRepliesLater([.asking()])])
    try await daemon.run { path in
      let manager = goPaySDK(path).getFeatureManager()
      let task = Task { await manager.outcome(goPayRequest, exchange.receiver, screen) }
      var methods = daemon.methodsHeard.makeAsyncIterator()
      #expect(await methods.next() == "flow.start")
      task.cancel()
      try await daemon.sendDelayedReplies()
      #expect(await task.value.code == "GPE-2207")
    }
    #expect(daemon.methods == ["flow.start", "flow.cancel"])
  }

  @Test("a GoPay task that is cancelled before its start calls no method of the daemon")
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
