package import JSONRPC
package import UsherConfig
package import UsherCore

/// What is asked of Paysafe's Embedded Wallets (contract §2.2; the page Paysafe of the documentation).
///
/// Each carries what it needs; client id, client secret and access token come with rendering.
package enum PaysafeCall: ProviderCall {
  /// `client_credentials`: what the SDK is configured with.
  case configToken(brand: String)
  /// RFC 6749 §4.1.3 with RFC 7636 §4.5.
  case exchange(Exchange)
  /// RFC 6749 §6.
  case refresh(Secret, brand: String)
  /// Sends a challenge, or sends it again.
  case challenge(Event, Verification, Instructions)
  /// Submits what the person typed.
  case attempt(Event, Verification, value: Secret)
  /// Asks how an event stands.
  case event(Event)
  /// A call of the wallet API.
  case operation(WalletOperation, account: AccountID, approval: Approval?)

  package struct Exchange: Sendable, Equatable {
    package var brand: String
    package var code: Secret
    package var verifier: Secret
    package var redirectURI: String

    package init(brand: String, code: Secret, verifier: Secret, redirectURI: String) {
      self.brand = brand
      self.code = code
      self.verifier = verifier
      self.redirectURI = redirectURI
    }
  }

  /// An SCA authentication event of an account's customer.
  package struct Event: Codable, Sendable, Equatable {
    package var account: AccountID
    package var id: String
    package var walletOperationID: String

    package init(account: AccountID, id: String, walletOperationID: String) {
      self.account = account
      self.id = id
      self.walletOperationID = walletOperationID
    }
  }

  /// A verification as the wire names it.
  package struct Verification: Codable, Sendable, Hashable {
    package var method: String
    package var channel: String?

    package init(method: String, channel: String? = nil) {
      self.method = method
      self.channel = channel
    }
  }

  /// `verification.action` of a challenge.
  package struct Instructions: Codable, Sendable, Equatable {
    package var language: String?
    package var returnURL: String?

    package init(language: String? = nil, returnURL: String? = nil) {
      self.language = language
      self.returnURL = returnURL
    }
  }

  /// The event that approves an operation, in the form in which approval was asked for.
  package struct Approval: Codable, Sendable, Equatable {
    package var eventID: String
    package var walletOperationID: String
    package var form: Form

    package enum Form: String, Codable, Sendable {
      /// `SCA-Authorization`.
      case header
      /// A member `scaDetails` of the body.
      case body
    }

    package init(eventID: String, walletOperationID: String, form: Form) {
      self.eventID = eventID
      self.walletOperationID = walletOperationID
      self.form = form
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

  /// A 401 that asks for SCA says nothing against the token (contract §10, trap 3).
  package func refusesToken(_ reply: HTTPReply) -> Bool {
    account != nil && reply.status == 401 && SCADemand.wanted(by: reply) == nil
  }
}

/// A call of the wallet API, as the caller named it.
package struct WalletOperation: Codable, Sendable, Equatable {
  package var method: HTTPRequest.Method
  /// From its one leading slash on, with its query.
  package var path: String
  package var body: [String: JSONValue]?

  package init(method: HTTPRequest.Method, path: String, body: [String: JSONValue]? = nil) {
    self.method = method
    self.path = path
    self.body = body
  }
}

extension ProviderConfig {
  /// The settings of a provider of type `paysafe`.
  package var paysafe: PaysafeSettings {
    switch settings {
    case .paysafe(let settings): return settings
    case .oidc, .truecaller, .gopay, .freedomid, .bsa, .local:
      fatalError("provider \(name) is of type \(settings.type) and not asked so")
    }
  }
}
