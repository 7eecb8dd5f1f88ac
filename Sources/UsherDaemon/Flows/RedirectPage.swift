import UsherAPI
import UsherFlows

/// The page that the browser shows after the provider has redirected it to the loopback listener.
enum RedirectPage: Sendable, Equatable {
  /// The sign-in has succeeded: the authorization code is redeemed, and the account is stored.
  case signedIn
  /// The session at the provider has ended.
  case signedOut
  /// The sign-in failed. Carries the reason as a sentence without a full stop; nil if it is
  /// unknown.
  case notSignedIn(String?)
  /// The user has to sign in again on the provider's page. Carries the reason as a sentence without
  /// a full stop.
  case again(String)
  /// The flow is still active: the outcome of the sign-in is not known yet, or the client program
  /// shows the user another step.
  case pending
  /// No flow waits for this redirect. The page does not reveal whether a flow waited before, or
  /// whose.
  case notOurs
  case otherUser, onlyGET, onlyPOST, tooLong, unknown, busy

  /// Creates the page that shows a flow's state after the flow has received the provider's answer.
  ///
  /// - Parameter kind: The kind of the flow.
  init(_ snapshot: LiveFlow.Snapshot, kind: String) {
    switch snapshot.ending.status {
    case .succeeded: self = kind == OIDCEndSession.kind ? .signedOut : .signedIn
    case .failed, .cancelled, .expired: self = .notSignedIn(snapshot.ending.failure?.message)
    case .active:
      guard case .openURL = snapshot.view.step, let problem = snapshot.view.problem else {
        self = .pending
        return
      }
      self = .again(problem.message)
    }
  }

  var status: Int {
    switch self {
    case .signedIn, .signedOut, .notSignedIn, .again, .pending: 200
    case .notOurs: 400
    case .otherUser: 403
    case .unknown: 404
    case .onlyGET, .onlyPOST: 405
    case .tooLong: 413
    case .busy: 503
    }
  }

  private static let nothingWaits = """
    It may be finished, cancelled or expired: your terminal or program shows how it ended. \
    If it is still open there, start again from there.
    """

  private var text: (title: String, sentence: String) {
    switch self {
    case .signedIn: ("Signed in", "You may close this tab.")
    case .signedOut: ("Signed out", "You may close this tab.")
    case .notSignedIn(nil):
      ("Not signed in", "The provider did not sign you in. You may close this tab.")
    case .notSignedIn(let reason?):
      ("Not signed in", "The sign-in failed: \(reason). You may close this tab.")
    case .again(let reason):
      (
        "Not finished",
        "The sign-in is not finished: \(reason). Go back to your terminal or program."
      )
    case .pending:
      ("Almost done", "Go back to your terminal or program to finish the sign-in.")
    case .notOurs:
      (
        "No such sign-in",
        "No sign-in on this machine is waiting for this answer. " + Self.nothingWaits
      )
    case .otherUser:
      ("Another user's sign-in", "This sign-in was started by another user of this machine.")
    case .onlyGET: ("Wrong method", "Only GET requests are accepted here.")
    case .onlyPOST:
      (
        "Wrong method",
        "The provider sent its answer in the address, but this sign-in asked for a form: the "
          + "administrator should change response_mode in usherd's configuration."
      )
    case .tooLong: ("Too long", "The provider's answer is too long.")
    case .unknown:
      ("No such sign-in", "No sign-in is waiting at this address. " + Self.nothingWaits)
    case .busy: ("Busy", "This answer cannot be checked at the moment. Reload this page.")
    }
  }

  private var color: String {
    [.signedIn, .signedOut, .pending].contains(self) ? "#15803d" : "#b45309"
  }

  var html: String {
    """
    <!doctype html><html lang="en"><meta charset="utf-8"><title>\(text.title)</title>
    <meta name="viewport" content="width=device-width">
    <style>
    :root{color-scheme:light dark}
    body{font:1.1rem/1.5 system-ui,sans-serif;margin:20vh auto;max-width:32rem;padding:0 1rem}
    main{border-left:.4rem solid \(color);padding:.1rem 1.5rem}
    footer{margin-top:2rem;font-size:.9rem;opacity:.7}
    </style><main><h1>\(text.title)</h1><p>\(text.sentence.escapedForHTML)</p></main>
    <footer>This page comes from usherd, on this machine.</footer></html>

    """
  }
}

extension String {
  /// The string with HTML's special characters escaped: a provider's text may contain them.
  fileprivate var escapedForHTML: String {
    var escaped = ""
    for character in unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
