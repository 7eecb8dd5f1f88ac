import Testing

@testable import UsherSystem

@Suite("Meaning of fprintd's replies")
struct FingerprintAnswersTests {
  @Test(
    "every verify status of fprintd is a hint, a verdict or the end of the scan",
    arguments: [
      ("verify-match", true, VerifyStatus.ended(.verdict(.match))),
      ("verify-no-match", true, .ended(.verdict(.noMatch))),
      ("verify-retry-scan", false, .continues(.retryScan)),
      ("verify-swipe-too-short", false, .continues(.swipeTooShort)),
      ("verify-finger-not-centered", false, .continues(.fingerNotCentered)),
      ("verify-remove-and-retry", false, .continues(.removeAndRetry)),
      ("verify-disconnected", true, .ended(.disconnected)),
      ("verify-disconnected", false, .ended(.disconnected)),
      ("verify-unknown-error", true, .ended(.failed("verify-unknown-error"))),
    ])
  func known(status: String, isDone: Bool, meaning: VerifyStatus) {
    #expect(VerifyStatus(status: status, isDone: isDone) == meaning)
  }

  @Test("an unknown verify status is a retry hint while the scan runs, and a failure at its end")
  func unknown() {
    #expect(VerifyStatus(status: "verify-too-fast", isDone: false) == .continues(.retryScan))
    #expect(VerifyStatus(status: "verify-match!", isDone: true) == .ended(.failed("verify-match!")))
    #expect(
      VerifyStatus(status: "verify-retry-scan", isDone: true)
        == .ended(.failed("verify-retry-scan")))
    #expect(VerifyStatus(status: "a\nb", isDone: true) == .ended(.failed(#"a\nb"#)))
  }

  @Test("a verify-match or verify-no-match that does not end the scan is a failure")
  func halfMatch() {
    #expect(VerifyStatus(status: "verify-match", isDone: false) == .ended(.failed("verify-match")))
    #expect(
      VerifyStatus(status: "verify-no-match", isDone: false) == .ended(.failed("verify-no-match")))
  }

  @Test(
    "every D-Bus error name has its fingerprint error",
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

  @Test("a D-Bus error text is escaped and shortened to 200 characters")
  func lines() {
    let text = "a\nb" + String(repeating: "x", count: 1000)
    let failure = FingerprintError(
      .refused(name: "net.reactivated.Fprint.Error.PermissionDenied", text: text))
    #expect(failure == .notPermitted(#"a\nb"# + String(repeating: "x", count: 197)))
  }

  @Test("an interrupted, late or disconnected D-Bus call has its fingerprint error")
  func noAnswer() {
    #expect(FingerprintError(.interrupted) == .cancelled)
    #expect(FingerprintError(.late) == .unavailable("no answer in time"))
    #expect(
      FingerprintError(.disconnected("Broken pipe"))
        == .unavailable("no message bus: Broken pipe"))
  }
}
