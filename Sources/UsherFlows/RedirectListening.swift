import FoundationEssentials
import UsherAPI
import UsherConfig
import UsherCore

/// Whether the daemon itself receives the browser's redirect after a sign-in.
enum ListenerState: String, Codable, Sendable, Equatable {
  case up
  /// The daemon was restarted and is opening a listener at the old port again, so that the page
  /// which is open in the browser still works.
  case restoring
  /// There is no listener, because the fixed port is in use or the app receives the redirect
  /// itself: a client must submit the redirect's URL.
  case none

  var completes: Step.OpenURL.Completion { self == .none ? .submit : .loopback }
}

extension Redirect {
  var isFixed: Bool { if case .fixed = self { true } else { false } }

  /// Returns the fixed redirect URI, exactly as configured and registered at the provider, plus the
  /// flow's secret path segment if the provider needs one; nil if the port is ephemeral.
  func fixedURI(_ state: Secret, _ form: RedirectForm) -> String? {
    switch self {
    case .loopback, .localhost, .anyPort: nil
    case .fixed(let fixed): form.place(fixed.text, state)
    }
  }

  /// Returns the redirect that the listener has to wait for.
  ///
  /// - Parameter earlier: The redirect URI that the flow had before the daemon was restarted; its
  ///   port is requested again. Nil if the flow had none.
  func expectation(
    state: Secret, earlier: String? = nil, form: RedirectForm = .oauth
  ) -> RedirectExpectation {
    let port = earlier.flatMap { URLComponents(string: $0)?.port }
    return switch self {
    case .loopback, .localhost:
      RedirectExpectation(
        host: "127.0.0.1", port: port, path: form.place(path, state), state: state,
        form: form, isLocalhost: self == .localhost)
    case .anyPort(let portless):
      RedirectExpectation(
        host: portless.host, port: port, path: form.place(path, state), state: state,
        form: form, isLocalhost: portless.isLocalhost)
    case .fixed(let fixed):
      RedirectExpectation(
        host: fixed.host, port: fixed.port, path: form.place(path, state), state: state,
        form: form, isLocalhost: fixed.isLocalhost)
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
  /// The problem that no listener is open, so the user has to paste the URL.
  ///
  /// - Parameter message: Why there is no listener, and which user holds the port if that is known.
  static func noListener(_ message: String) -> Problem {
    Problem(
      reason: "no_listener", title: "No callback from the browser",
      message: "\(message); paste the address that the browser ends at")
  }
}

extension Failure {
  /// The failure of a flow whose redirect another user's program may receive.
  ///
  /// - Parameter message: Why there is no listener, and which user holds the port if that is known.
  static func unsafeReturn(_ message: String) -> Failure {
    Failure(
      reason: .invalidRequest, title: "No safe callback from the browser",
      message:
        "\(message), so that another user may get the provider's answer: do not sign in at a page "
        + "that is still open; free the port or change the provider's redirect, then start again",
      retryable: true)
  }

  static let neitherCodeNorError = Failure.protocolError(
    "the provider's answer has neither a code nor an error")

  /// The failure of a flow for which the daemon lacks a resource to open a listener.
  ///
  /// - Parameter message: A sentence that names the missing resource and the remedy.
  static func busy(_ message: String) -> Failure {
    Failure(
      reason: .overloaded, title: "Too busy for a callback from the browser",
      message: "\(message); close a page of this sign-in that is still open, then start again",
      retryable: true)
  }

  static func noListener(_ message: String) -> Failure {
    Failure(
      reason: .invalidRequest, title: "No callback from the browser",
      message: "no loopback port can be opened: \(message)", retryable: true)
  }
}
