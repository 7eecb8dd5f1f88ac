public import FoundationEssentials
import UsherClient

extension Wallet {
  /// A request to send a challenge.
  public struct SCAAuthenticationEventChallengeEmbeddedHybridRequest: Sendable, Equatable {
    public var walletOperationID: String
    public var verification: SCAAuthenticationEventAttemptVerification

    public init(
      walletOperationID: String, verification: SCAAuthenticationEventAttemptVerification
    ) {
      self.walletOperationID = walletOperationID
      self.verification = verification
    }
  }

  /// A challenge that was sent to the customer, with the data to ask for an answer.
  public struct SCAAuthenticationEventChallengeEmbeddedHybridResponse: Sendable, Equatable {
    public let eventID: String
    public let walletOperationID: String
    public let verification: SCAAuthenticationEventAttemptVerification
    /// The e-mail address or phone number that the code was sent to, masked by the wallet; nil if
    /// none is known.
    public private(set) var maskedTarget: String?
    /// The number of digits of the code; nil if it is unknown.
    public private(set) var digits: Int?
    /// The time at which the code expires; five minutes after it was sent if the wallet does not
    /// name a time. Nil without a code.
    public private(set) var expiresAt: Date?
    /// The earliest time at which another challenge can be sent; nil if it is unknown.
    public private(set) var resendAt: Date?
    /// The number of attempts that the customer has left, as counted by the wallet; nil if it is
    /// unknown.
    public private(set) var attemptsLeft: Int?
    /// The page to present for channel `redirect`. The `status` that it returns is not proof.
    public private(set) var redirectURL: URL?
    /// `verified` if the customer has approved already; else nil.
    public private(set) var status: SCAAuthenticationEventAttemptStatus?
  }

  /// The value that the customer entered in answer to a challenge. It prints as `<secret>`.
  public struct SCAAuthenticationEventAttemptEmbeddedHybridRequest: Sendable, Equatable {
    public var walletOperationID: String
    public var verification: SCAAuthenticationEventAttemptVerification
    let value: Secret

    /// Creates a request. `value` is the code, PIN or password as the customer entered it.
    public init(
      walletOperationID: String, verification: SCAAuthenticationEventAttemptVerification,
      value: String
    ) {
      self.walletOperationID = walletOperationID
      self.verification = verification
      self.value = Secret(value)
    }
  }

  /// The wallet's verdict on the customer's answer to a challenge.
  public struct SCAAuthenticationEventAttemptEmbeddedHybridResponse: Sendable, Equatable {
    /// The daemon's id of the flow, `flw_…`, for `usherctl flow show` and the journal.
    public let id: String
    public let eventID: String
    public let walletOperationID: String
    public let verification: SCAAuthenticationEventAttemptVerification
    public let status: SCAAuthenticationEventAttemptStatus
    /// The reason for the status, from the wallet or else from the daemon.
    public let statusReason: String?
    /// The number of attempts left, as counted by the wallet; nil if it is unknown or the challenge
    /// is settled.
    public let attemptsLeft: Int?
  }
}

extension Wallet.SCAAuthenticationEventChallengeEmbeddedHybridRequest {
  func params(_ eventID: String, _ account: Wallet.Account?) -> JSONValue {
    .params([
      "eventId": .string(eventID), "walletOperationId": .string(walletOperationID),
      "verification": verification.json,
      "returnUrl": .text(verification.action?.returnURL),
      "language": .text(verification.action?.language), "account": .text(account?.id),
    ])
  }
}

extension Wallet.SCAAuthenticationEventAttemptEmbeddedHybridRequest {
  /// The parameters of a flow that answers a challenge which was sent elsewhere.
  func params(_ eventID: String, _ account: Wallet.Account?) -> JSONValue {
    .params([
      "eventId": .string(eventID), "walletOperationId": .string(walletOperationID),
      "verification": verification.json, "isChallenged": true, "account": .text(account?.id),
    ])
  }
}

extension Wallet.SCAAuthenticationEventChallengeEmbeddedHybridResponse {
  /// Creates the response from the daemon's flow.
  ///
  /// - Throws: ``KitError`` if the flow has no open challenge.
  init(
    _ flow: Flow, _ eventID: String,
    _ request: Wallet.SCAAuthenticationEventChallengeEmbeddedHybridRequest
  ) throws {
    self.eventID = eventID
    walletOperationID = request.walletOperationID
    verification = request.verification
    switch try flow.requireNoProblem().step {
    case .enterCode(let step):
      maskedTarget = step.maskedTarget.isEmpty ? nil : step.maskedTarget
      digits = step.digits
      expiresAt = step.expiresAt.date
      resendAt = step.resendAt.date
      attemptsLeft = step.attemptsLeft
    case .enterPassword(let step): attemptsLeft = step.attemptsLeft
    case .openURL(let step):
      redirectURL = URL(string: step.url)
      resendAt = step.resendAt?.date
    case .wait(let step): resendAt = step.resendAt?.date
    case nil:
      // The customer has answered already, and the wallet has no call for the verdict.
      guard flow.isVerified else { throw KitError.unobserved }
      status = .verified
    case .displayCode, .choose, .fillForm, .consent, .exchangeCredential, .localAuth:
      throw KitError(.unexpected, "no challenge was sent")
    }
  }
}

extension Wallet.SCAAuthenticationEventAttemptEmbeddedHybridResponse {
  /// Creates the verdict from the daemon's flow.
  ///
  /// - Throws: ``KitError`` if the attempt has no verdict yet.
  init(
    _ flow: Flow, _ eventID: String, _ walletOperationID: String,
    _ verification: Wallet.SCAAuthenticationEventAttemptVerification
  ) throws {
    id = flow.id.rawValue
    self.eventID = eventID
    self.walletOperationID = walletOperationID
    self.verification = verification
    attemptsLeft = flow.step?.attemptsLeft
    (status, statusReason) = try Self.verdict(flow)
  }

  private static func verdict(
    _ flow: Flow
  ) throws -> (Wallet.SCAAuthenticationEventAttemptStatus, String?) {
    if let problem = flow.problem, problem.reason == "wrong_code" {
      return (.failed, problem.provider?.message ?? problem.message)
    }
    if let failure = flow.failure, failure.reason == .denied {
      return (.rejected, failure.provider?.message ?? failure.message)
    }
    guard try flow.requireNoProblem().status == .succeeded else {
      throw KitError(.unexpected, "the attempt has no result")
    }
    guard flow.isVerified else { throw KitError.unobserved }
    return (.verified, flow.result?["statusReason"]?.stringValue)
  }
}

extension Flow {
  /// Whether the event is verified. A flow also succeeds with the status `UNKNOWN`, if the customer
  /// has answered and the wallet has no call for the verdict.
  fileprivate var isVerified: Bool {
    status == .succeeded && result?["status"]?.stringValue == "VERIFIED"
  }
}

extension Step {
  fileprivate var attemptsLeft: Int? {
    switch self {
    case .enterCode(let step): step.attemptsLeft
    case .enterPassword(let step): step.attemptsLeft
    case .openURL, .wait, .choose, .displayCode, .fillForm, .consent, .exchangeCredential,
      .localAuth:
      nil
    }
  }
}
