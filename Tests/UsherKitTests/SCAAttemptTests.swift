import JSONRPC
import Testing
import UsherKit

@Suite("SCA attempts with UsherKit", .timeLimit(.minutes(10)))
struct SCAAttemptTests {
  private let code: JSONValue = ["type": "enterCode", "code": "123456"]

  private func submit(
    _ wallet: Wallet, _ attempt: SCAEvent.Attempt = SCAEvent.attempt()
  ) async throws -> Wallet.SCAAuthenticationEventAttemptEmbeddedHybridResponse {
    try await wallet.authenticationService.submitSCAAttempt(eventID: "e", request: attempt)
  }

  @Test("an SCA attempt with a PIN answers the flow's password step")
  func pin() async throws {
    let tried = try await wallet([
      .foundAny, .returnsStep(PaysafeFlow.enterPassword),
      .answers(
        ["type": "enterPassword", "password": "2468"],
        PaysafeFlow.succeeded("sca", 7, result: #"{"status":"VERIFIED","statusReason":"CORRECT"}"#)),
    ]) { try await submit($0, SCAEvent.attempt(SCAEvent.pin, "2468")) }
    #expect(tried.status == .verified && tried.statusReason == "CORRECT")
    #expect(tried.attemptsLeft == nil)
    #expect(tried.id == "flw_1" && tried.eventID == "e" && tried.walletOperationID == "w")
    #expect(tried.verification == SCAEvent.pin)
  }

  @Test("a wrong SCA attempt returns failed with the attempts left and the daemon's message")
  func wrong() async throws {
    let tried = try await wallet([
      .foundAny, .returnsStep(PaysafeFlow.enterCode()),
      .answers(
        code,
        PaysafeFlow.snapshot(
          "sca", 7, "challenged", step: PaysafeFlow.enterCode(attemptsLeft: 2),
          problem: PaysafeFlow.problem("wrong_code"))),
    ]) { try await submit($0) }
    #expect(tried.status == .failed && tried.attemptsLeft == 2)
    #expect(tried.statusReason == "what went wrong")
  }

  @Test("an SCA attempt waits for a challenge that is being sent")
  func onItsWay() async throws {
    let tried = try await wallet([
      .foundAny,
      .ask("flow.get", PaysafeFlow.flow(), PaysafeFlow.snapshot("sca", 4, "challenging")),
      .ask(
        "flow.wait", PaysafeFlow.change(after: 4),
        PaysafeFlow.waited(
          PaysafeFlow.snapshot("sca", 5, "challenged", step: PaysafeFlow.enterCode()))),
      .answers(code, PaysafeFlow.succeeded("sca", 7, result: PaysafeFlow.verified)),
    ]) { try await submit($0) }
    #expect(tried.status == .verified)
  }

  @Test("an SCA attempt is rejected with the wallet's reason if the customer refuses")
  func rejected() async throws {
    let failure = PaysafeFlow.failure("denied", code: "REJECTED", message: "CUSTOMER_REFUSED")
    let tried = try await wallet([
      .foundAny, .returnsStep(PaysafeFlow.enterCode()),
      .answers(code, PaysafeFlow.failed("sca", 7, failure: failure)),
    ]) { try await submit($0) }
    #expect(tried.status == .rejected && tried.statusReason == "CUSTOMER_REFUSED")
  }

  /// Expects that the attempt is submitted to a flow of its own.
  private func verified(_ turns: [Turn]) async throws {
    let answered = Turn.ask(
      "flow.submit", PaysafeFlow.answer(code, at: 2, of: "flw_2"),
      PaysafeFlow.succeeded("sca", 3, id: "flw_2", result: PaysafeFlow.verified))
    let tried = try await wallet(turns + [.startsChallenged, answered]) {
      try await submit($0)
    }
    #expect(tried.status == .verified)
  }

  @Test("an SCA attempt is submitted although the challenge was sent by another program")
  func noChallenge() async throws {
    try await verified([.foundNone])
  }

  @Test("an SCA attempt by another channel or for another operation is not submitted to the flow")
  func otherChallenge() async throws {
    for step in [PaysafeFlow.enterCode("email"), PaysafeFlow.enterCode(operationID: "w-0")] {
      try await verified([.foundAny, .returnsStep(step)])
    }
  }

  @Test("an SCA attempt does not wait for a flow of another client, nor trust its hidden result")
  func hiddenFlow() async throws {
    let hidden = PaysafeFlow.snapshot("sca", 5, "choosing", step: "null")
    try await verified([.foundAny, .ask("flow.get", PaysafeFlow.flow(), hidden)])
    let ended = PaysafeFlow.succeeded("sca", 5, result: "null")
    try await verified([.foundAny, .ask("flow.get", PaysafeFlow.flow(), ended)])
  }

  @Test("an SCA attempt by another method is not submitted to the flow of the same channel")
  func otherMethod() async throws {
    let verification = SCAEvent.IdentityVerification(method: .pin, channel: .sms)
    let own = PaysafeFlow.snapshot(
      "sca", 2, "challenged", id: "flw_2", step: PaysafeFlow.enterCode())
    let tried = try await wallet([
      .foundAny, .returnsStep(PaysafeFlow.enterCode()),
      .starts(["method": "PIN", "channel": "SMS"], own, with: ["isChallenged": true]),
      .ask(
        "flow.submit", PaysafeFlow.answer(code, at: 2, of: "flw_2"),
        PaysafeFlow.succeeded("sca", 3, id: "flw_2", result: PaysafeFlow.verified)),
    ]) { try await submit($0, SCAEvent.attempt(verification)) }
    #expect(tried.status == .verified)
  }

  @Test("an SCA attempt after the sign-in has expired throws authenticationRequired")
  func signInExpired() async throws {
    let failure = PaysafeFlow.failure("reauthentication_required")
    let error = try await walletError([
      .foundAny, .returnsStep(PaysafeFlow.enterCode()),
      .answers(code, PaysafeFlow.failed("sca", 7, failure: failure)),
    ]) { try await submit($0) }
    #expect(error.caseName == "authenticationRequired")
  }

  @Test("an SCA attempt for a verification that takes no value throws nothingWaiting")
  func nothingToEnter() async throws {
    let error = try await walletError([.foundNone]) {
      try await submit($0, SCAEvent.attempt(SCAEvent.push))
    }
    #expect(error.caseName == "nothingWaiting")
    #expect(
      error.message == "no challenge of this event is waiting for an answer: send one first")
  }

  @Test("an SCA flow that ended without a known status is never reported as verified")
  func unknownStatus() async throws {
    for result in ["{}", #"{"status":"UNKNOWN"}"#] {
      let error = try await walletError([
        .foundAny, .returnsStep(PaysafeFlow.enterCode()),
        .answers(code, PaysafeFlow.succeeded("sca", 7, result: result)),
      ]) { try await submit($0) }
      #expect(error.caseName == "invalidRequest")
    }
  }

  @Test("an SCA attempt after the limit of attempts throws dataError, as the one that reached it")
  func afterTheLimit() async throws {
    let failure = PaysafeFlow.failure("attempts_exhausted", code: "dataError")
    let error = try await walletError([
      .foundAny,
      .ask("flow.get", PaysafeFlow.flow(), PaysafeFlow.failed("sca", 7, failure: failure)),
    ]) { try await submit($0) }
    #expect(error.caseName == "dataError")
  }

  @Test(
    "an SCA attempt in a flow that asks for no input starts a flow of its own",
    arguments: [PaysafeFlow.wait, PaysafeFlow.redirectPage, PaysafeFlow.choose])
  func elsewhere(step: String) async throws {
    try await verified([.foundAny, .returnsStep(step)])
  }

  @Test(
    "an SCA attempt that was not judged throws an error and does not count as a wrong value",
    arguments: [
      ("challenge_expired", "expired"), ("interrupted", "unavailable"),
      ("provider_unreachable", "unavailable"), ("a_new_one", "rejected"),
    ])
  func problems(problem: String, word: String) async throws {
    let error = try await walletError([
      .foundAny, .returnsStep(PaysafeFlow.enterCode()),
      .answers(
        code,
        PaysafeFlow.snapshot(
          "sca", 7, "challenged", step: PaysafeFlow.enterCode(),
          problem: PaysafeFlow.problem(problem))),
    ]) { try await submit($0) }
    #expect(error.caseName == word)
  }
}

@Suite("SCA approvals outside the app with UsherKit", .timeLimit(.minutes(10)))
struct SCAApprovalTests {
  private func approval(
    _ wallet: Wallet
  ) async throws -> Wallet.SCAAuthenticationEventAttemptEmbeddedHybridResponse {
    try await wallet.authenticationService.awaitSCAApproval(
      eventID: "e", request: SCAEvent.challenge(SCAEvent.push))
  }

  private func ended(_ reply: String) -> [Turn] {
    [.foundAny, .ask("flow.get", PaysafeFlow.flow(), reply)]
  }

  @Test(
    "awaitSCAApproval waits for the result of a push or redirect challenge",
    arguments: [PaysafeFlow.wait, PaysafeFlow.redirectPage])
  func verdict(step: String) async throws {
    let verdict = try await wallet([
      .foundAny, .returnsStep(step),
      .ask(
        "flow.wait", PaysafeFlow.change(after: 5),
        PaysafeFlow.waited(PaysafeFlow.succeeded("sca", 6, result: PaysafeFlow.verified))),
    ]) { try await approval($0) }
    #expect(verdict.status == .verified && verdict.verification == SCAEvent.push)
  }

  @Test("awaitSCAApproval returns the result of a flow that has already ended")
  func earlier() async throws {
    let failed = PaysafeFlow.failed("sca", 6, failure: PaysafeFlow.failure("denied"))
    let verdict = try await wallet(ended(failed)) { try await approval($0) }
    #expect(verdict.status == .rejected && verdict.statusReason == "why it failed")
  }

  @Test("awaitSCAApproval throws expired for an expired flow")
  func expired() async throws {
    let failure = PaysafeFlow.failure("expired")
    let expired = PaysafeFlow.failed("sca", 6, status: "expired", failure: failure)
    #expect(try await walletError(ended(expired)) { try await approval($0) }.caseName == "expired")
  }

  @Test("awaitSCAApproval throws expired if the challenge expires while it waits")
  func challengeExpired() async throws {
    let choosing = PaysafeFlow.snapshot(
      "sca", 6, "choosing", step: PaysafeFlow.choose,
      problem: PaysafeFlow.problem("challenge_expired"))
    let error = try await walletError([
      .foundAny, .returnsStep(PaysafeFlow.wait),
      .ask("flow.wait", PaysafeFlow.change(after: 5), PaysafeFlow.waited(choosing)),
    ]) { try await approval($0) }
    #expect(error.caseName == "expired")
  }

  @Test("awaitSCAApproval throws invalidRequest for a challenge whose code is entered in the app")
  func entered() async throws {
    let error = try await walletError([.foundAny, .returnsStep(PaysafeFlow.enterCode())]) {
      try await approval($0)
    }
    #expect(error.caseName == "invalidRequest")
  }
}
