package import JSONRPC
import UsherAPI
import UsherConfig
package import UsherCore

/// A call to Paysafe's Embedded Wallets (provider contract §2.2; page Paysafe in Usher.docc).
///
/// Each case carries its own parameters. `render(_:)` adds the client id, client secret and access
/// token.
package enum PaysafeCall: ProviderCall {
  /// Fetches the config token, which the SDK needs at its start, by `client_credentials`.
  case configToken(brand: String)
  /// Redeems an authorization code (RFC 6749 §4.1.3, RFC 7636 §4.5).
  case exchange(Exchange)
  /// Refreshes an access token at the brand's token endpoint (RFC 6749 §6).
  case refresh(Secret, brand: String)
  /// Sends a challenge to the customer, for the first time or again.
  case challenge(Event, Verification, Instructions)
  /// Submits the code or password with which the customer answered a challenge.
  case attempt(Event, Verification, value: Secret)
  /// Fetches the status of an SCA event.
  case event(Event)
  /// Makes a call to the wallet API on behalf of the customer.
  case operation(WalletOperation, account: AccountID, approval: Approval?)

  package struct Exchange: Sendable, Equatable {
    package var brand: String
    package var code: Secret
    package var verifier: Secret
    package var redirectURI: String
  }

  /// An SCA authentication event of a customer, by which one operation is approved.
  package struct Event: Codable, Sendable, Equatable {
    package var account: AccountID
    package var id: String
    package var walletOperationID: String
  }

  /// A way to verify the customer: method and channel, by their names in the wire format.
  package struct Verification: Codable, Sendable, Hashable, SchemaDocumented {
    /// The provider's name of the method, such as `OTP`.
    package var method: String
    /// The provider's name of the channel, such as `SMS`; absent if the method has none.
    package var channel: String?
  }

  /// The `verification.action` in the request for a challenge.
  package struct Instructions: Codable, Sendable, Equatable {
    package var language: String?
    package var returnURL: String?
  }

  /// The approval of an operation: its SCA event, and where the wallet expects the event's id.
  package struct Approval: Codable, Sendable, Equatable {
    package var eventID: String
    package var walletOperationID: String
    package var form: Form

    package enum Form: String, Codable, Sendable, CaseIterable {
      /// The wallet expects the approval in the header `SCA-Authorization`.
      case header
      /// The wallet expects the approval in the body member `scaDetails`.
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

  /// Returns whether a reply rejects the access token. A 401 that demands SCA does not (provider
  /// contract §10, trap 3).
  package func refusesToken(_ reply: HTTPReply) -> Bool {
    account != nil && reply.status == 401 && SCADemand.find(in: reply) == nil
  }
}

/// A call to the wallet API, exactly as the caller requested it.
package struct WalletOperation: Codable, Sendable, Equatable {
  package var method: HTTPRequest.Method
  /// The path with its single leading slash, and the query if there is one.
  package var path: String
  package var body: [String: JSONValue]?
}
