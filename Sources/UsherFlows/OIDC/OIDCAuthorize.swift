package import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// Signs a user in with a browser: authorization code with PKCE and a loopback redirect (RFC 8252,
/// RFC 9700, OIDC Core §3.1).
package struct OIDCAuthorize: FlowMachine, DiscoveringMachine, RedeemingCodeGrant {
  package typealias Event = FlowEvent<OIDCCall>
  package typealias Answer = UsherFlows.Answer<OIDCCall>
  package static let kind = "authorize"
  package static let summary = "Sign a person in with a browser on this machine."

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The scopes, separated by spaces. Default: the configured scopes. At an OpenID provider
    /// `openid` is always requested.
    package var scope: String?
    /// Whether `offline_access` is requested in addition to ``scope``, if the provider lists it
    /// among its scopes.
    package var offlineAccess: Bool?
    /// The audiences for which tokens will be requested. Default: the configured ones. Not at a
    /// provider without `audience_parameter` in its configuration.
    package var audiences: [String]?
    /// An existing account to sign in again. The sign-in of any other user is refused. What the
    /// account has by now is requested, too, so that no program loses it.
    package var account: AccountID?
    /// The account that the user probably wants, such as an e-mail address (OIDC Core §3.1.2.1).
    package var loginHint: String?
    /// `login`, `consent`, `select_account`, … (OIDC Core §3.1.2.1).
    package var prompt: String?
    /// The user's preferred languages, as BCP 47 tags with spaces between them.
    package var uiLocales: String?
    /// The requested classes of authentication, with spaces between them (OIDC Core §3.1.2.1).
    package var acrValues: String?
    /// The maximum time since the user's last authentication at the provider, in seconds.
    package var maxAgeSeconds: Int?
    /// The requested claims (OIDC Core §5.5): an object with `userinfo`, `id_token` or both. Only
    /// at a provider whose metadata has `claims_parameter_supported`.
    package var claims: [String: JSONValue]?
    /// Whether the daemon refreshes the tokens in the background.
    package var keepAlive: Bool?
  }

  package let provider: Provider<OIDCSettings>
  var request: Request
  var state: State
  var problem: Problem?
  var lostRounds = 0

  struct Request: Codable, Sendable, Equatable {
    var scope: String
    /// Whether the scope is that of the configuration; nil in flows that an older version stored.
    var isConfiguredScope: Bool?
    /// Whether `offline_access` is added if the provider lists it; nil means false.
    var addsOfflineAccess: Bool?
    /// The audiences; nil if there are none.
    var audiences: [String]?
    let hints: [String: String]
    /// The grant that the sign-in extends; nil if it extends none.
    var grantID: Sealed<Secret>?
    let maxAge: Int?
    let account: KnownAccount?
    let keepAlive: Bool
  }

  enum State: Codable, Sendable, Equatable {
    /// Fetches the provider's metadata. Next: preparing, or the end.
    case discovering(RetryBackoff)
    /// Waits until the loopback listener is open. Next: signing, pushing, authorizing, or the end.
    case preparing(OIDCAttempt)
    /// Signs the authorization request (RFC 9101). The back-off is that of the push which follows.
    /// Next: pushing, authorizing, or the end.
    case signing(OIDCAttempt, redirectURI: String, ListenerState, RetryBackoff)
    /// Sends the authorization request to the provider (RFC 9126). Next: authorizing, or the end.
    case pushing(OIDCAttempt, redirectURI: String, ListenerState, RetryBackoff)
    /// The user is in the browser. Next: checking, exchanging, preparing with a new attempt, or the
    /// end.
    case authorizing(OIDCAttempt, redirectURI: String, ListenerState)
    /// Verifies the signature of the provider's answer, which is held in memory only (JARM). Next:
    /// exchanging, preparing with a new attempt, or the end.
    case checking(OIDCAttempt, redirectURI: String, Transient, RetryBackoff)
    /// Redeems the code. The code is held only during a pause before the next attempt, and only in
    /// memory. Next: signingIn, preparing with a new attempt, or the end.
    case exchanging(OIDCAttempt, redirectURI: String, Transient, RetryBackoff)
    /// Turns the tokens into an account. Next: the end.
    case signingIn(OIDCSignIn)
  }

  struct Redemption: CodeRedemption {
    let attempt: OIDCAttempt
    let redirectURI: String
    var code = Transient(nil)
    var retrying = RetryBackoff()
  }

  package static let maxLostRounds = 3

  package static func begin(
    _ params: Params, _ context: FlowContext<OIDCSettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (OIDCAuthorize, Answer) {
    let provider = context.provider
    if let age = params.maxAgeSeconds, !(0...31_536_000).contains(age) {
      throw ParamsValidation.wrong("maxAgeSeconds", "must be from 0 to a year")
    }
    var hints: [String: String] = [:]
    hints["login_hint"] = try ParamsValidation.text(params.loginHint, "loginHint")
    hints["prompt"] = try ParamsValidation.text(params.prompt, "prompt")
    hints["ui_locales"] = try ParamsValidation.text(params.uiLocales, "uiLocales")
    hints["acr_values"] = try ParamsValidation.text(params.acrValues, "acrValues")
    hints["claims"] = try OIDCRequest.claims(params.claims, provider.settings)
    hints["max_age"] = params.maxAgeSeconds.map { String($0) }
    let request = Request(
      scope: context.withGranted(
        scope: try OIDCRequest.scope(params.scope, provider.settings)),
      isConfiguredScope: params.scope == nil, addsOfflineAccess: params.offlineAccess,
      audiences: context.withGranted(
        audiences: try OIDCRequest.audiences(params.audiences, provider.settings)), hints: hints,
      grantID: provider.settings.grantManagement ? context.granted?.grantID : nil,
      maxAge: params.maxAgeSeconds, account: context.account, keepAlive: params.keepAlive ?? false)
    let flow = OIDCAuthorize(
      provider: provider, request: request, state: .discovering(RetryBackoff()))
    return (flow, .proceed([.discover]))
  }

  package var view: FlowView {
    switch state {
    case .discovering: waiting("discovering", for: "the provider's metadata")
    case .preparing: waiting("preparing", for: "the local callback listener")
    case .signing: waiting("signing", for: "the signed request")
    case .pushing: waiting("pushing", for: "the provider to accept the request")
    case .authorizing(let attempt, let redirectURI, let listener):
      browser(
        "authorizing",
        at: attempt.url(
          redirectURI: redirectURI, scope: request.scope, audiences: request.audiences ?? [],
          hints: hints(attempt.metadata), settings: provider.settings),
        redirectURI: redirectURI, listener)
    case .checking: waiting("checking", for: "the signature of the provider's answer")
    case .exchanging: waiting("exchanging", for: "the provider's tokens")
    case .signingIn(let signIn): signIn.view
    }
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    switch state {
    case .discovering(let retrying): return discovering(event, retrying, &transition)
    case .preparing(let attempt): return preparing(event, attempt)
    case .signing(let attempt, let redirectURI, let listener, let retrying):
      return signing(event, attempt, redirectURI, listener, retrying)
    case .pushing(let attempt, let redirectURI, let listener, let retrying):
      return pushing(event, attempt, redirectURI, listener, retrying, transition.now)
    case .authorizing(let attempt, let redirectURI, let listener):
      return authorizing(event, attempt, redirectURI, listener, &transition)
    case .checking(let attempt, let redirectURI, let response, let retrying):
      return checking(event, attempt, redirectURI, response, retrying, &transition)
    case .exchanging(let attempt, let redirectURI, let code, let retrying):
      let redemption = Redemption(
        attempt: attempt, redirectURI: redirectURI, code: code, retrying: retrying)
      return redeeming(event, redemption, &transition)
    case .signingIn(var signIn):
      let answer = signIn.receive(event, provider, at: transition.now)
      state = .signingIn(signIn)
      return answer
    }
  }

  package var callsIfAbandoned: [OIDCCall] {
    if case .signingIn(let signIn) = state { signIn.callsIfAbandoned } else { [] }
  }
}

// MARK: - Before the browser

extension OIDCAuthorize {
  mutating func discover(_ retrying: RetryBackoff) { state = .discovering(retrying) }

  mutating func discovered(
    _ metadata: OIDCMetadata, _ transition: inout TransitionContext
  ) -> Answer {
    guard let endpoint = metadata.authorizationEndpoint else {
      return .fail(.protocolError("the provider names no authorization endpoint"))
    }
    if let flaw = provider.settings.flaw(ofAuthorizationAt: metadata) {
      return .fail(.protocolError(flaw))
    }
    if request.hints["claims"] != nil, metadata.supportsClaims != true {
      return .fail(.claimsUnsupported)
    }
    if request.isConfiguredScope == true { request.scope = metadata.known(in: request.scope) }
    if request.addsOfflineAccess == true {
      request.scope = metadata.addingOfflineAccess(to: request.scope)
    }
    let attempt = OIDCAttempt(
      metadata, authorizationEndpoint: endpoint, dpopKey: provider.settings.dpopKey(&transition),
      &transition)
    return start(attempt, nil)
  }
}

// MARK: - The browser and the code

extension OIDCAuthorize {
  var redirect: Redirect { provider.settings.redirect }
  var redirectForm: RedirectForm {
    let mode = provider.settings.responseMode
    return copy(.oauth) { ($0.isPosted, $0.isSigned) = (mode.isPosted, mode.isSigned) }
  }
  var hasPKCE: Bool { provider.settings.pkce }

  func secret(of attempt: OIDCAttempt) -> Secret { attempt.state.unsealed() }

  mutating func prepare(_ attempt: OIDCAttempt) { state = .preparing(attempt) }

  mutating func show(_ attempt: OIDCAttempt, redirectURI: String, _ listener: ListenerState) {
    state = .authorizing(attempt, redirectURI: redirectURI, listener)
  }

  mutating func redirected(
    _ answer: AuthorizationResponse, _ attempt: OIDCAttempt, redirectURI: String,
    _ transition: inout TransitionContext
  ) -> Answer {
    guard provider.settings.responseMode.isSigned else {
      return accept(answer, attempt, redirectURI, after: [.stopListening])
    }
    guard let signed = answer.signed else {
      return .fail(.protocolError("the provider's answer is not signed, as response_mode demands"))
    }
    state = .checking(attempt, redirectURI: redirectURI, Transient(signed), RetryBackoff())
    return .proceed([.stopListening, verification(of: signed, attempt)])
  }

  /// Continues with an answer of the provider. If answers are signed, its signature is verified.
  mutating func accept(
    _ answer: AuthorizationResponse, _ attempt: OIDCAttempt, _ redirectURI: String,
    after effects: [Effect<OIDCCall>] = []
  ) -> Answer {
    let namesIssuer = provider.settings.oauth2?.namesIssuer ?? true
    if namesIssuer, let flaw = answer.flaw(attempt.metadata, provider.settings.profile) {
      return .fail(.protocolError(flaw))
    }
    // An error is this flow's if its `state` is, also without `iss`: it can only end the flow.
    if let failure = answer.failure(provider.name) { return .fail(failure) }
    guard let code = answer.code, !code.isEmpty else { return .fail(.neitherCodeNorError) }
    problem = nil
    return redeem(
      code, Redemption(attempt: attempt, redirectURI: redirectURI), after: effects)
  }

  mutating func renew(
    _ attempt: OIDCAttempt, _ problem: Problem, _ transition: inout TransitionContext
  ) -> Answer {
    start(attempt.renewed(&transition), problem, after: [.stopListening])
  }

  mutating func keep(_ redemption: Redemption) {
    state = .exchanging(
      redemption.attempt, redirectURI: redemption.redirectURI, redemption.code,
      redemption.retrying)
  }

  func exchange(_ code: Secret, _ redemption: Redemption) -> OIDCCall {
    OIDCCall.exchange(
      .init(
        code: code, verifier: redemption.attempt.verifier.unsealed(),
        redirectURI: redemption.redirectURI),
      redemption.attempt.metadata
    ).bound(to: redemption.attempt.dpopKey)
  }

  func code(in call: OIDCCall, of redemption: Redemption) -> Secret? {
    guard case .exchange(let exchange, _) = call.unbound,
      exchange.verifier == redemption.attempt.verifier.unsealed()
    else { return nil }
    return exchange.code
  }

  func read(_ reply: HTTPReply, at now: Timestamp) -> TokenReply {
    TokenReply(reply, to: TokenRequest(provider, scope: request.scope), at: now)
  }

  mutating func granted(_ tokens: TokenSet, by code: Secret, _ attempt: OIDCAttempt) -> Answer {
    let (signIn, answer) = OIDCSignIn.begin(
      tokens, attempt.metadata,
      .init(
        nonce: attempt.nonce, code: provider.settings.hasIDTokens ? Sealed(code) : nil,
        state: provider.settings.hasIDTokens ? attempt.state : nil, maxAge: maxAge,
        acrValues: acrValues, account: request.account, keepAlive: request.keepAlive,
        dpopKey: attempt.dpopKey,
        request: SignInOptions(
          kind: Self.kind, acrValues: demandedClasses, audiences: request.audiences),
        needsIDToken: provider.settings.hasIDTokens, grantID: request.grantID))
    state = .signingIn(signIn)
    problem = nil
    return answer
  }
}

extension OIDCAuthorize {
  /// The `max_age` of the authorization request, of the caller or of the configuration.
  private var maxAge: Int? {
    request.maxAge ?? provider.settings.extraAuthorize["max_age"].flatMap { Int($0) }
  }

  /// The classes of authentication that the caller demands, in the form of `acr_values`; nil if it
  /// demands none.
  private var demandedClasses: String? {
    if let demanded = request.hints["acr_values"] { return demanded }
    let essential = OIDCRequest.essentialClasses(in: request.hints["claims"]) ?? []
    let words = essential.filter { !$0.isEmpty && !$0.contains(" ") }
    return words.isEmpty ? nil : words.joined(separator: " ")
  }

  /// The classes of which the authentication must be one: the `acr_values` of the caller or of the
  /// configuration, and of these the ones that either requests as an essential claim, if it does.
  private var acrValues: [String]? {
    let claims = request.hints["claims"] ?? provider.settings.extraAuthorize["claims"]
    let text = request.hints["acr_values"] ?? provider.settings.extraAuthorize["acr_values"]
    let values = text?.split(separator: " ").map(String.init) ?? []
    guard let essential = OIDCRequest.essentialClasses(in: claims) else {
      return values.isEmpty ? nil : values
    }
    return values.isEmpty
      ? essential
      : essential.filter { name in values.contains { $0.hasSameBytes(as: name) } }
  }
}

extension AuthorizationResponse {
  /// Returns why the provider's redirect must not be trusted (RFC 9207 §2.4); nil if it may be.
  fileprivate func flaw(_ metadata: OIDCMetadata, _ profile: OIDCProfile) -> String? {
    if let iss {
      guard !iss.hasSameBytes(as: metadata.issuer) else { return nil }
      return "the redirect comes from another issuer: expected \(metadata.issuer), "
        + "found \(ProviderText.found(iss))"
    }
    guard metadata.namesIssuerInRedirect || profile.isFAPI2, error == nil else { return nil }
    return "the redirect does not say which issuer it comes from: expected \(metadata.issuer)"
      + (profile.issuerRule ?? "")
  }
}

extension Failure {
  /// The failure of a flow that requests claims of a provider which ignores the parameter.
  fileprivate static let claimsUnsupported = Failure(
    reason: .invalidRequest, title: "Claims cannot be requested",
    message: "the provider does not support the parameter claims: its metadata has no "
      + "claims_parameter_supported; start the sign-in without claims", retryable: false)
}
