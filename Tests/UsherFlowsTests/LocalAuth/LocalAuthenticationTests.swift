import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Local authentication")
struct LocalAuthenticationTests {
  @Test("with checkDomainStateChanged every fingerprint scan accepts only the saved fingers")
  func changedMeanwhile() throws {
    var driven = try DrivenAuthentication(orPasscode: true, checksFingers: true)
    driven.look()
    #expect(driven.asked == [.scanOfSavedFingers])
    driven.answer(.scanned(.missed))
    #expect(driven.asked == [.scanOfSavedFingers])
    driven.answer(.scanned(.timedOut))
    driven.say(.biometric)
    #expect(driven.asked == [.scanOfSavedFingers])
    driven.answer(.scanned(.changed))
    #expect(driven.word == "DOMAIN_STATE_CHANGED")
  }

  @Test("a matching finger ends local/authenticate with the method and the time")
  func match() throws {
    var driven = try DrivenAuthentication(reason: "open the till")
    #expect(driven.asked == [.availability])
    #expect(driven.flow.view.step.kind == .wait && driven.state == "looking")

    driven.look()
    #expect(driven.asked == [.scan])
    #expect(
      driven.step == .init(methods: [.biometric], reason: "open the till", scanning: true))
    #expect(driven.state == "scanning" && driven.problem == nil)

    driven.answer(.scanned(.matched), at: now + .seconds(2))
    #expect(
      driven.last
        == .finish(
          Completion(
            grant: nil,
            result: ["method": "biometric", "authenticatedAt": "2027-01-15T08:00:02Z"])))
  }

  @Test("local/authenticate by passcode never uses the fingerprint reader")
  func byPasscode() throws {
    var driven = try DrivenAuthentication(.passcode)
    #expect(driven.asked == [.passcodeAvailability])
    driven.look(.ready(hasChanged: true))
    #expect(driven.asked == [])
    #expect(
      driven.step == .init(methods: [.passcode], reason: "open the till", scanning: false))
    #expect(driven.say(.biometric) == .ignore)

    driven.say(.passcode(passcode))
    #expect(driven.asked == [.check(passcode: passcode)])
    #expect(driven.flow.view.step.kind == .wait && driven.state == "checking")
    driven.answer(.checked(.accepted))
    #expect(driven.method == "passcode")
  }

  @Test("local/authenticate shows the fingerprint reader's hint while the scan continues")
  func hints() throws {
    var driven = try DrivenAuthentication.scanning()
    driven.answer(.hint("swipe again"))
    #expect(driven.asked == [])
    #expect(driven.problem?.reason == "scan_again" && driven.problem?.message == "swipe again")
    #expect(driven.step?.scanning == true)
    driven.answer(.scanned(.matched))
    #expect(driven.method == "biometric")
  }

  @Test("a wrong finger starts another scan and shows the remaining attempts")
  func misses() throws {
    var driven = try DrivenAuthentication.scanning()
    driven.answer(.scanned(.missed))
    #expect(driven.asked == [.scan] && driven.step?.scanning == true)
    #expect(driven.problem?.reason == "not_recognised")
    #expect(driven.problem?.message == "the finger was not recognised; 2 attempts left")
    driven.answer(.scanned(.missed))
    #expect(driven.problem?.message == "the finger was not recognised; 1 attempt left")
    driven.answer(.scanned(.matched))
    #expect(driven.method == "biometric")
  }

  @Test(
    "three wrong fingers lead local/authenticate to the passcode if usePasscodeWhenFailed is set")
  func missesThenPasscode() throws {
    var driven = try DrivenAuthentication.scanning(orPasscode: true)
    #expect(driven.step?.methods == [.biometric, .passcode])
    for _ in 1...3 { driven.answer(.scanned(.missed)) }
    #expect(driven.asked == [])
    #expect(
      driven.step == .init(methods: [.passcode], reason: "open the till", scanning: false))
    #expect(driven.problem?.provider?.code == "AUTH_FAILED")
    #expect(driven.say(.biometric) == .ignore)
    driven.say(.passcode(passcode))
    driven.answer(.checked(.accepted))
    #expect(driven.method == "passcode")
  }

  @Test(
    "an unusable reader leads local/authenticate to the passcode if usePasscodeWhenFailed is set",
    arguments: [
      (LocalAuthAvailability.Biometric.noReader, "BIOMETRIC_NOT_SUPPORT_HARDWARE"),
      (.notEnrolled, "BIOMETRIC_NOT_ENROLLED_DEVICE"),
      (.unavailable("no message bus"), "BIOMETRIC_NOT_AVILABLE"),
      (.lockedOut(until: soon), "BIOMETRIC_LOCK_OUT"),
    ])
  func noFinger(biometric: LocalAuthAvailability.Biometric, word: String) throws {
    var driven = try DrivenAuthentication(orPasscode: true)
    driven.look(biometric)
    #expect(driven.asked == [])
    #expect(driven.step?.methods == [.passcode] && driven.step?.scanning == false)
    #expect(driven.problem?.reason == "biometric_failed")
    #expect(driven.problem?.provider?.code == word)
  }

  @Test(
    "a failed fingerprint scan leads to the passcode if usePasscodeWhenFailed is set",
    arguments: [
      (ScanOutcome.noReader, "BIOMETRIC_NOT_SUPPORT_HARDWARE"),
      (.notEnrolled, "BIOMETRIC_NOT_ENROLLED_DEVICE"),
      (.unavailable("it went away"), "BIOMETRIC_NOT_AVILABLE"),
      (.lockedOut(until: soon), "BIOMETRIC_LOCK_OUT"),
    ])
  func brokenScan(outcome: ScanOutcome, word: String) throws {
    var driven = try DrivenAuthentication.scanning(orPasscode: true)
    driven.answer(.scanned(outcome))
    #expect(driven.step?.methods == [.passcode] && driven.step?.scanning == false)
    #expect(driven.problem?.provider?.code == word)
  }

  @Test("changed fingers are accepted unless checkDomainStateChanged is set")
  func uncheckedChange() throws {
    var driven = try DrivenAuthentication()
    driven.look(.ready(hasChanged: true))
    #expect(driven.asked == [.scan])
    driven = try DrivenAuthentication(checksFingers: true)
    driven.look()
    #expect(driven.asked == [.scanOfSavedFingers])
  }

  @Test("a fingerprint scan that times out stops and can be started again")
  func timeOut() throws {
    var driven = try DrivenAuthentication.scanning(orPasscode: true)
    driven.answer(.scanned(.timedOut))
    #expect(driven.asked == [])
    #expect(driven.step?.scanning == false)
    #expect(driven.step?.methods == [.biometric, .passcode])
    #expect(driven.problem?.reason == "scan_timed_out")
    driven.say(.biometric)
    #expect(driven.asked == [.scan] && driven.problem == nil && driven.step?.scanning == true)
    #expect(driven.say(.biometric) == .ignore)
  }

  @Test("choosing the fallback leads to the passcode, and later events of the reader are ignored")
  func fallback() throws {
    var driven = try DrivenAuthentication.scanning(orPasscode: true)
    driven.say(.fallback)
    #expect(driven.asked == [])
    #expect(driven.step?.methods == [.passcode] && driven.step?.scanning == false)
    #expect(driven.answer(.scanned(.matched)) == .ignore)
    #expect(driven.answer(.hint("again")) == .ignore)
  }

  @Test("a passcode during a fingerprint scan is accepted only if usePasscodeWhenFailed is set")
  func passcodeWhileScanning() throws {
    var driven = try DrivenAuthentication.scanning(orPasscode: true)
    driven.say(.passcode(passcode))
    #expect(driven.asked == [.check(passcode: passcode, insteadOf: .biometric)])
    driven.answer(.checked(.wrong(attemptsLeft: 4)))
    #expect(driven.step?.methods == [.biometric, .passcode] && driven.step?.scanning == false)

    driven = try DrivenAuthentication.scanning()
    #expect(driven.say(.passcode(passcode)) == .ignore)
  }

  @Test("a wrong passcode can be typed again, and the remaining attempts are shown")
  func wrongPasscode() throws {
    var driven = try DrivenAuthentication.checking()
    driven.answer(.checked(.wrong(attemptsLeft: 3)))
    #expect(driven.state == "asking" && driven.asked == [])
    #expect(driven.problem?.reason == "wrong_passcode")
    #expect(driven.problem?.message == "the passcode is wrong; 3 attempts left")
    driven.say(.passcode(passcode))
    #expect(driven.problem == nil)
  }

  @Test("a locked passcode is asked for again, and the rest of the lock is shown")
  func lockedPasscode() throws {
    var driven = try DrivenAuthentication.checking()
    driven.answer(.checked(.lockedOut(until: soon)), at: now + .seconds(1))
    #expect(driven.state == "asking")
    #expect(driven.problem?.reason == "passcode_locked")
    #expect(driven.problem?.retryAfterMs == 29_000)
    #expect(driven.problem?.message.hasSuffix("for another 29 s") == true)

    driven = try DrivenAuthentication(.passcode)
    driven.look(.noReader, .lockedOut(until: soon))
    #expect(driven.step?.methods == [.passcode])
    #expect(driven.problem?.retryAfterMs == 30_000)
  }

  @Test("a passcode that cannot be checked is asked for again, with the cause")
  func uncheckedPasscode() throws {
    var driven = try DrivenAuthentication.checking()
    driven.answer(.checked(.unavailable("the disk is full")))
    #expect(driven.state == "asking" && driven.problem?.message == "the disk is full")
  }

  @Test(
    "a passcode that has not 1 to 128 characters is refused without a check",
    arguments: ["", String(repeating: "é", count: 129)])
  func impossiblePasscode(text: String) throws {
    var driven = try DrivenAuthentication.asking()
    let before = driven.flow
    guard case .refuse(let field, let message) = driven.say(.passcode(Secret(text))) else {
      Issue.record("the passcode is not refused")
      return
    }
    #expect(field == "input.passcode" && message.hasSuffix("must have 1 to 128 characters"))
    #expect(driven.flow == before)
    driven.say(.passcode(Secret(String(repeating: "é", count: 128))))
    #expect(driven.state == "checking")
  }

  @Test(
    "local/authenticate refuses a blank reason and a reason with a control character",
    arguments: ["", "  ", "a\u{1B}b"])
  func reason(text: String) {
    #expect {
      try DrivenAuthentication(reason: text)
    } throws: { error in
      (error as? UsherError)?.reason == .invalidParams
        && (error as? UsherError)?.detail.field == "params.reason"
    }
  }

  @Test("local/authenticate neither checks for changed fingers nor uses the passcode by default")
  func defaults() throws {
    var driven = try DrivenAuthentication(.init(localAuthType: .biometric, reason: "r"))
    driven.look(.ready(hasChanged: true))
    #expect(driven.step?.methods == [.biometric])
    for _ in 1...3 { driven.answer(.scanned(.missed)) }
    #expect(driven.word == "AUTH_FAILED")
  }

  @Test("local/authenticate refuses the localAuthType none")
  func none() throws {
    let schema = StrictDecoding.schema(of: LocalAuthenticate.Params.self)
    let params: JSONValue = ["localAuthType": "none", "reason": "r"]
    #expect(throws: UsherError.self) {
      try StrictDecoding.decode(LocalAuthenticate.Params.self, from: params, schema: schema)
    }
  }
}

@Suite("Local authentication after a restart")
struct LocalAuthRestartTests {
  @Test("a local/authenticate restarted before the state of the reader is known asks for it again")
  func looking() throws {
    var driven = try DrivenAuthentication()
    try driven.restart()
    #expect(driven.asked == [.availability] && driven.problem == nil)
  }

  @Test(
    "a usherd restarted during a fingerprint scan scans again and keeps the count of wrong fingers")
  func scanning() throws {
    var driven = try DrivenAuthentication.scanning(orPasscode: true)
    driven.answer(.scanned(.missed))
    driven.answer(.scanned(.missed))
    try driven.restart()
    #expect(driven.asked == [.availability] && driven.state == "looking")
    driven.look()
    #expect(driven.asked == [.scan] && driven.problem == .interrupted)
    driven.answer(.scanned(.missed))
    #expect(driven.step?.methods == [.passcode], "the wrong fingers before the restart count")
  }

  @Test("a usherd restarted during a passcode check asks for the passcode and scans no fingerprint")
  func checking() throws {
    var driven = try DrivenAuthentication.scanning(orPasscode: true)
    driven.say(.passcode(passcode))
    try driven.restart()
    #expect(driven.asked == [.availability])
    driven.look()
    #expect(driven.asked == [] && driven.problem == .interrupted)
    #expect(driven.step?.methods == [.biometric, .passcode] && driven.step?.scanning == false)
  }

  @Test(
    "a usherd restarted after the fallback to the passcode does not offer the fingerprint again")
  func leftFinger() throws {
    var driven = try DrivenAuthentication.scanning(orPasscode: true)
    driven.say(.fallback)
    driven.say(.passcode(passcode))
    try driven.restart()
    #expect(driven.asked == [.passcodeAvailability])
    driven.look()
    #expect(driven.step?.methods == [.passcode] && driven.problem == .interrupted)
  }

  @Test("a restart of usherd changes nothing while local/authenticate asks for the passcode")
  func asking() throws {
    var driven = try DrivenAuthentication.asking()
    let view = driven.flow.view
    try driven.restart()
    #expect(driven.last == .ignore && driven.flow.view == view)
  }

  @Test("local/authenticate shows a passcode lock after a restart of usherd only while it lasts")
  func lockedWhileAsking() throws {
    for (availability, reason) in [
      (LocalAuthAvailability.Passcode.lockedOut(until: soon), "passcode_locked"), (.ready, nil),
    ] as [(LocalAuthAvailability.Passcode, String?)] {
      var driven = try DrivenAuthentication.checking()
      driven.answer(.checked(.lockedOut(until: soon)), at: now + .seconds(1))
      try driven.restart()
      driven.look(.noReader, availability)
      #expect(driven.state == "asking" && driven.problem?.reason == reason)
    }
  }

  @Test("local/authenticate shows a passcode lock, not the interruption, after a restart of usherd")
  func locked() throws {
    var driven = try DrivenAuthentication.checking()
    try driven.restart()
    driven.look(.noReader, .lockedOut(until: soon))
    #expect(driven.problem?.reason == "passcode_locked")
  }
}
