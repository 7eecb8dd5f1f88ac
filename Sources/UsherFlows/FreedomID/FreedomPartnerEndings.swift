import UsherAPI
import UsherCore

// How calls and flows of the partner API end without success.

extension FreedomIDRefusal {
  /// Where the client itself is what the call shows: its id and secret are no good.
  var clientWord: FreedomIDWord { isPlain401 ? .incorrectApiKey : word }

  /// Where the call shows a token: it is no good.
  var tokenWord: FreedomIDWord { isPlain401 ? .autheticationError : word }

  private var isPlain401: Bool { status == 401 && code == nil }
}

extension FreedomIDWord {
  /// The SDK's word for a flow its user gave up, that ran out of time, whose credential is not set, or
  /// from which an account or a consent was taken away.
  static func ending(_ reason: Failure.Reason, _ provider: ProviderName) -> ProviderErrorCode? {
    switch reason {
    case .cancelled, .expired: userCanceled.word(provider)
    case .providerRejected: configurationError.word(provider)
    case .denied: accessDenied.word(provider)
    case .invalidRequest, .providerUnreachable, .providerProtocolError,
      .attemptsExhausted, .exchangeFailed, .exchangeTimedOut, .localAuthFailed, .overloaded:
      nil
    }
  }
}

extension Failure {
  /// An account's own call has no token: nothing was sent.
  static func noToken(_ message: String, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .providerRejected, title: "New log-in needed",
      message: "a new log-in is needed: \(message)", retryable: true,
      provider: FreedomIDWord.autheticationError.word(provider))
  }

  /// What the provider says in a sentence of its own, and of which it gives no code.
  static func rejected(_ message: String, says text: String?, _ provider: ProviderName) -> Failure {
    let sentence = text.map { ProviderText.clean($0) } ?? ""
    var word = FreedomIDWord.unknownError.word(provider)
    word.message = sentence.isEmpty ? nil : sentence
    return Failure(
      reason: .providerRejected, title: "Refused by the provider",
      message: sentence.isEmpty ? message : sentence, retryable: false, provider: word)
  }
}

extension Failure {
  /// - Parameter code: The `error_code` of the redirect. Of one it is known that it is the person's no.
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
