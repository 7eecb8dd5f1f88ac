package import UsherAPI
package import UsherConfig
package import UsherCore

// Failures of calls and flows of the partner API.

extension FreedomIDRefusal {
  /// The SDK's error code for a call that authenticates the client: a plain 401 means wrong id or
  /// secret.
  var clientErrorCode: FreedomIDErrorCode { isPlain401 ? .incorrectApiKey : errorCode }

  /// The SDK's error code for a call that carries a token: a plain 401 means an invalid token.
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
  /// The account has no token for its call. Nothing was sent.
  static func noToken(_ message: String, _ provider: ProviderName) -> Failure {
    .loginRequired(message, FreedomIDErrorCode.autheticationError.providerErrorCode(provider))
  }

  /// A rejection that the provider explains in a sentence, without a code.
  static func rejected(_ message: String, says text: String?, _ provider: ProviderName) -> Failure {
    var errorCode = FreedomIDErrorCode.unknownError.providerErrorCode(provider)
    errorCode.message = ProviderText.shown(text)
    return Failure(
      reason: .providerRejected, title: "Refused by the provider",
      message: errorCode.message ?? message, retryable: false, provider: errorCode)
  }

  /// - Parameter code: The `error_code` of the redirect. Only `100102` is known to mean that the
  ///   user declined.
  static func redirected(_ code: String, _ provider: ProviderName) -> Failure {
    guard code == "100102" else {
      let sentence = "the provider answers \(code.isEmpty ? "with an error" : code)"
      var failure = Failure.rejected(sentence, says: nil, provider)
      failure.provider?.error = code
      return failure
    }
    var failure = Failure.denied("the person did not agree", provider)
    failure.provider?.error = code
    return failure
  }
}
