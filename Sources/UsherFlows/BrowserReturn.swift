import FoundationEssentials
import UsherAPI
import UsherConfig
import UsherCore

/// Whether the daemon itself receives the browser's redirect.
enum ListenerState: String, Codable, Sendable, Equatable {
  case up
  /// The daemon was restarted and requests the old port again, so that the open page still works.
  case restoring
  /// The fixed port is in use, or the app receives the redirect itself: a client must submit the
  /// URL.
  case none

  var completes: Step.OpenURL.Completion {
    switch self {
    case .up, .restoring: .loopback
    case .none: .submit
    }
  }
}

/// The redirect that a flow waits for while its user is at the provider's page (RFC 8252 §7).
struct BrowserReturn: Equatable {
  let redirectURI: String
  let listener: ListenerState
  /// The `state` that the redirect must carry.
  let state: Secret
  /// The configured redirect to listen at; nil if the daemon never listens.
  let redirect: Redirect?
  /// Whether PKCE makes a stolen code useless to another local user (RFC 7636).
  let hasPKCE: Bool
  var form = RedirectForm.oauth

  /// The meaning of an event to a flow that waits for the redirect.
  enum Outcome: Equatable {
    case redirected(AuthorizationResponse)
    /// A restart closed the listener: it is requested again.
    case listenAgain(RedirectExpectation)
    case listener(ListenerState, Problem?)
    case failed(Failure)
    /// The old port is not available, so the redirect of the open page will not arrive.
    case listenerLost
    case refused(field: String, message: String)
    case nothing
  }

  func outcome<Call>(of event: FlowEvent<Call>) -> Outcome {
    switch event {
    case .browser(.redirected(let answer)): return .redirected(answer)
    case .input(.redirect(let url)): return submittedURL(url)
    case .input(.back): return .refused(field: "input.back", message: "there is no previous step")
    case .daemon(.resumed):
      guard let redirect else { return .nothing }
      return .listenAgain(redirect.expectation(state: state, earlier: redirectURI, form: form))
    case .browser(.listening(let uri)) where listener == .restoring:
      return uri == redirectURI || isFixed ? .listener(.up, nil) : .listenerLost
    case .browser(.listenFailed(let message, _, isBusy: true))
    where listener == .restoring && !(isFixed && hasPKCE):
      return .failed(.busy(message))
    // The page that is open in the browser redirects to another user's program.
    case .browser(.listenFailed(let message, mayReachAnother: true, _))
    where listener == .restoring && !hasPKCE:
      return .failed(.unsafeReturn(message))
    case .browser(.listenFailed(let message, let isAnothers, _)) where listener == .restoring:
      return isFixed ? .listener(.none, isAnothers ? .noListener(message) : nil) : .listenerLost
    case .input, .browser, .provider, .daemon, .woken:
      return .nothing
    }
  }

  private var isFixed: Bool { redirect?.isFixed ?? false }

  private func submittedURL(_ url: Secret) -> Outcome {
    let field = "input.redirectURL"
    switch RedirectParseResult(pasted: url, redirectURI: redirectURI, state: state, form: form) {
    case .accepted(let answer): return .redirected(answer)
    case .unrelated:
      return .refused(field: field, message: "this URL is not the answer to this sign-in")
    case .refused(let message): return .refused(field: field, message: message)
    }
  }
}

extension Redirect {
  /// The meaning of an event to a flow that waits for its listener to open.
  enum Opening: Equatable {
    case open(redirectURI: String, ListenerState, Problem?)
    case listenAgain(RedirectExpectation)
    case failed(Failure)
    case nothing
  }

  /// Returns the next step of a flow that waits for its listener to open.
  ///
  /// - Parameter hasPKCE: Whether PKCE makes a stolen code useless to another local user (RFC
  ///   7636). If it is false and another user may hold the port, the flow fails and the user is not
  ///   sent to the provider.
  func opening<Call>(
    _ event: FlowEvent<Call>, state: Secret, hasPKCE: Bool, form: RedirectForm = .oauth
  ) -> Opening {
    switch event {
    case .browser(.listening(let redirectURI)):
      return .open(redirectURI: fixedURI(state, form) ?? redirectURI, .up, nil)
    case .browser(.listenFailed(let message, let isAnothers, let isBusy)):
      guard let redirectURI = fixedURI(state, form) else {
        return .failed(isBusy ? .busy(message) : .noListener(message))
      }
      guard hasPKCE || !isAnothers else {
        return .failed(isBusy ? .busy(message) : .unsafeReturn(message))
      }
      return .open(
        redirectURI: redirectURI, .none, isAnothers ? .noListener(message) : nil)
    case .daemon(.resumed): return .listenAgain(expectation(state: state, form: form))
    case .input, .browser, .provider, .daemon, .woken:
      return .nothing
    }
  }

  var isFixed: Bool {
    switch self {
    case .loopback: false
    case .fixed: true
    }
  }

  /// The redirect URI exactly as configured and registered at the provider, plus the flow's secret
  /// path segment if the provider needs one; nil for an ephemeral port.
  private func fixedURI(_ state: Secret, _ form: RedirectForm) -> String? {
    switch self {
    case .loopback: nil
    case .fixed(let fixed): form.place(fixed.text, state)
    }
  }

  /// Returns the description of the expected redirect.
  ///
  /// - Parameter earlier: The redirect URI before a restart: its port is requested again.
  func expectation(
    state: Secret, earlier: String? = nil, form: RedirectForm = .oauth
  ) -> RedirectExpectation {
    switch self {
    case .loopback:
      RedirectExpectation(
        host: "127.0.0.1", port: earlier.flatMap { URLComponents(string: $0)?.port },
        path: form.place("/callback", state), state: state, form: form)
    case .fixed(let fixed):
      RedirectExpectation(
        host: fixed.host, port: fixed.port, path: form.place(fixed.path, state), state: state,
        form: form)
    }
  }
}

extension AuthorizationResponse {
  /// Returns the failure of a sign-in that this redirect ends (RFC 6749 §4.1.2.1); nil if it
  /// reports no error.
  func failure(_ provider: ProviderName) -> Failure? {
    guard let error else { return nil }
    let errorCode = ProviderErrorCode(
      name: provider, code: error.isEmpty ? "unknown" : error, message: errorDescription)
    switch error {
    case "access_denied": return .denied(errorCode)
    case "server_error", "temporarily_unavailable":
      return .unreachable("the provider answers \(error)", errorCode)
    default: return .rejected(errorCode)
    }
  }
}

extension Problem {
  /// - Parameter message: Why there is no listener, and which user holds the port if that is known.
  fileprivate static func noListener(_ message: String) -> Problem {
    Problem(
      reason: "no_listener", title: "No callback from the browser",
      message: "\(message); paste the address that the browser ends at")
  }
}

extension Failure {
  /// - Parameter message: Why there is no listener, and which user holds the port if that is known.
  fileprivate static func unsafeReturn(_ message: String) -> Failure {
    Failure(
      reason: .invalidRequest, title: "No safe callback from the browser",
      message:
        "\(message), so that another user may get the provider's answer: do not sign in at a page "
        + "that is still open; free the port or change the provider's redirect, then start again",
      retryable: true)
  }

  static let neitherCodeNorError = Failure.protocolError(
    "the provider's answer has neither a code nor an error")

  /// - Parameter message: A sentence that names the missing resource and the remedy.
  fileprivate static func busy(_ message: String) -> Failure {
    Failure(
      reason: .overloaded, title: "Too busy for a callback from the browser",
      message: "\(message); close a page of this sign-in that is still open, then start again",
      retryable: true)
  }

  fileprivate static func noListener(_ message: String) -> Failure {
    Failure(
      reason: .invalidRequest, title: "No callback from the browser",
      message: "no loopback port can be opened: \(message)", retryable: true)
  }
}
