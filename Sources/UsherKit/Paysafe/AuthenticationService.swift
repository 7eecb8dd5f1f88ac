public import FoundationEssentials
import UsherClient

extension Wallet {
  /// The calls that sign customers in and answer challenges of Strong Customer Authentication
  /// (SCA).
  ///
  /// Source: SDK documentation, "Authentication". ``handleRedirect(url:)``,
  /// ``authenticationCode(requestID:)`` and ``awaitSCAApproval(eventID:request:)`` are not in the
  /// SDK: on a phone the program did this itself.
  public struct AuthenticationService: Sendable {
    let wallet: Wallet

    /// Starts a sign-in and returns the page to open in the browser.
    ///
    /// `state` and `codeChallenge` are passed to the wallet unchanged, so only the partner can
    /// redeem the code.
    ///
    /// - Parameters:
    ///   - brandIdentity: The brand identity that Paysafe gave the partner.
    ///   - request: The parameters, with a `state` and a `codeChallenge` made for this sign-in.
    public func getAuthenticationDetails(
      brandIdentity: String, request: AuthenticationDetailsRequest
    ) async throws(WalletError) -> AuthenticationDetails {
      try await translating(to: WalletError.self) {
        let session = try await wallet.provider.start(Wallet.signIn, request.params(brandIdentity))
        let flow = try await session.waitUntil(\.isSettled).requireNoFailure()
        guard case .openURL(let page) = flow.step, let url = URL(string: page.url) else {
          throw KitError(.unexpected, "the sign-in does not begin with a page to open")
        }
        wallet.latestBrandIdentity = brandIdentity
        return AuthenticationDetails(
          authenticationURL: url, requestID: flow.requestId ?? flow.id.rawValue)
      }
    }

    /// Submits the URL to which the browser was redirected after a sign-in, and returns the
    /// authorization code in it.
    ///
    /// The daemon compares the `state`. If no sign-in waits for this URL, the call throws
    /// ``WalletError/nothingWaiting(_:)`` and changes nothing. If the customer or the wallet
    /// refused, the sign-in has failed and the error has the OAuth error code in `providerCode`.
    public func handleRedirect(url: URL) async throws(WalletError) -> AuthenticationCode {
      try await translating(to: WalletError.self) {
        guard let session = try await wallet.provider.submitRedirect(url, to: Wallet.signIn)
        else { throw KitError(.nothingWaiting, "no sign-in is waiting for this URL") }
        return try code(of: try await session.waitUntil(\.isSettled))
      }
    }

    /// Waits until the customer has signed in, and returns the authorization code.
    ///
    /// Use it if the daemon receives the redirect (no `redirectURI`), or after a restart of the
    /// program: the code can be read again until the access token is submitted.
    ///
    /// - Parameter requestID: The id from ``AuthenticationDetails``; nil means the newest sign-in.
    /// - Throws: ``WalletError/nothingWaiting(_:)`` if no sign-in is in progress.
    public func authenticationCode(
      requestID: String? = nil
    ) async throws(WalletError) -> AuthenticationCode {
      try await translating(to: WalletError.self) {
        let found = try await wallet.provider.newestFlow(Wallet.signIn) {
          requestID == nil || $0.requestId == requestID
        }
        guard let found else { throw KitError(.nothingWaiting, "no sign-in is in progress") }
        return try code(of: try await found.waitUntil { $0.step?.kind == .exchangeCredential })
      }
    }

    private func code(of flow: Flow) throws -> AuthenticationCode {
      guard case .exchangeCredential(let step) = try flow.requireNoFailure().step else {
        throw KitError(.unexpected, "the sign-in returned no code")
      }
      return AuthenticationCode(step)
    }
  }
}

// MARK: - The access token

extension Wallet {
  /// Submits the access token that the partner's backend got for the authorization code.
  ///
  /// This completes the sign-in, whether the program has passed the redirect to
  /// ``AuthenticationService/handleRedirect(url:)`` or has compared the `state` and redeemed the
  /// code itself. The daemon stores the tokens, and ``Wallet/account`` is the customer's from now
  /// on.
  ///
  /// - Parameters:
  ///   - accessToken: The JWT that Paysafe issued.
  ///   - expiresIn: The lifetime in seconds; nil uses the expiry (`exp`) of the token.
  ///   - refreshToken: The token with which the daemon refreshes the access token.
  ///   - requestID: The id from ``AuthenticationCode``; nil means the newest sign-in that waits for
  ///     an access token. If none waits, the token alone signs the customer in.
  ///   - brandIdentity: The brand that the token was issued for; nil means that of the sign-in that
  ///     this wallet has begun last, or the daemon's configured one. It does not matter if a
  ///     sign-in waits for the token, because that has a brand already.
  /// - Returns: The customer's account at the daemon.
  @discardableResult
  public static func authenticate(
    accessToken: String, expiresIn: Int? = nil, refreshToken: String? = nil,
    requestID: String? = nil, brandIdentity: String? = nil
  ) async throws(WalletError) -> Account {
    try await instance.authenticate(
      accessToken: accessToken, expiresIn: expiresIn, refreshToken: refreshToken,
      requestID: requestID, brandIdentity: brandIdentity)
  }

  /// Submits an access token for this wallet, as
  /// ``authenticate(accessToken:expiresIn:refreshToken:requestID:brandIdentity:)-type.method`` does
  /// for ``instance``.
  @discardableResult
  public func authenticate(
    accessToken: String, expiresIn: Int? = nil, refreshToken: String? = nil,
    requestID: String? = nil, brandIdentity: String? = nil
  ) async throws(WalletError) -> Account {
    let tokens = SubmittedTokens(
      accessToken, expiresIn, refreshToken, brandIdentity ?? latestBrandIdentity)
    return try await translating(to: WalletError.self) {
      let account = try await keepAccount { try await finish(with: tokens, requestID) }
      return Account(id: account.rawValue)
    }
  }

  private func finish(
    with tokens: SubmittedTokens, _ requestID: String?
  ) async throws -> AccountID {
    let found = try await provider.newestFlow(Self.signIn) { flow in
      guard case .exchangeCredential(let step) = flow.step else { return false }
      return requestID == nil || step.requestId == requestID
    }
    let flow =
      if let found {
        try await found.answer(tokens.input, to: found.flow).requireNoProblem()
      } else {
        try await provider.start(Self.tokenSignIn, tokens.params)
          .waitUntil(\.isSettled).requireNoFailure()
      }
    guard let account = flow.result?["account"]?.stringValue else {
      throw KitError(.unexpected, "the sign-in has ended without an account")
    }
    return AccountID(account)
  }
}

/// The tokens that the partner's backend got for the authorization code.
private struct SubmittedTokens {
  private let accessToken: Secret
  private let expiresIn: Int?
  private let refreshToken: Secret?
  private let brandIdentity: String?

  init(
    _ accessToken: String, _ expiresIn: Int?, _ refreshToken: String?, _ brandIdentity: String?
  ) {
    self.brandIdentity = brandIdentity
    self.accessToken = Secret(accessToken)
    self.expiresIn = expiresIn
    self.refreshToken = refreshToken.map { Secret($0) }
  }

  /// The answer to a sign-in that waits for the tokens.
  var input: FlowInput {
    var members = ["accessToken": accessToken]
    members["expiresIn"] = expiresIn.map { Secret(String($0)) }
    members["refreshToken"] = refreshToken
    return .exchanged(members)
  }

  /// The parameters of a flow that signs the customer in with the tokens.
  var params: JSONValue {
    .params([
      "accessToken": .string(accessToken.revealed()),
      "expiresIn": expiresIn.map { .integer(Int64($0)) },
      "refreshToken": .text(refreshToken?.revealed()), "brandIdentity": .text(brandIdentity),
    ])
  }
}
