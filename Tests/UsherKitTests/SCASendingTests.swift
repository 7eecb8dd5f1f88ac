import FoundationEssentials
import JSONRPC
import Testing
import UsherKit

@Suite("SCA challenges with UsherKit", .timeLimit(.minutes(10)))
struct SCASendingTests {
  private let smsParams: JSONValue = ["method": "OTP", "channel": "SMS"]
  private let pushParams: JSONValue = [
    "method": "PUSH_NOTIFICATION", "channel": "PUSH_NOTIFICATION",
  ]
  private let resend: JSONValue = ["type": "enterCode", "resend": true]

  private func send(
    _ verification: SCAEvent.IdentityVerification, _ wallet: Wallet
  ) async throws -> Wallet.SCAAuthenticationEventChallengeEmbeddedHybridResponse {
    try await wallet.authenticationService.sendSCAChallenge(
      eventID: "e", request: SCAEvent.challenge(verification))
  }

  @Test("sendSCAChallenge by redirect sends the return URL and returns the page's address")
  func redirect() async throws {
    let verification = SCAEvent.IdentityVerification(
      method: .biometric, channel: .redirect,
      action: .init(language: "de", returnURL: "https://www.partner.com/sca"))
    let sent = try await wallet([
      .notFound,
      .starts(
        ["method": "BIOMETRIC", "channel": "REDIRECT"],
        PaysafeFlow.snapshot("sca", 2, "challenged", step: PaysafeFlow.redirectPage),
        with: ["returnUrl": "https://www.partner.com/sca", "language": "de"]),
    ]) { try await send(verification, $0) }
    #expect(sent.redirectURL?.absoluteString == "https://wallet.example/redirect/1")
    #expect(sent.verification == verification && sent.status == nil)
  }

  @Test("sendSCAChallenge by push returns once the flow is challenged, with nothing to enter")
  func pushed() async throws {
    let sent = try await wallet([
      .notFound, .starts(pushParams, PaysafeFlow.snapshot("sca", 1, "challenging")),
      .ask(
        "flow.wait", PaysafeFlow.change(after: 1),
        PaysafeFlow.waited(PaysafeFlow.snapshot("sca", 2, "challenged"))),
    ]) { try await send(SCAEvent.push, $0) }
    #expect(sent.redirectURL == nil && sent.maskedTarget == nil && sent.status == nil)
  }

  @Test("sendSCAChallenge by push returns verified if the push was approved at once")
  func approvedAtOnce() async throws {
    let sent = try await wallet([
      .notFound, .starts(pushParams, PaysafeFlow.succeeded("sca", 3, result: PaysafeFlow.verified)),
    ]) { try await send(SCAEvent.push, $0) }
    #expect(sent.status == .verified)
  }

  @Test("a second sendSCAChallenge with the same verification resends the code")
  func again() async throws {
    let sent = try await wallet([
      .found, .returnsStep(PaysafeFlow.enterCode(attemptsLeft: 1)),
      .answers(resend, PaysafeFlow.snapshot("sca", 6, "challenging")),
      .ask(
        "flow.wait", PaysafeFlow.change(after: 6),
        PaysafeFlow.waited(
          PaysafeFlow.snapshot("sca", 7, "challenged", step: PaysafeFlow.enterCode()))),
    ]) { try await send(SCAEvent.sms, $0) }
    #expect(sent.attemptsLeft == 3)
  }

  @Test("sendSCAChallenge over the limit throws rateLimited with the time until a retry")
  func coolDown() async throws {
    let limit = PaysafeFlow.problem("rate_limited", more: #","retryAfterMs":60000"#)
    let error = try await walletError([
      .found, .returnsStep(PaysafeFlow.enterCode()),
      .answers(
        resend,
        PaysafeFlow.snapshot(
          "sca", 7, "challenged", step: PaysafeFlow.enterCode(), problem: limit)),
    ]) { try await send(SCAEvent.sms, $0) }
    #expect(error.caseName == "rateLimited" && error.detail.retryAfter == .seconds(60))
  }

  @Test(
    "sendSCAChallenge by a channel that the step does not offer starts a flow and cancels none",
    arguments: ["email", "authenticator"])
  func otherChannel(channel: String) async throws {
    let sent = try await wallet([
      .found, .returnsStep(PaysafeFlow.enterCode(channel)),
      .starts(
        smsParams,
        PaysafeFlow.snapshot(
          "sca", 2, "challenged", id: "flw_2", step: PaysafeFlow.enterCode())),
    ]) { try await send(SCAEvent.sms, $0) }
    #expect(sent.digits == 6)
  }

  @Test("sendSCAChallenge by a channel that the step offers replaces the challenge of the flow")
  func offeredChannel() async throws {
    let sent = try await wallet([
      .found, .returnsStep(PaysafeFlow.enterCode("email", alternative: "OTP.SMS")),
      .answers(
        ["type": "enterCode", "alternative": "OTP.SMS"],
        PaysafeFlow.snapshot("sca", 6, "challenged", step: PaysafeFlow.enterCode())),
    ]) { try await send(SCAEvent.sms, $0) }
    #expect(sent.digits == 6)
  }

  @Test("a second sendSCAChallenge by push or redirect sends another one in the same flow")
  func pushAgain() async throws {
    let redirect = SCAEvent.IdentityVerification(method: .biometric, channel: .redirect)
    for (step, type, verification) in [
      (PaysafeFlow.wait, "wait", SCAEvent.push),
      (PaysafeFlow.redirectPage, "openURL", redirect),
    ] {
      let sent = try await wallet([
        .found, .returnsStep(step),
        .answers(
          ["type": .string(type), "resend": true],
          PaysafeFlow.snapshot("sca", 6, "challenged", step: step)),
      ]) { try await send(verification, $0) }
      #expect(sent.status == nil)
    }
  }

  @Test(
    "sendSCAChallenge by another method than that of the open challenge starts a flow of its own",
    arguments: [
      (PaysafeFlow.enterPassword, SCAEvent.pinByPage),
      (PaysafeFlow.enterPassword, SCAEvent.IdentityVerification(method: .pin, channel: .sms)),
      (PaysafeFlow.enterCode(), SCAEvent.IdentityVerification(method: .pin, channel: .sms)),
      (PaysafeFlow.page(of: "BIOMETRIC.REDIRECT"), SCAEvent.pinByPage),
      (PaysafeFlow.push(of: "BIOMETRIC.PUSH_NOTIFICATION"), SCAEvent.push),
    ])
  func otherMethod(step: String, verification: SCAEvent.IdentityVerification) async throws {
    let method: JSONValue = [
      "method": .string(verification.method.rawValue),
      "channel": .string(verification.channel?.rawValue ?? ""),
    ]
    let own = PaysafeFlow.snapshot(
      "sca", 2, "challenged", id: "flw_2", step: PaysafeFlow.enterCode())
    _ = try await wallet([.found, .returnsStep(step), .starts(method, own)]) {
      try await send(verification, $0)
    }
  }

  @Test("sendSCAChallenge with another return URL starts a flow of its own, whatever is open")
  func otherReturnURL() async throws {
    let verification = SCAEvent.IdentityVerification(
      method: .biometric, channel: .redirect,
      action: .init(language: nil, returnURL: "http://127.0.0.1:40002/sca"))
    for step in [
      PaysafeFlow.page(of: "BIOMETRIC.REDIRECT"),
      PaysafeFlow.enterCode(alternative: "BIOMETRIC.REDIRECT"),
    ] {
      let sent = try await wallet([
        .found, .returnsStep(step),
        .starts(
          ["method": "BIOMETRIC", "channel": "REDIRECT"],
          PaysafeFlow.snapshot("sca", 2, "challenged", id: "flw_2", step: PaysafeFlow.redirectPage),
          with: ["returnUrl": "http://127.0.0.1:40002/sca"]),
      ]) { try await send(verification, $0) }
      #expect(sent.redirectURL != nil)
    }
  }

  @Test("sendSCAChallenge does not wait for a flow of another client, whose step it cannot see")
  func hiddenFlow() async throws {
    let sent = try await wallet([
      .found,
      .ask(
        "flow.get", PaysafeFlow.flow(), PaysafeFlow.snapshot("sca", 5, "choosing", step: "null")),
      .starts(
        smsParams,
        PaysafeFlow.snapshot("sca", 2, "challenged", id: "flw_2", step: PaysafeFlow.enterCode())),
    ]) { try await send(SCAEvent.sms, $0) }
    #expect(sent.digits == 6)
  }

  @Test("sendSCAChallenge throws invalidRequest if nothing was sent because the event is answered")
  func answeredUnknown() async throws {
    let error = try await walletError([
      .notFound,
      .starts(smsParams, PaysafeFlow.succeeded("sca", 3, result: #"{"status":"UNKNOWN"}"#)),
    ]) { try await send(SCAEvent.sms, $0) }
    #expect(error.caseName == "invalidRequest")
  }

  @Test("a challenge whose target the wallet does not name has no maskedTarget")
  func noTarget() async throws {
    let step = PaysafeFlow.enterCode().replacing("+44 ••• 123", with: "")
    let sent = try await wallet([
      .notFound, .starts(smsParams, PaysafeFlow.snapshot("sca", 2, "challenged", step: step)),
    ]) { try await send(SCAEvent.sms, $0) }
    #expect(sent.maskedTarget == nil && sent.digits == 6)
  }

  @Test("a second sendSCAChallenge by PIN sends nothing, because the step still asks for the PIN")
  func pinAgain() async throws {
    let sent = try await wallet([.found, .returnsStep(PaysafeFlow.enterPassword)]) {
      try await send(SCAEvent.pin, $0)
    }
    #expect(sent.attemptsLeft == 2)
  }

  @Test("sendSCAChallenge for another wallet operation starts a flow of its own")
  func otherOperation() async throws {
    let sent = try await wallet([
      .found, .returnsStep(PaysafeFlow.enterCode(operationID: "w-0")),
      .starts(
        smsParams,
        PaysafeFlow.snapshot("sca", 2, "challenged", id: "flw_2", step: PaysafeFlow.enterCode())),
    ]) { try await send(SCAEvent.sms, $0) }
    #expect(sent.digits == 6)
  }

  @Test("sendSCAChallenge sends nothing if the flow succeeds in the meantime")
  func succeedsMeanwhile() async throws {
    let sent = try await wallet([
      .found, .ask("flow.get", PaysafeFlow.flow(), PaysafeFlow.snapshot("sca", 6, "attempting")),
      .ask(
        "flow.wait", PaysafeFlow.change(after: 6),
        PaysafeFlow.waited(PaysafeFlow.succeeded("sca", 7, result: PaysafeFlow.verified))),
    ]) { try await send(SCAEvent.sms, $0) }
    #expect(sent.status == .verified)
  }

  @Test("sendSCAChallenge answers a flow that asks to choose a verification")
  func choose() async throws {
    let sent = try await wallet([
      .found, .returnsStep(PaysafeFlow.choose),
      .answers(
        ["type": "choose", "id": "PIN"],
        PaysafeFlow.snapshot("sca", 6, "challenged", step: PaysafeFlow.enterPassword)),
    ]) { try await send(SCAEvent.pin, $0) }
    #expect(sent.verification == SCAEvent.pin)
  }

  @Test("sendSCAChallenge by a verification that the event lacks throws invalidRequest")
  func unavailable() async throws {
    let error = try await walletError([
      .notFound,
      .starts(
        smsParams,
        PaysafeFlow.snapshot(
          "sca", 3, "choosing", step: PaysafeFlow.choose,
          problem: PaysafeFlow.problem("verification_unavailable"))),
    ]) { try await send(SCAEvent.sms, $0) }
    #expect(error.caseName == "invalidRequest")
  }

  @Test("sendSCAChallenge without a signed-in customer throws authenticationRequired")
  func nobody() async throws {
    let start: JSONValue = [
      "eventId": "e", "walletOperationId": "w", "verification": smsParams,
    ]
    let error = try await walletError([
      .notFound,
      .refuse(
        "flow.start", PaysafeFlow.start("sca", start), PaysafeFlow.error("interaction_required")),
    ]) { try await send(SCAEvent.sms, $0) }
    #expect(error.caseName == "authenticationRequired")
  }
}
