import UsherAPI
import UsherCore

/// Decides what to do when the flow of a verification changes.
///
/// The same step may come several times, in a new revision or after a restart of the daemon. Each
/// page is shown once, and each code is exchanged once.
struct VerifyStateMachine: Sendable, Equatable {
  private enum Exchange: Equatable {
    case none
    case asked(Secret)
    case answered(Secret)

    func knows(_ code: Secret) -> Bool {
      switch self {
      case .none: false
      case .asked(let asked), .answered(let asked): asked == code
      }
    }
  }

  private var page: String?
  private var exchange = Exchange.none

  enum Action: Sendable, Equatable {
    case present(String)
    case exchange(code: Secret, requestID: String)
    /// Do nothing until the flow changes.
    case wait
    case end
  }

  mutating func flowChanged(_ flow: Flow) -> Action {
    if flow.status.isFinished { return .end }
    switch flow.step {
    case .openURL(let step):
      guard step.url != page else { return .wait }
      page = step.url
      return .present(step.url)
    case .exchangeCredential(let step):
      let code = step.credential.code.secret
      guard !exchange.knows(code) else { return .wait }
      exchange = .asked(code)
      return .exchange(code: code, requestID: step.requestId)
    case .displayCode, .enterCode, .enterPassword, .choose, .fillForm, .consent, .localAuth, .wait,
      nil:
      return .wait
    }
  }

  /// Records an answer to an exchange.
  ///
  /// - Returns: Whether it is the first answer for the latest code; others are ignored.
  mutating func acceptAnswer(for code: Secret) -> Bool {
    guard exchange == .asked(code) else { return false }
    exchange = .answered(code)
    return true
  }
}
