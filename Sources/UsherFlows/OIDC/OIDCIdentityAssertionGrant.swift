import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// Gets tokens for a person by an assertion of the organization's identity provider, at which the
/// person has an account (draft-ietf-oauth-identity-assertion-authz-grant). The account that
/// results needs no refresh token: the daemon gets another assertion.
package struct OIDCIdentityAssertionGrant: FlowMachine, UnattendedGrant {
  package typealias Event = FlowEvent<OIDCCall>
  package typealias Answer = UsherFlows.Answer<OIDCCall>
  package static let kind = "identityAssertion"
  package static let summary =
    "Get tokens for a person who has signed in at the organization's identity provider."

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The person's account at the identity provider. Default: the only one there.
    package var identity: AccountID?
    /// The scopes, separated by spaces. Default: none, for which the provider decides.
    package var scope: String?
    /// Whether the daemon refreshes the tokens in the background.
    package var keepAlive: Bool?
  }

  package let provider: Provider<OIDCSettings>
  private let identity: KnownAccount
  let scope: String
  private let keepAlive: Bool
  /// The key to which the provider binds the tokens; nil if it binds them to none.
  var dpopKey: Sealed<Secret>?
  var state: UnattendedGrantState
  var problem: Problem?

  package static func begin(
    _ params: Params, _ context: FlowContext<OIDCSettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (OIDCIdentityAssertionGrant, Answer) {
    let provider = context.provider
    guard provider.settings.identityAssertion.provider != nil else {
      throw UsherError(
        .permissionDenied,
        "provider \(provider.name) has no section identity_assertion in its configuration")
    }
    // The daemon has chosen the account, and has checked that the caller may have its ID token.
    guard let identity = context.identity else {
      throw UsherError(.permissionDenied, "the call has no account at the identity provider")
    }
    let flow = OIDCIdentityAssertionGrant(
      provider: provider, identity: identity,
      scope: try params.scope.map { (scope) throws(UsherError) in
        try OIDCRequest.words(of: scope)
      } ?? "",
      keepAlive: params.keepAlive ?? false, state: .discovering(RetryBackoff()))
    return (flow, .proceed([.discover]))
  }

  package var view: FlowView { stateView }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    process(event, &transition)
  }

  func request(_ metadata: OIDCMetadata) -> OIDCCall {
    .jwtBearer(
      .init(subject: identity.subject, scope: scope, identity: identity.id), metadata)
  }

  func account() -> AccountGrant {
    var grant = AccountGrant(
      subject: identity.subject, label: identity.subject,
      attributes: ["grant": .string(OIDCProvider.identityGrant)], keepAlive: keepAlive, tokens: nil)
    grant.identity = identity.id
    grant.signInOptions = SignInOptions(kind: Self.kind)
    return grant
  }
}

/// What the daemon must ask the identity provider for before it makes a call to another provider:
/// an assertion about the person of an account
/// (draft-ietf-oauth-identity-assertion-authz-grant §4).
package struct IdentityAssertionRequest: Sendable, Equatable {
  /// The account at the identity provider.
  package var account: AccountID
  /// The identity provider.
  package var provider: ProviderName
  /// The issuer of the provider to which the assertion is presented.
  package var audience: String
  /// The resource for which the token will be; nil if the provider decides.
  package var resource: String?
  /// The scope of the token; nil if the provider decides.
  package var scope: String?
}

extension OIDCCall {
  package func identityAssertion(_ settings: OIDCSettings) -> IdentityAssertionRequest? {
    guard case .jwtBearer(let request, let metadata) = unbound, let account = request.identity,
      let provider = settings.identityAssertion.provider
    else { return nil }
    return IdentityAssertionRequest(
      account: account, provider: provider,
      audience: settings.identityAssertion.audience ?? metadata.issuer,
      resource: request.audience ?? settings.identityAssertion.resource,
      scope: request.scope.isEmpty ? nil : settings.spelling(ofScope: request.scope))
  }

  /// Returns the call that exchanges an ID token for an assertion at the identity provider.
  package static func exchange(
    ofIDToken token: Secret, for request: IdentityAssertionRequest, _ metadata: OIDCMetadata
  ) -> OIDCCall {
    .tokenExchange(
      .init(
        subject: token, scope: request.scope, audience: request.audience,
        assertion: .init(resource: request.resource)), metadata)
  }
}

extension TokenRequest {
  /// The identifier of ID tokens in a token exchange (RFC 8693 §3).
  package static let idTokenType = "urn:ietf:params:oauth:token-type:id_token"
  /// The identifier of assertions about a person for another provider.
  package static let identityAssertionType = "urn:ietf:params:oauth:token-type:id-jag"

  /// The request that an identity provider answers with an assertion, which is no access token (RFC
  /// 8693 §2.2.1).
  package init(identityAssertionOf provider: ProviderName) {
    self.init(provider: provider, scope: "")
    rules.tokenTypes = ["n_a"]
    rules.ignoresIDToken = true
    issuedTokenType = Self.identityAssertionType
  }
}
