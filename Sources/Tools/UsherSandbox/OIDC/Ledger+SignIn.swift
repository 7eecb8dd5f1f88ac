package import FoundationEssentials

/// A valid authorization request. Its redirect URI is registered for its client.
package struct AuthorizationRequest: Sendable, Hashable {
  package var client: Client
  package var responseMode = ResponseMode.query
  package var redirectURI: String
  package var state: String?
  package var scope: [String]
  package var nonce: String?
  /// The PKCE code challenge; nil if the request has none.
  package var challenge: String?
  package var loginHint: String?
  /// The parameter `access_type`.
  package var accessType: String?
  /// The parameter `prompt`.
  package var prompt: String?
  /// The resources for which tokens will be requested (RFC 8707 §2).
  package var resources: [String] = []
  package var claims = RequestedClaims()
  /// The thumbprint of the key to which the code is bound (RFC 9449 §10); nil if it is bound to
  /// none.
  package var keyThumbprint: String?
  /// The name of the grant that the request creates or extends; nil if it has none.
  package var grantID: String?

  /// The redirect URI, state and response mode of the response.
  var target: ResponseTarget {
    ResponseTarget(
      clientID: client.id, redirectURI: redirectURI, state: state, mode: responseMode)
  }
}

/// How a response reaches the client: the values of the parameter `response_mode`.
package enum ResponseMode: String, Sendable, CaseIterable {
  case query
  /// OAuth 2.0 Form Post Response Mode.
  case formPost = "form_post"
  /// Signed (JARM), in the query.
  case jwt
  case queryJWT = "query.jwt"
  case formPostJWT = "form_post.jwt"

  var isSigned: Bool { [.jwt, .queryJWT, .formPostJWT].contains(self) }
  var isPosted: Bool { [.formPost, .formPostJWT].contains(self) }

  init(_ form: Form) throws(OAuthError) {
    guard let name = form["response_mode"] else {
      self = .query
      return
    }
    guard let mode = ResponseMode(rawValue: name) else {
      let names = Self.allCases.map(\.rawValue).joined(separator: ", ")
      throw OAuthError("invalid_request", "response_mode must be one of \(names)")
    }
    self = mode
  }
}

/// The redirect URI and the response mode of the response to an authorization request.
package struct ResponseTarget: Sendable, Hashable {
  package var clientID: String
  package var redirectURI: String
  package var state: String?
  package var mode = ResponseMode.query
}

/// One user's passage through the sandbox's pages, from the first page to the decision.
package struct Transaction: Sendable {
  package enum Purpose: Sendable {
    case authorization(AuthorizationRequest)
    case device
  }

  package enum Phase: Sendable {
    case signingIn(failures: Int)
    /// The user is signed in and must consent. `device` is the device code of a device sign-in.
    case consenting(User, at: Date, device: String?)
  }

  package let purpose: Purpose
  /// The CSRF token, a hidden field in every form of this transaction.
  package let csrf: String
  package var stage = Phase.signingIn(failures: 0)
}

extension Ledger {
  /// Seconds from the first page to the decision after which a transaction expires.
  private static let transactionSeconds = 600.0
  /// Wrong passwords or user codes after which a transaction ends.
  package static let attempts = 10

  /// The reason why a transaction cannot continue.
  package enum SignInFailure: Error, Equatable {
    /// The transaction is unknown, expired or in another phase, or the CSRF token does not match.
    case unknown
    case wrongPassword
    case wrongUserCode
    case tooManyAttempts
  }

  package mutating func begin(
    _ purpose: Transaction.Purpose, now: Date
  ) -> (id: String, csrf: String) {
    let id = tokenGenerator.token("tx")
    let csrf = tokenGenerator.token("cs")
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

  /// Moves the transaction to consent. Refuses a nil user and, for a device, an unknown user code.
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
