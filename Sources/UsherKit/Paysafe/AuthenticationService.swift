public import FoundationEssentials
import UsherAPI
import UsherClient
import UsherCore

extension Wallet {
  /// Signs customers in, and solves SCA challenges.
  ///
  /// Source: seed "Authentication". ``handleRedirect(url:)``, ``authenticationCode(requestID:)``
  /// and ``awaitSCAApproval(eventID:request:)`` are our own: on a phone these were the program's
  /// business.
  public struct AuthenticationService: Sendable {
    let wallet: Wallet

    /// Begins a sign-in and tells the page it begins with.
    ///
    /// `state` and `codeChallenge` are passed through, so the code is the partner's to redeem.
    ///
    /// - Parameters:
    ///   - brandIdentity: The partner's, as Paysafe gave it out.
    ///   - request: With a `state` and a `codeChallenge` made for this sign-in.
    public func getAuthenticationDetails(
      brandIdentity: String, request: AuthenticationDetailsRequest
    ) async throws(WalletError) -> AuthenticationDetails {
      try await translating(to: WalletError.self) {
        let session = try await wallet.begin(.authorize, request.params(brandIdentity))
        let flow = try await session.first(where: \.stands).unfailed()
        guard case .openURL(let page) = flow.step, let url = URL(string: page.url) else {
          throw KitError(.unexpected, "the sign-in does not begin with a page to open")
        }
        return AuthenticationDetails(
          authenticationURL: url, requestID: flow.requestId ?? flow.id.rawValue)
      }
    }

    /// Takes the URL at which the browser came back, and tells the code that it brought.
    ///
    /// The daemon compares the state: a URL that answers no sign-in is
    /// ``WalletError/nothingWaiting(_:)`` and changes nothing. Where the customer or the wallet
    /// said no, the sign-in has failed with the OAuth code in `providerCode`.
    public func handleRedirect(url: URL) async throws(WalletError) -> AuthenticationCode {
      try await translating(to: WalletError.self) {
        try code(of: try await comeBack(.redirect(url: Secret(url.absoluteString))))
      }
    }

    /// Waits until the customer has come back, and tells the code.
    ///
    /// For sign-ins whose redirect the daemon itself gets, and for a program that was restarted
    /// after ``handleRedirect(url:)``: until the access token is handed in the code is told again.
    ///
    /// - Parameter requestID: Of ``AuthenticationDetails``; nil means the sign-in begun last.
    public func authenticationCode(
      requestID: String? = nil
    ) async throws(WalletError) -> AuthenticationCode {
      try await translating(to: WalletError.self) {
        let found = try await wallet.newestFlow(.authorize) {
          requestID == nil || $0.requestId == requestID
        }
        guard let found else { throw KitError(.nothingWaiting, "no sign-in is under way") }
        return try code(of: try await found.first { $0.step?.kind == .exchangeCredential })
      }
    }

    /// Which sign-in it answers is the daemon's to say: each refuses what is not its own.
    private func comeBack(_ redirect: FlowInput) async throws -> Flow {
      for flow in try await wallet.liveFlows(.authorize) {
        let session = try await wallet.client.session(of: flow.id)
        guard case .openURL? = session.flow.step else { continue }
        do {
          return try await session.answer(redirect, to: session.flow)
        } catch let error as UsherError where error.isAnothersAnswer {
          continue
        }
      }
      throw KitError(.nothingWaiting, "no sign-in waits for this URL")
    }

    private func code(of flow: Flow) throws -> AuthenticationCode {
      guard case .exchangeCredential(let step) = try flow.unfailed().step else {
        throw KitError(.unexpected, "the sign-in has brought no code")
      }
      return AuthenticationCode(step)
    }
  }
}

extension UsherError {
  /// Whether a flow refused an answer because it is not its own, or came too late for it.
  fileprivate var isAnothersAnswer: Bool {
    [.invalidInput, .conflict, .flowFinished, .unexpectedInput].contains(reason)
  }
}

// MARK: - The access token

extension Wallet {
  /// Hands in the access token that the partner's backend got for the code.
  ///
  /// It ends the sign-in that waits for it; the daemon keeps the tokens from then on.
  ///
  /// - Parameters:
  ///   - accessToken: The JWT that Paysafe issued.
  ///   - expiresIn: Seconds; nil takes the token's own word.
  ///   - refreshToken: With it the daemon renews the access token.
  ///   - requestID: Of ``AuthenticationCode``; nil means the sign-in begun last of those that wait.
  /// - Returns: The account the customer has at the daemon now.
  @discardableResult
  public static func authenticate(
    accessToken: String, expiresIn: Int? = nil, refreshToken: String? = nil,
    requestID: String? = nil
  ) async throws(WalletError) -> Account {
    try await instance.authenticate(
      accessToken: accessToken, expiresIn: expiresIn, refreshToken: refreshToken,
      requestID: requestID)
  }

  /// As the static one, of this wallet.
  @discardableResult
  public func authenticate(
    accessToken: String, expiresIn: Int? = nil, refreshToken: String? = nil,
    requestID: String? = nil
  ) async throws(WalletError) -> Account {
    var tokens = ["accessToken": Secret(accessToken)]
    tokens["expiresIn"] = expiresIn.map { Secret(String($0)) }
    tokens["refreshToken"] = refreshToken.map { Secret($0) }
    let exchanged = FlowInput.exchanged(tokens)
    return try await translating(to: WalletError.self) {
      let account = try await finish(with: exchanged, requestID)
      remember(account)
      return Account(id: account.rawValue)
    }
  }

  private func finish(
    with exchanged: FlowInput, _ requestID: String?
  ) async throws -> AccountID {
    let found = try await newestFlow(.authorize) { flow in
      guard case .exchangeCredential(let step) = flow.step else { return false }
      return requestID == nil || step.requestId == requestID
    }
    guard let found else {
      throw KitError(.nothingWaiting, "no sign-in waits for an access token")
    }
    let flow = try await found.answer(exchanged, to: found.flow).unhindered()
    guard let account = flow.result?["account"]?.stringValue else {
      throw KitError(.unexpected, "the sign-in has ended without an account")
    }
    return AccountID(account)
  }
}
