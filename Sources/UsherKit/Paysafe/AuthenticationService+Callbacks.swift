public import FoundationEssentials

// The SDK's own form of each call.

extension Wallet.AuthenticationService {
  /// ``getAuthenticationDetails(brandIdentity:request:)`` for a program that wants to be called
  /// back.
  public func getAuthenticationDetails(
    brandIdentity: String, request: Wallet.AuthenticationDetailsRequest,
    completion: @escaping @Sendable (Result<Wallet.AuthenticationDetails, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await getAuthenticationDetails(brandIdentity: brandIdentity, request: request)
    }
  }

  /// ``handleRedirect(url:)`` for a program that wants to be called back.
  public func handleRedirect(
    url: URL,
    completion: @escaping @Sendable (Result<Wallet.AuthenticationCode, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in try await handleRedirect(url: url) }
  }

  /// ``authenticationCode(requestID:)`` for a program that wants to be called back.
  public func authenticationCode(
    requestID: String? = nil,
    completion: @escaping @Sendable (Result<Wallet.AuthenticationCode, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await authenticationCode(requestID: requestID)
    }
  }

  /// ``sendSCAChallenge(eventID:request:)`` for a program that wants to be called back.
  public func sendSCAChallenge(
    eventID: String, request: SCAChallengeRequest,
    completion: @escaping @Sendable (Result<SCAChallengeResponse, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await sendSCAChallenge(eventID: eventID, request: request)
    }
  }

  /// ``submitSCAAttempt(eventID:request:)`` for a program that wants to be called back.
  public func submitSCAAttempt(
    eventID: String, request: SCAAttemptRequest,
    completion: @escaping @Sendable (Result<SCAAttemptResponse, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await submitSCAAttempt(eventID: eventID, request: request)
    }
  }

  /// ``awaitSCAApproval(eventID:request:)`` for a program that wants to be called back.
  public func awaitSCAApproval(
    eventID: String, request: SCAChallengeRequest,
    completion: @escaping @Sendable (Result<SCAAttemptResponse, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await awaitSCAApproval(eventID: eventID, request: request)
    }
  }
}

extension Wallet {
  /// ``authenticate(accessToken:expiresIn:refreshToken:requestID:)-type.method`` for a program that
  /// wants to be called back.
  public static func authenticate(
    accessToken: String, expiresIn: Int? = nil, refreshToken: String? = nil,
    requestID: String? = nil,
    completion: @escaping @Sendable (Result<Account, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await authenticate(
        accessToken: accessToken, expiresIn: expiresIn, refreshToken: refreshToken,
        requestID: requestID)
    }
  }
}
