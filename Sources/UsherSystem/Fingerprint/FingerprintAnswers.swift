/// The result of a fingerprint scan.
package enum FingerprintVerdict: Sendable, Equatable {
  /// The scanned finger is one of the user's enrolled fingers.
  case match
  /// The scanned finger is none of the user's enrolled fingers.
  case noMatch
}

/// Why the user has to present the finger again during a scan, as a sentence for the user. The scan
/// continues.
package enum FingerprintHint: String, Sendable, Equatable {
  /// The finger was not read. Also stands for reasons that this version of usherd does not know.
  case retryScan = "the reader could not read the finger: touch it again"
  case swipeTooShort = "that was too short: swipe again"
  case fingerNotCentered = "the finger was not in the middle: touch again"
  case removeAndRetry = "take the finger away, then touch again"
}

/// Why a fingerprint scan has no verdict.
package enum FingerprintError: Error, Equatable {
  /// The machine has no fingerprint reader, or fprintd is not installed.
  case noReader
  /// The user has no enrolled fingerprint.
  case notEnrolled
  /// Another process, or another call in this process, has claimed the reader.
  case inUse
  /// The reader was disconnected or stopped responding during the scan.
  case unplugged
  /// fprintd refused the call, usually because polkit does not allow it, or the user name is
  /// invalid. Carries the reason as text.
  case notPermitted(String)
  /// The bus or fprintd does not answer, or the reader reports an error. Carries one line of text
  /// for the journal.
  case unavailable(String)
  /// The Swift task was cancelled or the ``FingerprintReader`` was closed.
  case cancelled
  /// The scan had no result within the time limit.
  case timedOut
}

extension FingerprintError {
  /// Maps a bus error: fprintd's `net.reactivated.Fprint.Error.*` and D-Bus's own errors.
  init(_ failure: BusError) {
    self =
      switch failure {
      case .refused(let name, let text): Self.refused(name, Self.brief(text))
      case .disconnected(let words): .unavailable("no message bus: \(words)")
      case .gone: .unavailable("fprintd ended")
      case .malformed: .unavailable("fprintd's answer does not match its interface")
      case .late: .unavailable("no answer in time")
      case .interrupted: .cancelled
      }
  }

  private static func refused(_ name: String, _ text: String) -> FingerprintError {
    switch name {
    case "net.reactivated.Fprint.Error.NoSuchDevice": .noReader
    case "net.reactivated.Fprint.Error.NoEnrolledPrints": .notEnrolled
    case "net.reactivated.Fprint.Error.AlreadyInUse": .inUse
    case "net.reactivated.Fprint.Error.PermissionDenied",
      "org.freedesktop.DBus.Error.AccessDenied":
      .notPermitted(text)
    // GLib, which fprintd uses, reports these errors for an object that no longer exists.
    case "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.UnknownObject":
      .unplugged
    // The bus reports these errors if fprintd exited before or during the call.
    case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.NameHasNoOwner",
      "org.freedesktop.DBus.Error.ServiceUnknown":
      Self(.gone)
    default: .unavailable("\(brief(name)): \(text)")
    }
  }

  private static func brief(_ text: String) -> String { Printable.line(String(text.prefix(200))) }
}

/// The meaning of fprintd's D-Bus signal `VerifyStatus`: interface net.reactivated.Fprint.Device,
/// "Verify Statuses".
enum VerifyStatus: Equatable {
  case continues(FingerprintHint)
  case ended(End)

  enum End: Equatable {
    case verdict(FingerprintVerdict)
    case disconnected
    case failed(String)
  }

  /// Interprets the signal's status word and its flag that says whether the scan has ended.
  ///
  /// An unknown word is a hint while the scan continues, and a failure if it ended the scan. A
  /// verdict that does not end the scan is a failure too.
  init(status: String, isDone: Bool) {
    self =
      switch (status, isDone) {
      case ("verify-match", true): .ended(.verdict(.match))
      case ("verify-no-match", true): .ended(.verdict(.noMatch))
      case ("verify-disconnected", _): .ended(.disconnected)
      case (_, true), ("verify-match", _), ("verify-no-match", _), ("verify-unknown-error", _):
        .ended(.failed(Printable.line(String(status.prefix(100)))))
      case ("verify-swipe-too-short", _): .continues(.swipeTooShort)
      case ("verify-finger-not-centered", _): .continues(.fingerNotCentered)
      case ("verify-remove-and-retry", _): .continues(.removeAndRetry)
      default: .continues(.retryScan)
      }
  }
}
