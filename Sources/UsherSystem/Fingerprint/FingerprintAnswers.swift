/// What a scan came to.
package enum FingerprintVerdict: Sendable, Equatable {
  /// It is one of the user's fingers.
  case match
  /// It is none of them.
  case noMatch
}

/// Why the finger is wanted once more; the scan goes on.
package enum FingerprintHint: String, Sendable, Equatable {
  /// Also for reasons that this version of usherd does not know.
  case retryScan
  case swipeTooShort
  case fingerNotCentered
  case removeAndRetry
}

/// Why there is no verdict.
package enum FingerprintError: Error, Equatable {
  /// This machine has no reader, or no fprintd.
  case noReader
  /// The user has no print.
  case notEnrolled
  /// Somebody else holds the reader: another process, or another call in this one.
  case inUse
  /// The reader went away, or stopped obeying, in the middle.
  case unplugged
  /// Refused, by polkit mostly: fprintd's words.
  case notPermitted(String)
  /// The bus or fprintd does not answer, or the reader reports an error: words for the journal, one
  /// line.
  case unavailable(String)
  /// The task was cancelled, or the reader closed.
  case cancelled
  /// There was no verdict within the limit.
  case timedOut
}

extension FingerprintError {
  /// For the calls at a reader; fprintd's `net.reactivated.Fprint.Error.*` and D-Bus's own.
  init(_ failure: BusError) {
    self =
      switch failure {
      case .refused(let name, let text): Self.refused(name, Self.brief(text))
      case .disconnected(let words): .unavailable("no message bus: \(words)")
      case .gone: .unavailable("fprintd ended")
      case .malformed: .unavailable("fprintd's answer is not what its interface says")
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
    // What GLib says of an object that was there before.
    case "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.UnknownObject":
      .unplugged
    // The bus's word for who has left, where a call to it is under way or comes later.
    case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.NameHasNoOwner",
      "org.freedesktop.DBus.Error.ServiceUnknown":
      Self(.gone)
    default: .unavailable("\(brief(name)): \(text)")
    }
  }

  private static func brief(_ text: String) -> String { Printable.line(String(text.prefix(200))) }
}

/// What the signal `VerifyStatus` says: net.reactivated.Fprint.Device, "Verify Statuses".
enum VerifyStatus: Equatable {
  case goesOn(FingerprintHint)
  case ended(End)

  enum End: Equatable {
    case verdict(FingerprintVerdict)
    case disconnected
    case failed(String)
  }

  /// A word we do not know is a hint while the scan goes on, and a failure where it ended it. A
  /// verdict that does not end the scan is none.
  init(word: String, isDone: Bool) {
    self =
      switch (word, isDone) {
      case ("verify-match", true): .ended(.verdict(.match))
      case ("verify-no-match", true): .ended(.verdict(.noMatch))
      case ("verify-disconnected", _): .ended(.disconnected)
      case (_, true), ("verify-match", _), ("verify-no-match", _), ("verify-unknown-error", _):
        .ended(.failed(Printable.line(String(word.prefix(100)))))
      case ("verify-swipe-too-short", _): .goesOn(.swipeTooShort)
      case ("verify-finger-not-centered", _): .goesOn(.fingerNotCentered)
      case ("verify-remove-and-retry", _): .goesOn(.removeAndRetry)
      default: .goesOn(.retryScan)
      }
  }
}
