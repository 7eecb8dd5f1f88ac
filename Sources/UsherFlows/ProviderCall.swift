package import UsherConfig
package import UsherCore

/// A call a machine names; how it looks in HTTP is the dialect's to render.
///
/// What people typed may occur in it, so it is not `Codable` and never stored.
package protocol ProviderCall: Sendable, Equatable {
  /// A short name for logs and errors: `token`, `userinfo`, `jwks`.
  var name: String { get }

  /// What kind of endpoint the call goes to.
  var endpoint: ProviderEndpoint { get }

  /// The account whose access token the call carries; nil where it carries none. The engine sees to
  /// it that the token is good, and renews it.
  var account: AccountID? { get }

  /// Whether a reply says that the access token is no longer good. Then it is renewed and the call is
  /// made once more: what was refused so has not been done.
  func refusesToken(_ reply: HTTPReply) -> Bool

  /// What gets the client token that the call carries; nil where it carries none. The engine asks for
  /// one and keeps it for all flows of the provider.
  var clientToken: (any ClientTokenCall)? { get }

  /// Whether a reply says that the client token is no longer good. Then another one is asked for and
  /// the call is made once more: what was refused so has not been done.
  func refusesClientToken(_ reply: HTTPReply) -> Bool

  /// The token that the call revokes; nil where it revokes none. The engine then goes on until the
  /// provider has answered.
  var revokedToken: RevokedToken? { get }

  /// The request. Credentials and clock come from the engine, so that they never enter a machine.
  ///
  /// - Throws: `UsherError` with a sentence that says what is missing in the configuration.
  func render(_ context: RenderContext) throws(UsherError) -> HTTPRequest
}

/// An endpoint of a provider, as far as its failures concern others than the caller.
package enum ProviderEndpoint: Sendable, Hashable {
  /// Where tokens are renewed: nobody's token can be renewed while it is down.
  case token
  /// Any other: its failures concern the flow or account that made the call.
  case other
}

extension ProviderCall {
  package var endpoint: ProviderEndpoint { .other }
  package var account: AccountID? { nil }
  package var revokedToken: RevokedToken? { nil }
  package var clientToken: (any ClientTokenCall)? { nil }
  package func refusesClientToken(_ reply: HTTPReply) -> Bool { false }

  /// RFC 6750 §3: 401.
  package func refusesToken(_ reply: HTTPReply) -> Bool { account != nil && reply.status == 401 }
}

/// A token that a call revokes.
package struct RevokedToken: Sendable, Equatable {
  package var secret: Secret
  package var kind: TokenKind

  package init(_ secret: Secret, _ kind: TokenKind) {
    self.secret = secret
    self.kind = kind
  }
}

/// A call that gets a token for the client itself (RFC 6749 §4.4, and what resembles it).
package protocol ClientTokenCall: ProviderCall {
  func read(_ reply: HTTPReply) -> ClientTokenReply
}

/// What came of asking for a client token.
package enum ClientTokenReply: Sendable, Equatable {
  case granted(Secret, lifetime: Duration)
  /// The reply stands for that of the call which needed the token.
  case refused
  /// A sentence for people.
  case unreadable(String)
}

/// What rendering a call may use.
package struct RenderContext: Sendable {
  package var provider: ProviderConfig
  /// The credential the provider's configuration names; nil for a public client.
  package var credential: Secret?
  /// Those of the provider's credentials that are set, by their names.
  package var credentials: [String: Secret]
  /// That of the call's account.
  package var accessToken: Secret?
  /// What the call's ``ProviderCall/clientToken`` got.
  package var clientToken: Secret?
  package var moment: TransitionContext

  package init(
    provider: ProviderConfig, credential: Secret?, credentials: [String: Secret] = [:],
    accessToken: Secret? = nil, clientToken: Secret? = nil, moment: TransitionContext
  ) {
    self.provider = provider
    self.credential = credential
    self.credentials = credentials
    self.accessToken = accessToken
    self.clientToken = clientToken
    self.moment = moment
  }

  /// - Throws: A sentence that says how to set it.
  package func credential(named name: String?) throws(UsherError) -> Secret {
    guard let name else {
      throw UsherError(.internalError, "provider \(provider.name) names no such credential")
    }
    guard let credential = credentials[name] else {
      throw UsherError(.internalError, .missing(name, of: provider.name))
    }
    return credential
  }
}

/// A request to a provider. Headers and body may hold secrets: neither prints.
package struct HTTPRequest: Sendable, Equatable {
  package enum Method: String, Codable, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
  }

  package var method: Method
  package var url: String
  package var headers: [Header]
  package var body: Secret?
  /// What is secret in it beside the fields of a form and the headers that prove who asks: tokens in
  /// a path or in JSON.
  package var secrets: [Secret]

  package struct Header: Sendable, Equatable {
    package var name: String
    package var value: Secret

    package init(_ name: String, _ value: Secret) {
      self.name = name
      self.value = value
    }
  }

  package init(
    method: Method, url: String, headers: [Header] = [], body: Secret? = nil,
    secrets: [Secret] = []
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.secrets = secrets
  }
}

/// A provider's reply, body and all. It does not print its body.
package struct HTTPReply: Sendable, Equatable, CustomStringConvertible {
  package var status: Int
  /// Lower-case name; several of one name are joined by commas (RFC 9110 §5.3).
  package var headers: [String: String]
  package var body: [UInt8]
  /// When it came, by our clock; nil where nothing in it depends on that.
  package var receivedAt: Timestamp?

  package init(
    status: Int, headers: [String: String] = [:], body: [UInt8] = [], receivedAt: Timestamp? = nil
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.receivedAt = receivedAt
  }

  package var description: String { "HTTP \(status), \(body.count) bytes" }
}

/// What became of a call.
package enum CallOutcome: Sendable, Equatable {
  case reply(HTTPReply)
  /// Nothing came back in time, or the connection broke.
  ///
  /// - Parameters:
  ///   - message: A sentence for people, without secrets.
  ///   - sent: False where it is certain that the provider saw nothing (no connection was made).
  case unreachable(message: String, sent: Bool)
  /// Something came back that cannot be an answer: over 1 MiB, a redirect.
  case unreadable(message: String)
  /// The account has no access token any more and cannot get one: a new log-in is needed. Nothing
  /// was sent.
  case noToken(message: String)
}

/// What became of discovery.
package enum Discovery: Sendable, Equatable {
  case found(OIDCMetadata)
  case unreachable(message: String)
  /// The documents say something that must not be used (another issuer, no endpoint, plain http).
  case unusable(message: String)
}

/// What became of the check of a signature, an ID token's or another's.
package enum IDTokenVerdict: Sendable, Equatable {
  /// The signature is good; the bytes it speaks for.
  case genuine(payload: [UInt8])
  /// It is not to be believed.
  case refused(message: String)
  /// The provider answers, but names no key.
  case keyless(message: String)
  /// The keys could not be had; what the provider answered, where it did.
  case unreachable(message: String, reply: HTTPReply? = nil)
}
