import Testing

@testable import UsherSystem

@Suite("What fprintd's words mean")
struct FingerprintAnswersTests {
  @Test(
    "every status is a hint, a verdict, or the end",
    arguments: [
      ("verify-match", true, VerifyStatus.ended(.verdict(.match))),
      ("verify-no-match", true, .ended(.verdict(.noMatch))),
      ("verify-retry-scan", false, .goesOn(.retryScan)),
      ("verify-swipe-too-short", false, .goesOn(.swipeTooShort)),
      ("verify-finger-not-centered", false, .goesOn(.fingerNotCentered)),
      ("verify-remove-and-retry", false, .goesOn(.removeAndRetry)),
      ("verify-disconnected", true, .ended(.disconnected)),
      ("verify-disconnected", false, .ended(.disconnected)),
      ("verify-unknown-error", true, .ended(.failed("verify-unknown-error"))),
    ])
  func known(word: String, isDone: Bool, meaning: VerifyStatus) {
    #expect(VerifyStatus(word: word, isDone: isDone) == meaning)
  }

  @Test("a word of tomorrow is one more try while the scan goes on, and never a match")
  func unknown() {
    #expect(VerifyStatus(word: "verify-too-fast", isDone: false) == .goesOn(.retryScan))
    #expect(VerifyStatus(word: "verify-match!", isDone: true) == .ended(.failed("verify-match!")))
    #expect(
      VerifyStatus(word: "verify-retry-scan", isDone: true) == .ended(.failed("verify-retry-scan")))
    #expect(VerifyStatus(word: "a\nb", isDone: true) == .ended(.failed(#"a\nb"#)))
  }

  @Test("a match that does not end the scan is none")
  func halfMatch() {
    #expect(VerifyStatus(word: "verify-match", isDone: false) == .ended(.failed("verify-match")))
    #expect(
      VerifyStatus(word: "verify-no-match", isDone: false) == .ended(.failed("verify-no-match")))
  }

  @Test(
    "every error has its trouble",
    arguments: [
      ("net.reactivated.Fprint.Error.NoSuchDevice", FingerprintError.noReader),
      ("net.reactivated.Fprint.Error.NoEnrolledPrints", .notEnrolled),
      ("net.reactivated.Fprint.Error.AlreadyInUse", .inUse),
      ("net.reactivated.Fprint.Error.PermissionDenied", .notPermitted("so it is")),
      ("org.freedesktop.DBus.Error.AccessDenied", .notPermitted("so it is")),
      ("org.freedesktop.DBus.Error.UnknownMethod", .unplugged),
      ("org.freedesktop.DBus.Error.UnknownObject", .unplugged),
      (
        "net.reactivated.Fprint.Error.Internal",
        .unavailable("net.reactivated.Fprint.Error.Internal: so it is")
      ),
      (
        "net.reactivated.Fprint.Error.ClaimDevice",
        .unavailable("net.reactivated.Fprint.Error.ClaimDevice: so it is")
      ),
      (
        "net.reactivated.Fprint.Error.NoActionInProgress",
        .unavailable("net.reactivated.Fprint.Error.NoActionInProgress: so it is")
      ),
      ("org.freedesktop.DBus.Error.NoReply", .unavailable("fprintd ended")),
      ("org.freedesktop.DBus.Error.NameHasNoOwner", .unavailable("fprintd ended")),
      ("org.freedesktop.DBus.Error.ServiceUnknown", .unavailable("fprintd ended")),
      (
        "org.freedesktop.DBus.Error.LimitsExceeded",
        .unavailable("org.freedesktop.DBus.Error.LimitsExceeded: so it is")
      ),
    ])
  func errors(name: String, failure: FingerprintError) {
    #expect(FingerprintError(.refused(name: name, text: "so it is")) == failure)
  }

  @Test("words from elsewhere are one short line")
  func lines() {
    let text = "a\nb" + String(repeating: "x", count: 1000)
    let failure = FingerprintError(
      .refused(name: "net.reactivated.Fprint.Error.PermissionDenied", text: text))
    #expect(failure == .notPermitted(#"a\nb"# + String(repeating: "x", count: 197)))
  }

  @Test("what is no answer is trouble, too")
  func noAnswer() {
    #expect(FingerprintError(.interrupted) == .cancelled)
    #expect(FingerprintError(.late) == .unavailable("no answer in time"))
    #expect(
      FingerprintError(.disconnected("Broken pipe"))
        == .unavailable("no message bus: Broken pipe"))
  }
}
