public import FoundationEssentials

// The calls with a completion handler, as in the SDK.

extension Wallet.AuthenticationService {
  /// Calls ``getAuthenticationDetails(brandIdentity:request:)`` and passes its result to
  /// `completion`.
  ///
  /// `completion` may use members of its object without `self.`, as in the vendor's example.
  public func getAuthenticationDetails(
    brandIdentity: String, request: Wallet.AuthenticationDetailsRequest,
    @_inheritActorContext @_implicitSelfCapture completion:
      @escaping @isolated(any) @Sendable (Result<Wallet.AuthenticationDetails, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await getAuthenticationDetails(brandIdentity: brandIdentity, request: request)
    }
  }

  /// Calls ``handleRedirect(url:)`` and passes its result to `completion`.
  public func handleRedirect(
    url: URL,
    @_inheritActorContext completion:
      @escaping @isolated(any) @Sendable (Result<Wallet.AuthenticationCode, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in try await handleRedirect(url: url) }
  }

  /// Calls ``authenticationCode(requestID:)`` and passes its result to `completion`.
  public func authenticationCode(
    requestID: String? = nil,
    @_inheritActorContext completion:
      @escaping @isolated(any) @Sendable (Result<Wallet.AuthenticationCode, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await authenticationCode(requestID: requestID)
    }
  }

  /// Calls ``sendSCAChallenge(eventID:request:)`` and passes its result to `completion`.
  public func sendSCAChallenge(
    eventID: String, request: SCAChallengeRequest,
    @_inheritActorContext completion:
      @escaping @isolated(any) @Sendable (Result<SCAChallengeResponse, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await sendSCAChallenge(eventID: eventID, request: request)
    }
  }

  /// Calls ``submitSCAAttempt(eventID:request:)`` and passes its result to `completion`.
  public func submitSCAAttempt(
    eventID: String, request: SCAAttemptRequest,
    @_inheritActorContext completion:
      @escaping @isolated(any) @Sendable (Result<SCAAttemptResponse, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await submitSCAAttempt(eventID: eventID, request: request)
    }
  }

  /// Calls ``awaitSCAApproval(eventID:request:)`` and passes its result to `completion`.
  public func awaitSCAApproval(
    eventID: String, request: SCAChallengeRequest,
    @_inheritActorContext completion:
      @escaping @isolated(any) @Sendable (Result<SCAAttemptResponse, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await awaitSCAApproval(eventID: eventID, request: request)
    }
  }
}

extension Wallet {
  /// Signs a customer in as the `async` function of this name does, and passes its result to
  /// `completion`.
  public static func authenticate(
    accessToken: String, expiresIn: Int? = nil, refreshToken: String? = nil,
    requestID: String? = nil, brandIdentity: String? = nil,
    @_inheritActorContext completion:
      @escaping @isolated(any) @Sendable (Result<Account, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await authenticate(
        accessToken: accessToken, expiresIn: expiresIn, refreshToken: refreshToken,
        requestID: requestID, brandIdentity: brandIdentity)
    }
  }
}
