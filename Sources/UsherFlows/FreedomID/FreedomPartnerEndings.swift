package import UsherAPI
package import UsherConfig
package import UsherCore

// Failures of calls and flows of the partner API.

extension FreedomIDRefusal {
  /// The SDK's error code for a call that carries the client's id and secret: a 401 without a code
  /// means that these are wrong.
  var clientErrorCode: FreedomIDErrorCode { isPlain401 ? .incorrectApiKey : errorCode }

  /// The SDK's error code for a call that carries a token: a 401 without a code means that the
  /// token is invalid.
  var tokenErrorCode: FreedomIDErrorCode { isPlain401 ? .autheticationError : errorCode }

  private var isPlain401: Bool { status == 401 && code == nil }
}

/// A flow at Freedom ID, in any of its modes.
package protocol FreedomFlow: FlowMachine where Call.Settings == FreedomIDSettings {}

extension FreedomFlow {
  package static func providerErrorCode(
    for ending: Failure.Reason, provider: ProviderName
  ) -> ProviderErrorCode? {
    let codes: [Failure.Reason: FreedomIDErrorCode] = [
      .cancelled: .userCanceled, .expired: .userCanceled, .denied: .accessDenied,
      .providerRejected: .configurationError,
    ]
    return codes[ending]?.providerErrorCode(provider)
  }
}

extension Failure {
  /// The failure of a flow whose account has no token for the call, so that nothing was sent.
  static func noToken(_ message: String, _ provider: ProviderName) -> Failure {
    .loginRequired(message, FreedomIDErrorCode.autheticationError.providerErrorCode(provider))
  }

  /// The failure of a flow that Freedom ID rejects with a sentence, but without a code.
  static func rejected(_ message: String, says text: String?, _ provider: ProviderName) -> Failure {
    var errorCode = FreedomIDErrorCode.unknownError.providerErrorCode(provider)
    errorCode.message = ProviderText.shown(text)
    return Failure(
      reason: .providerRejected, title: "Refused by the provider",
      message: errorCode.message ?? message, retryable: false, provider: errorCode)
  }

  /// The failure of a flow whose redirect reports an error.
  ///
  /// - Parameter code: The `error_code` of the redirect. Only `100102` is known to mean that the
  ///   user declined.
  static func redirected(_ code: String, _ provider: ProviderName) -> Failure {
    let sentence = "the provider answers \(code.isEmpty ? "with an error" : code)"
    let failure =
      code == "100102"
      ? Failure.denied("the person did not agree", provider)
      : .rejected(sentence, says: nil, provider)
    return copy(failure) { $0.provider?.error = code }
  }
}
