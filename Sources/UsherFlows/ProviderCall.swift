package import UsherConfig
package import UsherCore

/// A call to a provider that a flow machine requests. ``render(_:)`` turns it into an HTTP request.
///
/// A call may contain user input, so it is not `Codable` and is never stored.
package protocol ProviderCall<Settings>: Sendable, Equatable {
  /// The settings of the provider that the call is for.
  associatedtype Settings: ProviderTypeSettings

  /// A short name for logs and errors: `token`, `userinfo`, `jwks`.
  var name: String { get }

  /// The kind of endpoint that the call uses.
  var endpoint: ProviderEndpoint { get }

  /// The account whose access token the call carries; nil if it carries none. The engine supplies a
  /// valid token and refreshes it if necessary.
  var account: AccountID? { get }

  /// Returns whether a reply rejects the access token. If it does, the engine refreshes the token
  /// and repeats the call once. That is safe: a call rejected for its token has not been performed.
  func refusesToken(_ reply: HTTPReply) -> Bool

  /// The call that obtains the daemon's own token, for example by client credentials, which this
  /// call carries; nil if it carries none. The engine makes that call and caches the token for all
  /// flows of the provider.
  var clientToken: (any ClientTokenCall)? { get }

  /// Returns whether a reply rejects the client token. If it does, the engine obtains another token
  /// and repeats the call once. That is safe: a call rejected for its token has not been performed.
  func refusesClientToken(_ reply: HTTPReply) -> Bool

  /// Whether the daemon authenticates itself as a client in this call. If the provider refuses the
  /// method of authentication (`invalid_client`, RFC 6749 §5.2) and the method was chosen
  /// automatically, the engine repeats the call with another one. That is safe: a call whose client
  /// is refused has not been performed.
  var authenticatesClient: Bool { get }

  /// Whether the call carries a proof that the daemon has the key of its tokens (RFC 9449). If the
  /// provider demands another nonce in the proof, the engine repeats the call once. That is safe: a
  /// call whose proof is refused has not been performed.
  var carriesProof: Bool { get }

  /// Returns the absolute paths of the files with secrets of other programs that the call contains.
  /// The engine reads them anew for each call.
  func secretFiles(_ settings: Settings) -> [String]

  /// Returns the assertion of another provider that the call presents; nil if it presents none. The
  /// engine gets it anew for each call, and supplies it as ``RenderContext/accessToken``.
  func identityAssertion(_ settings: Settings) -> IdentityAssertionRequest?

  /// The token that the call revokes; nil if the call revokes none. The engine retries a revoking
  /// call until the provider has answered.
  var revokedToken: RevokedToken? { get }

  /// Returns the HTTP request. The engine supplies credentials and clock through the context, so
  /// that they never enter a machine's state.
  ///
  /// - Throws: `UsherError` with a sentence that says what is missing in the configuration.
  func render(_ context: RenderContext<Settings>) throws(UsherError) -> HTTPRequest
}

/// A provider's endpoint, classified by whether its failures affect other calls.
package enum ProviderEndpoint: Sendable, Hashable {
  /// The token endpoint: while it is down, no token of the provider can be refreshed.
  case token
  /// Any other endpoint: a failure affects only the flow or account that made the call.
  case other
}

extension ProviderCall {
  package var endpoint: ProviderEndpoint { .other }
  package var account: AccountID? { nil }
  package var authenticatesClient: Bool { false }
  package var carriesProof: Bool { false }
  package func secretFiles(_ settings: Settings) -> [String] { [] }
  package func identityAssertion(_ settings: Settings) -> IdentityAssertionRequest? { nil }
  package var revokedToken: RevokedToken? { nil }
  package var clientToken: (any ClientTokenCall)? { nil }
  package func refusesClientToken(_ reply: HTTPReply) -> Bool { false }

  /// Returns whether the call carries an account's token and the status is 401 (RFC 6750 §3).
  package func refusesToken(_ reply: HTTPReply) -> Bool { account != nil && reply.status == 401 }
}

/// A token that a provider call revokes (RFC 7009).
package struct RevokedToken: Sendable, Equatable {
  package var secret: Secret
  package var kind: TokenKind
}

/// A call that obtains a token for the daemon itself as the client (RFC 6749 §4.4, and similar
/// grants).
package protocol ClientTokenCall: ProviderCall {
  func read(_ reply: HTTPReply) -> ClientTokenReply
}

/// The outcome of a request for a token that is issued to the daemon itself.
package enum ClientTokenReply: Sendable, Equatable {
  case granted(Secret, lifetime: Duration)
  /// The provider refused. Its reply becomes the outcome of the call that needed the token.
  case refused
  /// The reply cannot be read. The text is a sentence for users that says why.
  case unreadable(String)
}

/// The values that a provider call may put into its HTTP request: settings, credentials, tokens,
/// time and random bytes.
package struct RenderContext<Settings: ProviderTypeSettings>: Sendable {
  package var provider: Provider<Settings>
  /// The credential that the provider's configuration names; nil for a public client.
  package var credential: Secret?
  /// All credentials of the provider that are set, by name.
  package var credentials: [String: Secret]
  /// The contents of the files in ``ProviderCall/secretFiles(_:)``, by path.
  package var files: [String: Secret]
  /// The access token of the account in ``ProviderCall/account``, or the assertion of
  /// ``ProviderCall/identityAssertion(_:)``; nil if the call carries none.
  package var accessToken: Secret?
  /// The daemon's own token, obtained by ``ProviderCall/clientToken``; nil if the call needs none.
  package var clientToken: Secret?
  package var transition: TransitionContext
  /// How many methods of client authentication the provider has refused for this call, so that the
  /// next one is used.
  package var clientAuthAttempt: Int
  /// The nonces that servers demand in proofs.
  package var dpopNonces: DPoPNonces

  package init(
    provider: Provider<Settings>, credential: Secret?, credentials: [String: Secret] = [:],
    files: [String: Secret] = [:], accessToken: Secret? = nil, clientToken: Secret? = nil,
    clientAuthAttempt: Int = 0,
    dpopNonces: DPoPNonces = DPoPNonces(), transition: TransitionContext
  ) {
    self.provider = provider
    self.credential = credential
    self.credentials = credentials
    self.files = files
    self.accessToken = accessToken
    self.clientToken = clientToken
    self.transition = transition
    self.clientAuthAttempt = clientAuthAttempt
    self.dpopNonces = dpopNonces
  }

  /// Returns the credential that the provider's configuration names.
  ///
  /// - Throws: A sentence that says how to set the credential.
  func requiredCredential() throws(UsherError) -> Secret {
    guard let credential, !credential.isEmpty else {
      throw UsherError(
        .internalError, .missing(provider.config.credentialName ?? "", of: provider.name))
    }
    return credential
  }

  /// Returns the access token of the call's account.
  ///
  /// - Throws: `internalError` if the engine provided no token, which it does for every call with
  ///   an account.
  func requiredAccessToken() throws(UsherError) -> Secret {
    guard let accessToken else {
      throw UsherError(
        .internalError, "the provider call needs the account's access token and has none")
    }
    return accessToken
  }

  /// Returns a credential by its name.
  ///
  /// - Throws: A sentence that says how to set the credential.
  package func credential(named name: String?) throws(UsherError) -> Secret {
    guard let name else {
      throw UsherError(
        .internalError,
        "provider \(provider.name): the setting that names the credential of this call is missing; "
          + "add it to the configuration")
    }
    guard let credential = credentials[name] else {
      throw UsherError(.internalError, .missing(name, of: provider.name))
    }
    return credential
  }
}

/// An HTTP request to a provider. Headers and body may contain secrets, so each is a ``Secret``,
/// which is never printed.
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
  package var headers: [Header] = []
  package var body: Secret?
  /// The request's secrets other than form fields and headers: tokens in the path or in JSON, and
  /// keys that the request does not carry.
  package var secrets: [Secret] = []
  /// The member of the reply's body that says whether the call succeeded, whatever the HTTP status;
  /// nil if the provider has no such code.
  package var resultCode: ResultCode?
  /// The certificate by which the connection authenticates the client (RFC 8705); nil for a
  /// connection without one.
  package var certificate: ClientCertificate?

  /// A member of a reply's body that has a code for every outcome of a call.
  package struct ResultCode: Sendable, Equatable {
    package var member: String
    /// The beginning of the codes of successful calls.
    package var success: String
  }

  package struct Header: Sendable, Equatable {
    package var name: String
    package var value: Secret
    /// Whether an error reply that repeats the value is masked.
    package var isSecret: Bool

    /// Creates a header with a secret, alone or after the name of an authentication scheme.
    package init(_ name: String, _ value: Secret) {
      (self.name, self.value, isSecret) = (name, value, true)
    }

    /// Creates a header whose value may be shown and logged, such as a request id.
    package init(_ name: String, public value: String) {
      (self.name, self.value, isSecret) = (name, Secret(value), false)
    }
  }
}

/// A provider's HTTP reply. Its description omits the body.
package struct HTTPReply: Sendable, Equatable, CustomStringConvertible {
  package var status: Int
  /// Values by lower-case name; values of repeated headers are joined by commas (RFC 9110 §5.3).
  package var headers: [String: String]
  package var body: [UInt8]
  /// When the reply arrived, by the daemon's clock; nil if the reader of the reply needs no time.
  package var receivedAt: Timestamp?
  /// When the request was sent, by the daemon's clock; nil if the reply did not come from a
  /// provider. A lifetime in the reply began no earlier.
  package var requestedAt: Timestamp?

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

/// The outcome of an HTTP call to a provider.
package enum CallOutcome: Sendable, Equatable {
  case reply(HTTPReply)
  /// No reply arrived in time, or the connection failed.
  ///
  /// - Parameters:
  ///   - message: A sentence for users, without secrets.
  ///   - sent: False if it is certain that the provider received nothing (no connection was made).
  case unreachable(message: String, sent: Bool)
  /// The response cannot be used: it is larger than 1 MiB, or a redirect.
  case unreadable(message: String)
  /// The account has no valid access token and cannot get one, so the user must sign in again.
  /// Nothing was sent.
  case noToken(message: String)
}

/// The outcome of a request for the provider's metadata (OIDC Discovery).
package enum Discovery: Sendable, Equatable {
  case found(OIDCMetadata)
  case unreachable(message: String)
  /// The metadata must not be used, for example because of a different issuer, a missing endpoint
  /// or plain http.
  case unusable(message: String)
}

/// The outcome of a signature check, on an ID token or another signed text.
package enum IDTokenVerdict: Sendable, Equatable {
  /// The signature is valid.
  ///
  /// - Parameters:
  ///   - payload: The bytes that the signature covers.
  ///   - decrypted: The signed token in an encrypted one; nil if the token was not encrypted, or if
  ///     it contained no signed token.
  case genuine(payload: [UInt8], decrypted: Secret? = nil)
  /// The token or its signature is invalid. The message is a sentence for users.
  case refused(message: String)
  /// The provider answered the request for its keys, but published none.
  case keyless(message: String)
  /// The keys could not be fetched; the provider's reply, if it sent one.
  case unreachable(message: String, reply: HTTPReply? = nil)
}
