package import FoundationEssentials

/// A valid authorization request: client and redirect URI are proven to belong together.
package struct AuthorizationRequest: Sendable, Hashable {
  package var client: Client
  package var redirectURI: String
  package var state: String?
  package var scope: [String]
  package var nonce: String?
  package var challenge: String
  package var loginHint: String?
}

/// A person on the sandbox's pages, from the first page to the decision.
package struct Transaction: Sendable {
  package enum Purpose: Sendable {
    case authorization(AuthorizationRequest)
    case device
  }

  package enum Phase: Sendable {
    case signingIn(failures: Int)
    /// Signed in, and asked for consent; `device` is the device code where that is the purpose.
    case consenting(User, at: Date, device: String?)
  }

  package let purpose: Purpose
  /// Stands in every form of this transaction and nowhere else.
  package let csrf: String
  package var stage = Phase.signingIn(failures: 0)
}

extension Ledger {
  /// Seconds a person has from the first page to the decision.
  private static let transactionSeconds = 600.0
  /// Wrong passwords or user codes until a transaction ends.
  package static let attempts = 10

  /// Why a page cannot go on.
  package enum SignInFailure: Error, Equatable {
    /// No such transaction, an old one, or another one's form token.
    case unknown
    case wrongPassword
    case wrongUserCode
    case tooManyAttempts
  }

  package mutating func begin(
    _ purpose: Transaction.Purpose, now: Date
  ) -> (id: String, csrf: String) {
    let id = mint.token("tx")
    let csrf = mint.token("cs")
    transactions.insert(
      Transaction(purpose: purpose, csrf: csrf), for: id,
      until: now.addingTimeInterval(Self.transactionSeconds), now: now)
    return (id, csrf)
  }

  package func transaction(
    _ id: String?, csrf: String?, now: Date
  ) throws(SignInFailure) -> Transaction {
    guard let id, let transaction = transactions.value(id, now: now), transaction.csrf == csrf
    else { throw .unknown }
    return transaction
  }

  /// Takes name and password, and for a device its user code; leads to the consent page.
  package mutating func signIn(
    _ id: String, user: User?, userCode: String?, now: Date
  ) throws(SignInFailure) -> Transaction {
    guard var transaction = transactions.value(id, now: now),
      case .signingIn(let failures) = transaction.stage
    else { throw .unknown }
    guard let user else { throw failed(id, failures, .wrongPassword) }
    var device: String?
    if case .device = transaction.purpose {
      device = waitingDevice(userCode: userCode ?? "", now: now)
      if device == nil { throw failed(id, failures, .wrongUserCode) }
    }
    transaction.stage = .consenting(user, at: now, device: device)
    transactions.update(id) { $0.stage = transaction.stage }
    return transaction
  }

  private mutating func failed(
    _ id: String, _ failures: Int, _ failure: SignInFailure
  ) -> SignInFailure {
    guard failures + 1 < Self.attempts else {
      transactions.remove(id)
      return .tooManyAttempts
    }
    transactions.update(id) { $0.stage = .signingIn(failures: failures + 1) }
    return failure
  }

  package mutating func end(_ id: String) {
    transactions.remove(id)
  }
}
