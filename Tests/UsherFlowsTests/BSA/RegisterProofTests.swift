import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Local authentication in register (BSA)")
struct RegisterProofTests {
  private func begun(_ type: BSAAuthType) throws -> DrivenRegister {
    try .handled { $0.authType = type }
  }

  @Test("BSA register asks for its authType's local authentication after the code was verified")
  func asks() throws {
    for (type, question) in [
      (BSAAuthType.passcode, LocalAuthQuestion.passcodeAvailability), (.biometric, .availability),
    ] {
      var driven = try DrivenRegister { $0.authType = type }
      driven.said()
      #expect(driven.state == "otpSent")
      driven.type()
      #expect(driven.state == "verifying")
      driven.verified()
      #expect(driven.state == "localAuth" && driven.calls.isEmpty)
      #expect(driven.questions == [.localAuth(question)])
    }
  }

  @Test("the user can retry a wrong passcode, and the right one starts the BSA sign-up")
  func asked() throws {
    var driven = try begun(.passcode)
    #expect(driven.isWaiting)
    driven.look()
    #expect(
      driven.step
        == .localAuth(
          .init(methods: [.passcode], reason: "register ada.1815 at bsa", scanning: false)))
    driven.say(.passcode(Secret("")))
    #expect(driven.refusedField == "input.passcode")
    driven.say(.passcode(Secret("1234-passcode")))
    #expect(driven.questions == [.localAuth(.check(passcode: Secret("1234-passcode")))])
    driven.answer(.checked(.wrong(attemptsLeft: 4)))
    #expect(driven.state == "localAuth" && driven.problem?.reason == "wrong_passcode")
    driven.say(.passcode(Secret("1234-passcode")))
    driven.answer(.checked(.accepted))
    #expect(driven.state == "signingUp" && driven.problem == nil)
    #expect(driven.calls.map(\.name) == ["users"])
  }

  @Test("BSA register accepts changed fingerprints, because none are saved yet")
  func fingers() throws {
    var driven = try begun(.biometric)
    driven.answer(.availability(.init(biometric: .ready(hasChanged: true), passcode: .ready)))
    #expect(driven.questions == [.localAuth(.scan)])
    #expect(
      driven.step
        == .localAuth(
          .init(methods: [.biometric], reason: "register ada.1815 at bsa", scanning: true)))
    driven.answer(.scanned(.matched))
    #expect(driven.state == "signingUp")
  }

  @Test(
    "a successful biometric BSA sign-up saves the enrolled fingers, also after a passcode instead")
  func savesFingers() throws {
    var scanned = try begun(.biometric)
    scanned.answer(.availability(.init(biometric: .ready(hasChanged: false), passcode: .ready)))
    scanned.answer(.scanned(.matched))
    var replaced = try begun(.biometric)
    replaced.look([.init(method: .passcode, at: now, insteadOf: .biometric)])
    for driven in [scanned, replaced] {
      #expect(driven.state == "signingUp" && driven.calls.map(\.name) == ["users"])
      #expect(driven.questions.isEmpty)
      var refused = driven
      refused.refused(2003)
      #expect(refused.failure != nil && refused.questions.isEmpty)
      var accepted = driven
      accepted.said(["secretKey": .string(BSAParts.secretKey)])
      #expect(accepted.completion?.savesFingers == true)
    }
  }

  @Test("a BSA sign-up by passcode does not save the enrolled fingers")
  func savesNone() throws {
    var driven = try begun(.passcode)
    driven.prove()
    #expect(driven.state == "signingUp" && driven.questions.isEmpty)
    driven.said(["secretKey": .string(BSAParts.secretKey)])
    #expect(driven.completion?.savesFingers == false)
  }

  /// The ways to fail: the SDK's error code, its rtCode, the state of the machine and the events
  /// after it.
  private static let ends:
    [(LocalAuthErrorCode, String?, LocalAuthAvailability, [FlowEvent<BSACall>])] = [
      (
        .biometricNotSupportHardware, "9003", .init(biometric: .noReader, passcode: .ready), []
      ),
      (
        .biometricNotAvailable, "9001",
        .init(biometric: .unavailable("it is in use"), passcode: .ready), []
      ),
      (
        .biometricLockOut, "9002",
        .init(biometric: .lockedOut(until: soon), passcode: .ready), []
      ),
      (
        .biometricNotEnrolledDevice, "9004", .init(biometric: .notEnrolled, passcode: .ready), []
      ),
      (
        .authFailed, "9009", .init(biometric: .ready(hasChanged: false), passcode: .ready),
        Array(repeating: .answered(.localAuth(.scanned(.missed))), count: 3)
      ),
      (
        .userFallback, nil, .init(biometric: .ready(hasChanged: false), passcode: .ready),
        [.input(.fallback)]
      ),
      (
        .userCancel, nil, .init(biometric: .ready(hasChanged: false), passcode: .ready),
        [.input(.cancelLocalAuth)]
      ),
    ]

  @Test("a failed local authentication ends BSA register with the SDK's word and its rtCode")
  func failed() throws {
    for (word, code, standing, events) in Self.ends {
      var driven = try begun(.biometric)
      driven.answer(.availability(standing))
      for event in events { driven.receive(event) }
      let failure = try #require(driven.failure, "\(word)")
      #expect(failure.reason == (word == .userCancel ? .cancelled : .localAuthFailed))
      #expect(
        failure.provider
          == ProviderErrorCode(name: BSAParts.name, code: word.rawValue, error: code))
      #expect(!failure.message.isEmpty && failure.retryable)
      let end = driven.failure
      try driven.restart()
      #expect(driven.failure == end)
    }
    var driven = try begun(.passcode)
    driven.answer(
      .availability(.init(biometric: .ready(hasChanged: false), passcode: .notEnrolled)))
    #expect(driven.end == End(.localAuthFailed, "PASSCODE_NOT_ENROLLED_DEVICE"))
    #expect(driven.failure?.provider?.error == nil)
  }

  @Test("BSA register does not ask again for a local authentication of the last 300 seconds")
  func earlier() throws {
    for (age, isGood) in [
      (0, true), (299_999, true), (300_000, true), (300_001, false), (-1, false),
    ] {
      var driven = try begun(.passcode)
      driven.look([.init(method: .passcode, at: now - .milliseconds(age))])
      #expect(driven.state == (isGood ? "signingUp" : "localAuth"), "\(age) ms")
      #expect(driven.calls.isEmpty == !isGood)
    }
  }

  @Test("BSA register does not count an earlier local authentication by another method")
  func otherWay() throws {
    var driven = try begun(.passcode)
    driven.look([.init(method: .biometric, at: now)])
    #expect(driven.state == "localAuth")
    driven = try begun(.passcode)
    driven.look([.init(method: .biometric, at: now), .init(method: .passcode, at: now)])
    #expect(driven.state == "signingUp")
  }

  @Test("local_auth_seconds sets how old an earlier local authentication for BSA register may be")
  func configured() throws {
    for (seconds, state) in [(60, "signingUp"), (59, "localAuth")] {
      var driven = try DrivenRegister.handled(settings: { $0.localAuthSeconds = seconds })
      driven.look([.init(method: .passcode, at: now - .seconds(60))])
      #expect(driven.state == state)
    }
  }

  @Test("after a restart BSA register has forgotten the passcode under check and asks for it again")
  func restarts() throws {
    var driven = try begun(.passcode)
    try driven.restart()
    #expect(driven.questions == [.localAuth(.passcodeAvailability)])
    driven.look()
    let view = driven.flow.view
    try driven.restart()
    #expect(driven.last == .ignore && driven.flow.view == view)
    driven.say(.passcode(Secret("1234-passcode")))
    try driven.restart()
    #expect(driven.questions == [.localAuth(.passcodeAvailability)])
    driven.look()
    #expect(driven.problem == .interrupted)
    driven.say(.passcode(Secret("1234-passcode")))
    driven.answer(.checked(.accepted))
    #expect(driven.state == "signingUp")
  }
}

@Suite("The age of a local authentication in register (BSA)")
struct ProofAgeTests {
  private func paused() throws -> DrivenRegister {
    var driven = try DrivenRegister.signingUp()
    driven.answered(BSAParts.failing(429))
    return driven
  }

  @Test("a local authentication of at most 300 s is good for a retry of the BSA sign-up")
  func young() throws {
    var driven = try paused()
    driven.receive(.woken, at: now + .seconds(300))
    #expect(driven.state == "signingUp" && driven.calls.map(\.name) == ["users"])
  }

  @Test("an older local authentication is asked for again before the BSA sign-up is retried")
  func old() throws {
    let late = now + .milliseconds(300_001)
    for isRestarted in [false, true] {
      var driven = try paused()
      if isRestarted { try driven.restart(at: late) } else { driven.receive(.woken, at: late) }
      #expect(driven.state == "localAuth" && driven.calls.isEmpty && driven.problem == nil)
      #expect(driven.questions == [.localAuth(.passcodeAvailability)])
      driven.prove(at: late)
      #expect(driven.calls.map(\.name) == ["users"])
      driven.said(["secretKey": .string(BSAParts.secretKey)], at: late)
      #expect(driven.completion != nil)
    }
  }

  @Test("BSA register counts the age of a local authentication from its own time, not from its use")
  func usedLater() throws {
    var driven = try DrivenRegister.handled()
    driven.look([.init(method: .passcode, at: now - .seconds(200))])
    driven.answered(BSAParts.gone)
    var other = driven
    driven.receive(.woken, at: now + .seconds(100))
    #expect(driven.calls.map(\.name) == ["users"])
    other.receive(.woken, at: now + .milliseconds(100_001))
    #expect(other.state == "localAuth")
  }

  @Test("a BSA sign-up without local authentication is retried without asking for one")
  func none() throws {
    var driven = try DrivenRegister.handled(
      { $0.authType = .none }, settings: { $0.allowNoLocalAuth = true })
    driven.answered(BSAParts.gone)
    driven.receive(.woken, at: now + .seconds(3600))
    #expect(driven.calls.map(\.name) == ["users"])
  }
}
