import JSONRPC
import Testing
import UsherKit

@Suite("An SCA attempt", .timeLimit(.minutes(1)))
struct SCAAttemptTests {
  private let code: JSONValue = ["type": "enterCode", "code": "123456"]

  private func submit(
    _ wallet: Wallet, _ attempt: SCAEvent.Attempt = SCAEvent.attempt()
  ) async throws -> Wallet.SCAAuthenticationEventAttemptEmbeddedHybridResponse {
    try await wallet.authenticationService.submitSCAAttempt(eventID: "e", request: attempt)
  }

  @Test("with a PIN answers the flow's password")
  func pin() async throws {
    let tried = try await wallet([
      .found, .stands(PaysafeFlow.enterPassword),
      .answers(
        ["type": "enterPassword", "password": "2468"],
        PaysafeFlow.succeeded("sca", 7, result: #"{"statusReason":"CORRECT"}"#)),
    ]) { try await submit($0, SCAEvent.attempt(SCAEvent.pin, "2468")) }
    #expect(tried.status == .verified && tried.statusReason == "CORRECT")
    #expect(tried.attemptsLeft == nil)
  }

  @Test("waits for a challenge that is on its way")
  func onItsWay() async throws {
    let tried = try await wallet([
      .found,
      .ask("flow.get", PaysafeFlow.flow(), PaysafeFlow.stands("sca", 4, "challenging")),
      .ask(
        "flow.wait", PaysafeFlow.change(after: 4),
        PaysafeFlow.waited(
          PaysafeFlow.stands("sca", 5, "challenged", step: PaysafeFlow.enterCode()))),
      .answers(code, PaysafeFlow.succeeded("sca", 7, result: "{}")),
    ]) { try await submit($0) }
    #expect(tried.status == .verified)
  }

  @Test("is rejected by a customer who says no")
  func rejected() async throws {
    let failure = PaysafeFlow.failure("denied", code: "REJECTED", message: "CUSTOMER_REFUSED")
    let tried = try await wallet([
      .found, .stands(PaysafeFlow.enterCode()),
      .answers(code, PaysafeFlow.failed("sca", 7, failure: failure)),
    ]) { try await submit($0) }
    #expect(tried.status == .rejected && tried.statusReason == "CUSTOMER_REFUSED")
  }

  @Test("without a challenge is said to be that")
  func noChallenge() async throws {
    let error = try await walletError([.notFound]) { try await submit($0) }
    #expect(error.word == "nothingWaiting")
    #expect(
      error.message == "no challenge of this event waits for an answer: send one first")
  }

  @Test(
    "is not made where nothing is to be entered",
    arguments: [PaysafeFlow.wait, PaysafeFlow.redirectPage, PaysafeFlow.choose])
  func elsewhere(step: String) async throws {
    let error = try await walletError([.found, .stands(step)]) { try await submit($0) }
    #expect(error.word == "nothingWaiting")
  }

  @Test(
    "that was not judged is no wrong value",
    arguments: [
      ("challenge_expired", "expired"), ("interrupted", "unavailable"),
      ("provider_unreachable", "unavailable"), ("a_new_one", "rejected"),
    ])
  func problems(problem: String, word: String) async throws {
    let error = try await walletError([
      .found, .stands(PaysafeFlow.enterCode()),
      .answers(
        code,
        PaysafeFlow.stands(
          "sca", 7, "challenged", step: PaysafeFlow.enterCode(),
          problem: PaysafeFlow.problem(problem))),
    ]) { try await submit($0) }
    #expect(error.word == word)
  }
}

@Suite("An SCA challenge answered elsewhere", .timeLimit(.minutes(1)))
struct SCAApprovalTests {
  private let foundAny = Turn.ask(
    "flow.list", ["provider": "paysafe", "kind": "sca", "key": "e"],
    PaysafeFlow.list("sca", "flw_1"))

  private func approval(
    _ wallet: Wallet
  ) async throws -> Wallet.SCAAuthenticationEventAttemptEmbeddedHybridResponse {
    try await wallet.authenticationService.awaitSCAApproval(
      eventID: "e", request: SCAEvent.challenge(SCAEvent.push))
  }

  private func ended(_ reply: String) -> [Turn] {
    [foundAny, .ask("flow.get", PaysafeFlow.flow(), reply)]
  }

  @Test(
    "by push or redirect is waited for", arguments: [PaysafeFlow.wait, PaysafeFlow.redirectPage])
  func verdict(step: String) async throws {
    let verdict = try await wallet([
      foundAny, .stands(step),
      .ask(
        "flow.wait", PaysafeFlow.change(after: 5),
        PaysafeFlow.waited(PaysafeFlow.succeeded("sca", 6, result: "{}"))),
    ]) { try await approval($0) }
    #expect(verdict.status == .verified && verdict.verification == SCAEvent.push)
  }

  @Test("is told after its end, too")
  func earlier() async throws {
    let failed = PaysafeFlow.failed("sca", 6, failure: PaysafeFlow.failure("denied"))
    let verdict = try await wallet(ended(failed)) { try await approval($0) }
    #expect(verdict.status == .rejected && verdict.statusReason == "why it failed")
  }

  @Test("has no verdict where its time ran out")
  func expired() async throws {
    let failure = PaysafeFlow.failure("expired")
    let expired = PaysafeFlow.failed("sca", 6, status: "expired", failure: failure)
    #expect(try await walletError(ended(expired)) { try await approval($0) }.word == "expired")
  }

  @Test("that ran out is not waited for")
  func challengeExpired() async throws {
    let choosing = PaysafeFlow.stands(
      "sca", 6, "choosing", step: PaysafeFlow.choose,
      problem: PaysafeFlow.problem("challenge_expired"))
    let error = try await walletError([
      foundAny, .stands(PaysafeFlow.wait),
      .ask("flow.wait", PaysafeFlow.change(after: 5), PaysafeFlow.waited(choosing)),
    ]) { try await approval($0) }
    #expect(error.word == "expired")
  }

  @Test("is not one whose code is to be entered here")
  func entered() async throws {
    let error = try await walletError([foundAny, .stands(PaysafeFlow.enterCode())]) {
      try await approval($0)
    }
    #expect(error.word == "invalidRequest")
  }
}
