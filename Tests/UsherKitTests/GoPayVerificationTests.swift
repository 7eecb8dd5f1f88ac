import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI

@testable import UsherKit

@Suite("GoPay verification with UsherKit", .timeLimit(.minutes(10)))
struct GoPayVerificationTests {
  let exchange = GoPayExchange()
  let screen = GoPayScreen()
  let success = ExchangeResult.success(userCorrelationId: "corr-5678")
  let captured = GoPayDaemon.Answer.advances([.exchanged, .capture, .submitted])

  /// Runs a verification together with `meanwhile` and returns the outcome.
  func verify(
    _ daemon: GoPayDaemon, _ request: FeatureRequest = goPayRequest, patience: Duration = .zero,
    at time: Double = 0, meanwhile: @escaping @Sendable () async throws -> Void = {}
  ) async throws -> Result<VerifyResult, FeatureError> {
    try await daemon.run { path in
      let manager = goPaySDK(path, patience: patience, at: time).getFeatureManager()
      return try await outcome(
        of: { await manager.outcome(request, exchange.receiver, screen) }, meanwhile: meanwhile)
    }
  }

  func nextCall() async throws -> GoPayExchange.Asked {
    var calls = exchange.calls.makeAsyncIterator()
    return try #require(await calls.next())
  }
}

// MARK: - Pages

extension GoPayVerificationTests {
  @Test(
    "a GoPay log-in that starts again presents its new page",
    arguments: ["loopback", "submit", "poll"])
  func anotherPage(completes: String) async throws {
    let daemon = GoPayDaemon(.page("https://snap.example/1", completes: completes))
    let outcome = try await verify(daemon) {
      var pages = screen.pages.makeAsyncIterator()
      #expect(await pages.next() == "https://snap.example/1")
      try await daemon.happens(
        .page("https://snap.example/2", completes: completes, problem: "interrupted"))
      #expect(await pages.next() == "https://snap.example/2")
      try await daemon.happens(.failed("denied", 2207))
    }
    #expect(outcome.code == "GPE-2207")
    #expect(screen.shown == ["https://snap.example/1", "https://snap.example/2"])
  }

  @Test("a GoPay page that comes again is presented once")
  func samePage() async throws {
    let page = "https://snap.example/1"
    let daemon = GoPayDaemon(.page(page))
    let outcome = try await verify(daemon) {
      var pages = screen.pages.makeAsyncIterator()
      #expect(await pages.next() == page)
      try await daemon.happens(.preparing)
      try await daemon.happens(.page(page))
      try await daemon.happens(.page(page, problem: "interrupted"))
      try await daemon.happens(.page("https://snap.example/2"))
      #expect(await pages.next() == "https://snap.example/2")
      try await daemon.happens(.submitted)
    }
    #expect(outcome.id == "sub-1")
    #expect(screen.shown == [page, "https://snap.example/2"])
  }

  @Test(
    "a GoPay page or code that was replaced before its turn is neither presented nor exchanged",
    arguments: [GoPayFlowSnapshot.logIn, .asking()])
  func replaced(snapshot: GoPayFlowSnapshot) async throws {
    let flow = try JSONDecoder().decode(Flow.self, from: Data(snapshot.flow("flw_1", 1).utf8))
    let verification = IdentityVerification(
      presenter: screen, receiver: GoPayExchange.answering(success),
      retryTiming: GoPaySDK.RetryTiming())
    let replaced = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await verification.answer(flow, nil)
    }
    #expect(try await replaced.value == nil)
    #expect(screen.shown.isEmpty)
  }

  @Test("an invalid GoPay page address ends with GPE-2205 and cancels the flow")
  func badPage() async throws {
    let daemon = GoPayDaemon(.page("https://[/"))
    #expect(try await verify(daemon).code == "GPE-2205")
    #expect(daemon.methods == ["flow.start", "flow.cancel"] && screen.shown.isEmpty)
  }

  @Test("GoPay verify sends the account, redirect URI, return URL and language to the daemon")
  func params() async throws {
    let request = FeatureRequest.Builder()
      .requestId("req-1").userCorrelationId("corr-5678").account("acc_1")
      .redirectURI("https://app.example/back").returnURL("https://app.example/done").build()
    let daemon = GoPayDaemon(.submitted)
    try await daemon.run { path in
      let manager = goPaySDK(path, language: .indonesian).getFeatureManager()
      #expect(await manager.outcome(request, .none, screen).id == "sub-1")
    }
    #expect(
      daemon.params(of: "flow.start").first?["params"] == [
        "userCorrelationId": "corr-5678", "credentialReceiver": "none", "account": "acc_1",
        "redirectURI": "https://app.example/back", "returnUrl": "https://app.example/done",
        "locale": "id",
      ])
  }
}

// MARK: - The redirect

extension GoPayVerificationTests {
  private func back() throws -> URL {
    try #require(URL(string: "https://app.example/back?authCode=1&state=1"))
  }

  @Test("GoPay handleRedirect finds the verification that accepts the redirect URL")
  func redirect() async throws {
    let login = GoPayFlowSnapshot.page("https://snap.example/1", completes: "submit")
    let daemon = GoPayDaemon(
      starts: [.advances([login]), .advances([login]), .advances([.capture])],
      inputs: [
        .refused(GoPayDaemon.error("invalid_input", field: "input.redirectURL")),
        .advances([.submitted]),
      ])
    try await daemon.run { path in
      let manager = goPaySDK(path).getFeatureManager()
      let first = Task { await manager.outcome(goPayRequest, .none, screen) }
      var methods = daemon.methodsHeard.makeAsyncIterator()
      #expect(await methods.next() == "flow.start")
      let others = ["req-2", "req-3"].map { id in
        Task {
          let request = FeatureRequest.Builder().requestId(id).userCorrelationId("c").token("t")
          return await manager.outcome(request.build(), .none, screen)
        }
      }
      for _ in others { #expect(await methods.next() == "flow.start") }
      try await manager.handleRedirect(url: try back())
      #expect(await first.value.id == "sub-1")
      for other in others { other.cancel() }
      for other in others { #expect(await other.value.code == "GPE-2207") }
    }
    #expect(
      daemon.params(of: "flow.submit").map { $0["flow"]?.stringValue ?? "" } == ["flw_2", "flw_1"])
    for submit in daemon.params(of: "flow.submit") {
      #expect(
        submit["input"] == [
          "type": "openURL", "redirectURL": .string(try back().absoluteString),
        ])
    }
  }

  @Test("GoPay handleRedirect throws GPE-2205 for a URL that no verification waits for")
  func nobodysRedirect() async throws {
    try await GoPayDaemon(starts: []).run { path in
      let error = await #expect(throws: FeatureError.self) {
        try await goPaySDK(path).getFeatureManager().handleRedirect(url: try back())
      }
      #expect(error?.code == "GPE-2205")
      #expect(error?.message == "no verification is waiting for this URL")
    }
  }
}

// MARK: - The exchange

extension GoPayVerificationTests {
  @Test("a repeated GoPay code is not exchanged again, before or after its answer")
  func sameCode() async throws {
    let daemon = GoPayDaemon(.asking(), inputs: [.advances([.asking(), .submitted])])
    let outcome = try await verify(daemon, patience: .seconds(10)) {
      let asked = try await nextCall()
      daemon.disconnectReads(3)
      try await daemon.happens(.asking(problem: "provider_unreachable"))
      asked.completion(success)
    }
    #expect(outcome.id == "sub-1")
    #expect(exchange.credentials == [.authCode(code: "code-1")])
  }

  @Test("another GoPay code is exchanged, and a late answer for the previous code has no effect")
  func anotherCode() async throws {
    let daemon = GoPayDaemon(.asking(), inputs: [captured])
    let outcome = try await verify(daemon) {
      let first = try await nextCall()
      try await daemon.happens(.asking("code-2"))
      let second = try await nextCall()
      first.completion(.success(userCorrelationId: "corr-of-code-1"))
      second.completion(success)
    }
    #expect(outcome.id == "sub-1")
    #expect(exchange.credentials == ["code-1", "code-2"].map { .authCode(code: $0) })
    let inputs = daemon.params(of: "flow.submit").map { $0["input"]?["success"] }
    #expect(inputs == [["userCorrelationId": "corr-5678"]])
  }

  @Test("a GoPay exchange answer that is refused ten times ends with GPE-2205")
  func refusedForever() async throws {
    let refusal = GoPayDaemon.Answer.refused(GoPayDaemon.error("invalid_input"))
    let daemon = GoPayDaemon(.asking(), inputs: Array(repeating: refusal, count: 10))
    let outcome = try await verify(daemon) { try await nextCall().completion(success) }
    #expect(outcome.code == "GPE-2205")
    #expect(daemon.params(of: "flow.submit").count == 10)
  }

  @Test(
    "a lost GoPay exchange answer is submitted again without another call of the handler",
    arguments: [
      GoPayDaemon.Answer.lost, .refused(GoPayDaemon.error("shutting_down")),
    ])
  func lostAnswer(loss: GoPayDaemon.Answer) async throws {
    let daemon = GoPayDaemon(.asking(), inputs: [loss, loss, captured])
    let outcome = try await verify(daemon, patience: .seconds(10)) {
      try await nextCall().completion(success)
    }
    #expect(outcome.id == "sub-1")
    #expect(daemon.params(of: "flow.submit").count == 3)
    #expect(exchange.credentials.count == 1)
  }

  @Test("the GoPay exchange answer of each code may be submitted ten times")
  func attemptsPerCode() async throws {
    let nineLosses = Array(repeating: GoPayDaemon.Answer.lost, count: 9)
    let daemon = GoPayDaemon(
      .asking(), inputs: nineLosses + [.advances([.asking("code-2")]), .lost, captured])
    let outcome = try await verify(daemon, patience: .seconds(10)) {
      for _ in 1...2 { try await nextCall().completion(success) }
    }
    #expect(outcome.id == "sub-1")
    #expect(daemon.params(of: "flow.submit").count == 12)
  }

  @Test("a failure that replaced an invalid GoPay exchange answer is the one submitted again")
  func replacementLost() async throws {
    let refusal = GoPayDaemon.error("invalid_input", field: "input.success.userCorrelationId")
    let daemon = GoPayDaemon(
      .asking(), inputs: [.refused(refusal), .lost, .advances([.failed("exchange_failed", 2208)])])
    let outcome = try await verify(daemon, patience: .seconds(10)) {
      try await nextCall().completion(success)
    }
    #expect(outcome.code == "GPE-2208")
    let failures = daemon.params(of: "flow.submit").map { $0["input"]?["failure"] != nil }
    #expect(failures == [false, true, true])
  }

  @Test("a GoPay exchange answer that arrived on a lost connection is not submitted again")
  func arrived() async throws {
    let daemon = GoPayDaemon(.asking(), inputs: [.advancesAndDisconnects([.exchanged])])
    let outcome = try await verify(daemon, patience: .seconds(10)) {
      try await nextCall().completion(success)
      for await method in daemon.methodsHeard where method == "flow.submit" { break }
      try await daemon.happens(.submitted)
    }
    #expect(outcome.id == "sub-1")
    #expect(daemon.params(of: "flow.submit").count == 1)
  }

  @Test(
    "a GoPay exchange answer that is refused as too late yields the outcome of the flow",
    arguments: ["conflict", "flow_finished", "unexpected_input"])
  func tooLate(reason: String) async throws {
    let daemon = GoPayDaemon(.asking(), inputs: [.refused(GoPayDaemon.error(reason)), captured])
    let outcome = try await verify(daemon) {
      try await nextCall().completion(success)
      for await method in daemon.methodsHeard where method == "flow.submit" { break }
      try await daemon.happens(
        reason == "conflict" ? .asking() : .failed("exchange_timed_out", 2209))
    }
    #expect(reason == "conflict" ? outcome.id == "sub-1" : outcome.code == "GPE-2209")
  }

  @Test(
    "an invalid GoPay exchange answer is submitted as a failed exchange and ends with GPE-2208",
    arguments: [
      (
        ExchangeResult.success(userCorrelationId: ""),
        "the exchange got an invalid answer: why not"
      ),
      (.failure(reason: ""), "the exchange failed"),
    ])
  func wrongAnswer(result: ExchangeResult, reason: String) async throws {
    let refusal = GoPayDaemon.error("invalid_input", field: "input.success.userCorrelationId")
    let daemon = GoPayDaemon(
      .asking(), inputs: [.refused(refusal), .advances([.failed("exchange_failed", 2208)])])
    let outcome = try await verify(daemon) { try await nextCall().completion(result) }
    #expect(outcome.code == "GPE-2208")
    #expect(
      daemon.params(of: "flow.submit").last?["input"]?["failure"] == ["reason": .string(reason)])
  }

  @Test("a GoPay exchange answer that the daemon cannot store ends with GPE-2203")
  func refusedAnswer() async throws {
    let refusal = GoPayDaemon.error("storage_unavailable")
    let daemon = GoPayDaemon(.asking(), inputs: [.refused(refusal)])
    let outcome = try await verify(daemon) { try await nextCall().completion(success) }
    #expect(outcome.code == "GPE-2203")
    #expect(daemon.methods == ["flow.start", "flow.submit", "flow.cancel"])
  }

  @Test("a GoPay exchange handler can return its result instead of calling a completion")
  func returning() async throws {
    let receiver = CredentialReceiver.exchange(
      handler: CredentialExchangeHandler { credential, requestID in
        guard credential == .authCode(code: "code-1") else { return .failure(reason: "?") }
        return .success(userCorrelationId: "corr-of-\(requestID)")
      })
    let daemon = GoPayDaemon(.asking(), inputs: [captured])
    try await daemon.run { path in
      let manager = goPaySDK(path).getFeatureManager()
      #expect(await manager.outcome(goPayRequest, receiver, screen).id == "sub-1")
    }
    let input = daemon.params(of: "flow.submit").first?["input"]
    #expect(input?["success"] == ["userCorrelationId": "corr-of-req-1"])
  }
}
