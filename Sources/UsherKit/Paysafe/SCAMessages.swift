public import FoundationEssentials
import JSONRPC
import UsherAPI
import UsherCore

extension Wallet {
  /// Which challenge is to be sent.
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

  /// A challenge that was sent, and what the program is to ask the customer for.
  public struct SCAAuthenticationEventChallengeEmbeddedHybridResponse: Sendable, Equatable {
    public let eventID: String
    public let walletOperationID: String
    public let verification: SCAAuthenticationEventAttemptVerification
    /// Where the code went, masked by the wallet.
    public private(set) var maskedTarget: String?
    /// How long the code is.
    public private(set) var digits: Int?
    /// Until when the code is good.
    public private(set) var expiresAt: Date?
    /// From when another challenge makes sense.
    public private(set) var resendAt: Date?
    /// By the wallet's count.
    public private(set) var attemptsLeft: Int?
    /// The page to present, for channel `redirect`; what it comes back with proves nothing.
    public private(set) var redirectURL: URL?
    /// `verified` where the customer has approved already; else nil.
    public private(set) var status: SCAAuthenticationEventAttemptStatus?
  }

  /// What the customer entered.
  ///
  /// The value prints as `<secret>`.
  public struct SCAAuthenticationEventAttemptEmbeddedHybridRequest: Sendable, Equatable {
    public var walletOperationID: String
    public var verification: SCAAuthenticationEventAttemptVerification
    let value: Secret

    /// The value is the code, PIN or password, as it was entered.
    public init(
      walletOperationID: String, verification: SCAAuthenticationEventAttemptVerification,
      value: String
    ) {
      self.walletOperationID = walletOperationID
      self.verification = verification
      self.value = Secret(value)
    }
  }

  /// What became of an attempt.
  public struct SCAAuthenticationEventAttemptEmbeddedHybridResponse: Sendable, Equatable {
    /// The daemon's name of the flow, `flw_…`: for `usherctl flow show` and the journal.
    public let id: String
    public let eventID: String
    public let walletOperationID: String
    public let verification: SCAAuthenticationEventAttemptVerification
    public let status: SCAAuthenticationEventAttemptStatus
    /// Why, in the wallet's words, or else in the daemon's.
    public let statusReason: String?
    /// By the wallet's count; nil where it does not tell, or nothing is left to attempt.
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

extension Wallet.SCAAuthenticationEventChallengeEmbeddedHybridResponse {
  /// - Throws: ``KitError`` where no challenge stands.
  init(
    _ flow: Flow, _ eventID: String,
    _ request: Wallet.SCAAuthenticationEventChallengeEmbeddedHybridRequest
  ) throws {
    self.eventID = eventID
    walletOperationID = request.walletOperationID
    verification = request.verification
    switch try flow.unhindered().step {
    case .enterCode(let step):
      maskedTarget = step.maskedTarget
      digits = step.digits
      expiresAt = step.expiresAt.date
      resendAt = step.resendAt.date
      attemptsLeft = step.attemptsLeft
    case .openURL(let step): redirectURL = URL(string: step.url)
    case .enterPassword, .wait: break
    case nil: status = .verified
    case .displayCode, .choose, .fillForm, .consent, .exchangeCredential, .localAuth:
      throw KitError(.unexpected, "no challenge was sent")
    }
  }
}

extension Wallet.SCAAuthenticationEventAttemptEmbeddedHybridResponse {
  /// - Throws: ``KitError`` where nothing came of the attempt.
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
    guard try flow.unhindered().status == .succeeded else {
      throw KitError(.unexpected, "the attempt was not judged")
    }
    return (.verified, flow.result?["statusReason"]?.stringValue)
  }
}

extension Step {
  fileprivate var attemptsLeft: Int? {
    guard case .enterCode(let step) = self else { return nil }
    return step.attemptsLeft
  }
}
