import UsherAPI
import UsherClient
import UsherCore

/// Where the SDK's screens are shown: what a view controller does on a phone.
///
/// The app draws them, and this library ships none. The SDK calls it by tasks of its own, one
/// screen at a time.
public protocol FreedomIDPresenter: AnyObject, Sendable {
  /// Shows a screen in the place of the one before, and waits for what the person does there.
  ///
  /// The task is cancelled when the screen is over without the person's doing, as when a finger was
  /// recognised, time is up or the authorization was given up; what is returned then is ignored. A
  /// screen whose answer could not be taken comes again, with the problem.
  ///
  /// - Parameters:
  ///   - screen: It makes the answers that fit it.
  ///   - problem: Why the answer before did not lead on, or what the fingerprint reader says.
  func answer(_ screen: FreedomIDScreen, problem: FreedomIDProblem?) async -> FreedomIDAnswer

  /// Takes the last screen away. The app is told the outcome when this returns.
  ///
  /// It is called once, unless no screen was shown or the presenter is gone.
  func finished(_ end: FreedomIDEnd) async
}

extension FreedomIDPresenter {
  /// Optional.
  public func finished(_ end: FreedomIDEnd) async {}
}

/// What a person does at a screen. It prints without what was typed.
public struct FreedomIDAnswer: Sendable, Equatable {
  enum Act: Sendable, Equatable {
    case submit(FlowInput)
    case stay
    case giveUp
  }

  let act: Act

  init(_ act: Act) { self.act = act }

  init(_ input: FlowInput) { act = .submit(input) }

  /// Nothing: the screen stands until it is over. For the screens that may end by themselves,
  /// ``FreedomIDScreen/waiting(_:)`` and ``FreedomIDScreen/fingerprint(_:)``.
  public static let stay = FreedomIDAnswer(.stay)

  /// Gives the authorization up, at any screen: ``FreedomIDError/userCanceled``.
  public static let cancel = FreedomIDAnswer(.giveUp)
}

/// Why an answer did not lead on.
public struct FreedomIDProblem: Sendable, Equatable {
  /// `wrong_credentials`, `wrong_code`, `code_expired`, `too_early`, `denied`, …: the daemon's
  /// pages Freedom ID and LocalAuth have them. `invalid_input`: the answer cannot be one.
  /// `interrupted`: it is not known whether the answer arrived, and it is asked for again.
  public let reason: String
  /// A sentence for the person: lower case, no period.
  public let message: String
  /// When it makes sense to try again, where that is known.
  public let retryAfter: Duration?
}

/// How an authorization ended, for the person (seed, "Completion").
public enum FreedomIDEnd: Sendable, Equatable {
  case authorized
  /// - Parameter message: A sentence for the person: lower case, no period.
  case failed(message: String)
}

// MARK: - Made of what the daemon says

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

  static let lost = FreedomIDProblem(
    reason: "interrupted", message: "usherd was away, and the answer got lost", retryAfter: nil)
}

extension FreedomIDEnd {
  init(_ error: any Error) {
    let setback = KitError(error)
    let isReadable = !(error is FreedomIDError)
    self = .failed(
      message: isReadable
        ? setback.provider?.message ?? setback.message : "usherd's answer cannot be read")
  }
}
