import JSONRPC
import UsherAPI
import UsherCore

/// How a credential of the SDK gets to the app's backend.
public enum CredentialReceiver: Sendable {
  /// For a short-term linking token, or none: the handler gets an auth code, has it exchanged by the
  /// app's backend and tells the result.
  case exchange(handler: CredentialExchangeHandler)
  /// For a long-term linking token: there is nothing to exchange.
  case none

  /// The daemon's word for it.
  var word: String {
    switch self {
    case .exchange: "exchange"
    case .none: "none"
    }
  }
}

/// Exchanges a credential.
///
/// It is called by a task of its own, on no particular thread, once for each auth code: also where
/// the daemon tells the code again because it was restarted or the connection was lost. The
/// completion, which may come before that or after, answers for the code either way, and is handed
/// in again where it got lost.
///
/// The completion must be called exactly once, from any thread. Another call of it is without effect;
/// where none comes, the verification ends with GPE-2209 when the provider's `exchange_seconds` are
/// over. It may be called after the verification has ended.
public struct CredentialExchangeHandler: Sendable {
  public let handle:
    @Sendable (
      _ credential: GoPayCredential, _ requestId: String,
      _ completion: @escaping @Sendable (ExchangeResult) -> Void
    ) -> Void

  public init(
    handle:
      @escaping @Sendable (
        _ credential: GoPayCredential, _ requestId: String,
        _ completion: @escaping @Sendable (ExchangeResult) -> Void
      ) -> Void
  ) {
    self.handle = handle
  }

  /// For an app that would rather return the result: it cannot forget the completion then.
  ///
  /// The task is not cancelled when the verification ends.
  public init(
    exchange:
      @escaping @Sendable (
        _ credential: GoPayCredential, _ requestId: String
      ) async -> ExchangeResult
  ) {
    self.init { credential, requestId, completion in
      Task { completion(await exchange(credential, requestId)) }
    }
  }
}

/// What the app's backend is to exchange. It prints without the code.
public enum GoPayCredential: Sendable, Equatable {
  /// Good for one exchange.
  case authCode(code: String)
}

extension GoPayCredential: CustomStringConvertible, CustomReflectable {
  public var description: String { "auth code" }
  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}

/// What came of the exchange. It prints without the token.
public enum ExchangeResult: Sendable, Equatable {
  /// The backend knows the person. Another `userCorrelationId` than the request's ends the
  /// verification with GPE-2214; one that cannot be one, with GPE-2208.
  ///
  /// `token` is our own: the linking token that the backend got for the code. With it the daemon can
  /// ask for the verdict later.
  case success(userCorrelationId: String, token: String? = nil)
  /// The verification ends with GPE-2208 and the reason in its message.
  case failure(reason: String)
}

extension ExchangeResult: CustomStringConvertible, CustomReflectable {
  public var description: String {
    switch self {
    case .success(let userCorrelationId, _): "exchanged for \(userCorrelationId)"
    case .failure(let reason): "not exchanged: \(reason)"
    }
  }

  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}

extension ExchangeResult {
  var input: FlowInput {
    switch self {
    case .success(let userCorrelationId, let token):
      var fields = ["userCorrelationId": Secret(userCorrelationId)]
      fields["token"] = token.map { Secret($0) }
      return .exchanged(fields)
    case .failure(let reason): return .exchangeFailed(reason: reason)
    }
  }

  /// What is handed in where the daemon takes this for no answer: the handler has no second word.
  func refused(_ message: String) -> ExchangeResult {
    switch self {
    case .success: .failure(reason: "the exchange was answered wrongly: \(message)")
    case .failure: .failure(reason: "the exchange failed")
    }
  }
}
