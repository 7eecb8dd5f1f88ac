import Testing
import UsherAPI
import UsherCore
import UsherFlows

/// A way to fail, and the SDK's error code for the failure.
private struct Ending: Sendable, CustomTestStringConvertible {
  let word: LocalAuthErrorCode
  let cause: String
  let drive: @Sendable () throws -> DrivenAuthentication

  var testDescription: String { "\(cause): \(word.rawValue)" }

  init(
    _ word: LocalAuthErrorCode, _ cause: String,
    _ drive: @escaping @Sendable () throws -> DrivenAuthentication
  ) {
    self.word = word
    self.cause = cause
    self.drive = drive
  }

  init(
    _ word: LocalAuthErrorCode, _ cause: String, looking biometric: LocalAuthAvailability.Biometric
  ) {
    self.init(word, "\(cause), at once") {
      var driven = try DrivenAuthentication()
      driven.look(biometric)
      return driven
    }
  }

  init(_ word: LocalAuthErrorCode, _ cause: String, scanned outcome: ScanOutcome) {
    self.init(word, "\(cause), at the scan") {
      var driven = try DrivenAuthentication.scanning()
      driven.answer(.scanned(outcome))
      return driven
    }
  }
}

private let endings: [Ending] = [
  Ending(.biometricNotSupportHardware, "no reader", looking: .noReader),
  Ending(.biometricNotSupportHardware, "no reader", scanned: .noReader),
  Ending(.biometricNotAvailable, "the reader is in use", looking: .unavailable("it is in use")),
  Ending(.biometricNotAvailable, "unplugged", scanned: .unavailable("it went away")),
  Ending(.biometricNotEnrolledDevice, "no prints", looking: .notEnrolled),
  Ending(.biometricNotEnrolledDevice, "no prints", scanned: .notEnrolled),
  Ending(.biometricLockOut, "locked before", looking: .lockedOut(until: soon)),
  Ending(.biometricLockOut, "five wrong in a row", scanned: .lockedOut(until: soon)),
  Ending(.domainStateChanged, "other fingers, and checked") {
    var driven = try DrivenAuthentication(checksFingers: true)
    driven.look(.ready(hasChanged: true))
    return driven
  },
  Ending(.domainStateChanged, "other fingers, and checked, though the passcode would do") {
    var driven = try DrivenAuthentication(orPasscode: true, checksFingers: true)
    driven.look(.ready(hasChanged: true))
    return driven
  },
  Ending(.authFailed, "three wrong fingers") {
    var driven = try DrivenAuthentication.scanning()
    for _ in 1...3 { driven.answer(.scanned(.missed)) }
    return driven
  },
  Ending(.passcodeNotEnrolledDevice, "no passcode") {
    var driven = try DrivenAuthentication(.passcode)
    driven.look(.ready(hasChanged: false), .notEnrolled)
    return driven
  },
  Ending(.passcodeNotEnrolledDevice, "neither reader nor passcode") {
    var driven = try DrivenAuthentication(orPasscode: true)
    driven.look(.noReader, .notEnrolled)
    return driven
  },
  Ending(.passcodeNotEnrolledDevice, "three wrong fingers, and no passcode to go on to") {
    var driven = try DrivenAuthentication(orPasscode: true)
    driven.look(.ready(hasChanged: false), .notEnrolled)
    for _ in 1...3 { driven.answer(.scanned(.missed)) }
    return driven
  },
  Ending(.passcodeNotEnrolledDevice, "fallback, and no passcode to go on to") {
    var driven = try DrivenAuthentication(orPasscode: true)
    driven.look(.ready(hasChanged: false), .notEnrolled)
    driven.say(.fallback)
    return driven
  },
  Ending(.passcodeNotEnrolledDevice, "taken away while it was checked") {
    var driven = try DrivenAuthentication.checking()
    driven.answer(.checked(.notEnrolled))
    return driven
  },
  Ending(.userCancel, "cancel while scanning") {
    var driven = try DrivenAuthentication.scanning()
    driven.say(.cancelLocalAuth)
    return driven
  },
  Ending(.userCancel, "cancel at the passcode") {
    var driven = try DrivenAuthentication.asking()
    driven.say(.cancelLocalAuth)
    return driven
  },
  Ending(.userFallback, "fallback without the flag") {
    var driven = try DrivenAuthentication.scanning()
    driven.say(.fallback)
    return driven
  },
  Ending(.userFallback, "fallback where only the passcode was wanted") {
    var driven = try DrivenAuthentication.asking()
    driven.say(.fallback)
    return driven
  },
  Ending(.userFallback, "fallback a second time") {
    var driven = try DrivenAuthentication.scanning(orPasscode: true)
    driven.say(.fallback)
    driven.say(.fallback)
    return driven
  },
]

@Suite("Error codes of a failed local authentication")
struct LocalAuthWordTests {
  @Test(
    "each cause of a failed local authentication has the SDK's error code and a message",
    arguments: endings)
  fileprivate func ends(_ ending: Ending) throws {
    let driven = try ending.drive()
    #expect(driven.word == ending.word.rawValue)
    let failure = try #require(driven.failure)
    #expect(failure.reason == (ending.word == .userCancel ? .cancelled : .localAuthFailed))
    #expect(failure.provider?.name == ProviderName("local"))
    #expect(!failure.title.isEmpty && !failure.message.isEmpty && failure.retryable)
  }

  @Test("the tests have a cause for each error code of a failed local authentication")
  func complete() {
    #expect(Set(endings.map(\.word)) == Set(LocalAuthErrorCode.allCases))
  }

  @Test(
    "the local authentication error codes are spelled as in the SDK, which misspells one of them")
  func spelling() {
    #expect(
      LocalAuthErrorCode.allCases.map(\.rawValue) == [
        "DOMAIN_STATE_CHANGED", "BIOMETRIC_NOT_AVILABLE", "BIOMETRIC_NOT_SUPPORT_HARDWARE",
        "BIOMETRIC_LOCK_OUT", "BIOMETRIC_NOT_ENROLLED_DEVICE", "PASSCODE_NOT_ENROLLED_DEVICE",
        "USER_CANCEL", "USER_FALLBACK", "AUTH_FAILED",
      ])
    for word in LocalAuthErrorCode.allCases {
      #expect(LocalAuthErrorCode(written: word.rawValue) == word)
    }
    #expect(LocalAuthErrorCode(written: "BIOMETRIC_NOT_AVAILABLE") == .biometricNotAvailable)
    #expect(LocalAuthErrorCode(written: "biometric_not_available") == nil)
  }

  @Test(
    "a cancelled local/authenticate has the error code USER_CANCEL, and an expired one has none")
  func givenUp() {
    let name = ProviderName("local")
    #expect(
      LocalAuthenticate.providerErrorCode(for: .cancelled, provider: name)?.code == "USER_CANCEL")
    #expect(LocalAuthenticate.providerErrorCode(for: .expired, provider: name) == nil)
  }

  @Test("the failure for a locked fingerprint reader says how long the reader stays locked")
  func timeLeft() throws {
    var driven = try DrivenAuthentication()
    driven.look(.lockedOut(until: now + .seconds(299)))
    #expect(driven.failure?.message.hasSuffix("locked for another 4 min 59 s") == true)
  }

  @Test(
    "a duration is written in hours, minutes and seconds, rounded up",
    arguments: [
      (0, "0 s"), (1, "1 s"), (1000, "1 s"), (1001, "2 s"), (60_000, "1 min"),
      (3_600_000, "1 h"), (3_661_000, "1 h 1 min 1 s"), (-5, "0 s"),
    ])
  func words(milliseconds: Int, words: String) {
    #expect(Duration.milliseconds(milliseconds).inWords == words)
  }
}
