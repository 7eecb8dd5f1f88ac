public import FoundationEssentials
import UsherClient

/// Shows the screens of an authorization, in place of an iOS view controller.
///
/// The app implements the screens; this library has none. A task of this library calls the
/// presenter, for one screen at a time.
public protocol FreedomIDPresenter: AnyObject, Sendable {
  /// Shows a screen in place of the previous one, and returns the person's answer.
  ///
  /// The task is cancelled if the screen ends without an answer: a fingerprint was recognised, the
  /// time is over, or the authorization was cancelled. The returned answer is then ignored. If an
  /// answer is refused, the same screen is shown again, with the problem.
  ///
  /// - Parameters:
  ///   - screen: The screen; its methods create the possible answers.
  ///   - problem: The reason why the previous answer was refused, or the fingerprint reader's
  ///     message.
  func answer(_ screen: FreedomIDScreen, problem: FreedomIDProblem?) async -> FreedomIDAnswer

  /// Opens a page of Freedom ID in the person's browser, and returns the answer to it. Only the
  /// modes `oauth2` and `oidc` have pages.
  ///
  /// ``FreedomIDAnswer/stay`` waits until the person has come back from the page. As with a screen,
  /// the task is cancelled if the page ends without an answer. The presenter must use the person's
  /// browser, not a web view of the program (RFC 8252 §8.12).
  ///
  /// - Parameters:
  ///   - page: The page; it can take the address to which the browser returned.
  ///   - problem: The reason why the person is sent to the page again.
  func answer(_ page: FreedomIDPage, problem: FreedomIDProblem?) async -> FreedomIDAnswer

  /// Removes the last screen. The app gets the outcome after this returns.
  ///
  /// The method is called once, but not if no screen was shown or the presenter was deallocated.
  func finished(_ end: FreedomIDEnd) async
}

extension FreedomIDPresenter {
  /// Opens no page. The default is for an app whose provider is in mode `device`; in another mode
  /// its authorizations end with ``FreedomIDError/configurationError``.
  public func answer(
    _ page: FreedomIDPage, problem: FreedomIDProblem?
  ) async -> FreedomIDAnswer { FreedomIDAnswer(.unable) }

  /// Does nothing. The default makes the method optional.
  public func finished(_ end: FreedomIDEnd) async {}
}

/// A page of Freedom ID on which the person signs in and decides on the grants.
public struct FreedomIDPage: Sendable, Equatable {
  /// The address of the page, `http` or `https`.
  public let url: URL
  /// Whether the daemon notices by itself that the person has come back. If not, the app must
  /// submit the address: ``returned(to:)``.
  public let noticesReturn: Bool

  /// Submits the address to which the browser has returned, for example from another machine.
  public func returned(to url: URL) -> FreedomIDAnswer {
    FreedomIDAnswer(.redirect(url: Secret(url.absoluteString)))
  }
}

/// A person's answer to a screen. Its description omits the typed text.
public struct FreedomIDAnswer: Sendable, Equatable {
  enum Act: Sendable, Equatable {
    case submit(FlowInput)
    case stay
    case giveUp
    /// The presenter opens no pages.
    case unable
  }

  let act: Act

  init(_ act: Act) { self.act = act }

  init(_ input: FlowInput) { act = .submit(input) }

  /// No answer: the screen stays until it ends by itself, as ``FreedomIDScreen/waiting(_:)`` and
  /// ``FreedomIDScreen/fingerprint(_:)`` can.
  public static let stay = FreedomIDAnswer(.stay)

  /// Cancels the authorization, at any screen: ``FreedomIDError/userCanceled``.
  public static let cancel = FreedomIDAnswer(.giveUp)
}

/// The reason why an answer was refused or must be given again.
public struct FreedomIDProblem: Sendable, Equatable {
  /// The code of the problem: `wrong_credentials`, `wrong_code`, `code_expired`, `too_early`,
  /// `denied`, … (pages FreedomID and LocalAuth in Usher.docc). `invalid_input`: the answer is
  /// malformed. `interrupted`: it is unknown whether the answer arrived, and it is asked for again.
  public let reason: String
  /// A message for the person: lower case, no period.
  public let message: String
  /// The time to wait before trying again, if it is known.
  public let retryAfter: Duration?
}

/// The end of an authorization, to show to the person (SDK documentation, "Completion").
public enum FreedomIDEnd: Sendable, Equatable {
  case authorized
  /// The authorization failed.
  ///
  /// - Parameter message: A message for the person: lower case, no period.
  case failed(message: String)
}

// MARK: - Conversions from the daemon's types

extension FreedomIDProblem {
  init(_ problem: Problem) {
    reason = problem.reason
    message = problem.provider?.message ?? problem.message
    retryAfter = problem.retryAfterMs.map { .milliseconds($0) }
  }

  init(_ error: UsherError) {
    reason = error.reason.rawValue
    message = error.message
    retryAfter = error.detail.retryAfterMs.map { .milliseconds($0) }
  }

  static let allNeeded = FreedomIDProblem(
    reason: "denied", message: "all of the permissions are needed to continue", retryAfter: nil)

  static let lost = FreedomIDProblem(
    reason: "interrupted", message: "the connection to usherd was lost, and with it the answer",
    retryAfter: nil)
}

extension FreedomIDPage {
  /// Creates the page of a step; nil for any other step.
  init?(_ step: Step) {
    guard case .openURL(let page) = step, let url = URL(string: page.url) else { return nil }
    self.url = url
    noticesReturn = page.completes != .submit
  }
}

extension FreedomIDEnd {
  init(_ error: any Error) {
    let kitError = KitError(error)
    switch error as? FreedomIDError {
    case nil: self = .failed(message: kitError.provider?.message ?? kitError.message)
    case .accessDenied: self = .failed(message: FreedomIDProblem.allNeeded.message)
    default: self = .failed(message: "usherd's answer cannot be read")
    }
  }
}
