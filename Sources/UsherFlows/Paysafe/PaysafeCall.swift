package import JSONRPC
import UsherConfig
package import UsherCore

/// A call to Paysafe's Embedded Wallets (contract §2.2; the page Paysafe of the documentation).
///
/// Each case carries its own parameters. Rendering adds the client id, client secret and access
/// token.
package enum PaysafeCall: ProviderCall {
  /// Fetches the token that the SDK is configured with, by `client_credentials`.
  case configToken(brand: String)
  /// Redeems an authorization code (RFC 6749 §4.1.3, RFC 7636 §4.5).
  case exchange(Exchange)
  /// Refreshes an access token (RFC 6749 §6).
  case refresh(Secret, brand: String)
  /// Sends a challenge, for the first time or again.
  case challenge(Event, Verification, Instructions)
  /// Submits the value that the customer entered.
  case attempt(Event, Verification, value: Secret)
  /// Fetches the status of an event.
  case event(Event)
  /// Performs a call of the wallet API.
  case operation(WalletOperation, account: AccountID, approval: Approval?)

  package struct Exchange: Sendable, Equatable {
    package var brand: String
    package var code: Secret
    package var verifier: Secret
    package var redirectURI: String
  }

  /// An SCA authentication event of the account's customer.
  package struct Event: Codable, Sendable, Equatable {
    package var account: AccountID
    package var id: String
    package var walletOperationID: String
  }

  /// A verification, by the names of the wire format.
  package struct Verification: Codable, Sendable, Hashable {
    package var method: String
    package var channel: String?
  }

  /// The `verification.action` of a challenge.
  package struct Instructions: Codable, Sendable, Equatable {
    package var language: String?
    package var returnURL: String?
  }

  /// The event that approves an operation, in the form in which the wallet demanded approval.
  package struct Approval: Codable, Sendable, Equatable {
    package var eventID: String
    package var walletOperationID: String
    package var form: Form

    package enum Form: String, Codable, Sendable {
      /// The header `SCA-Authorization`.
      case header
      /// The body member `scaDetails`.
      case body
    }
  }

  package var name: String {
    switch self {
    case .configToken, .exchange, .refresh: "token"
    case .challenge: "challenge"
    case .attempt: "attempt"
    case .event: "event"
    case .operation: "operation"
    }
  }

  package var endpoint: ProviderEndpoint {
    switch self {
    case .configToken, .exchange, .refresh: .token
    case .challenge, .attempt, .event, .operation: .other
    }
  }

  package var account: AccountID? {
    switch self {
    case .configToken, .exchange, .refresh: nil
    case .challenge(let event, _, _), .attempt(let event, _, value: _), .event(let event):
      event.account
    case .operation(_, let account, approval: _): account
    }
  }

  /// Whether a reply rejects the access token. A 401 that demands SCA does not (contract §10, trap
  /// 3).
  package func refusesToken(_ reply: HTTPReply) -> Bool {
    account != nil && reply.status == 401 && SCADemand.find(in: reply) == nil
  }
}

/// A call of the wallet API as the caller requested it.
package struct WalletOperation: Codable, Sendable, Equatable {
  package var method: HTTPRequest.Method
  /// The path with its single leading slash, and the query.
  package var path: String
  package var body: [String: JSONValue]?
}
