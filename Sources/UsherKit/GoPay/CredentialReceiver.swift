import UsherClient

/// Whether the app's backend exchanges a credential during a verification, and how it gets the
/// credential.
public enum CredentialReceiver: Sendable {
  /// For a request with a short-term linking token or without a token: the handler gets an auth
  /// code, lets the app's backend exchange it, and reports the result.
  case exchange(handler: CredentialExchangeHandler)
  /// For a request with a long-term linking token: there is no credential to exchange.
  case none

  /// The value of the parameter `credentialReceiver` of the daemon's flow `verify`.
  var apiValue: String {
    if case .exchange = self { "exchange" } else { "none" }
  }
}

/// A handler that lets the app's backend exchange a credential.
///
/// The handler is called once for each auth code, by a task of its own. A closure that is written
/// in code of an actor, such as the main actor, runs on that actor; any other on a thread that it
/// may block. After a restart of the daemon or a lost connection it is not called again for the
/// same code, and its result is submitted again if it did not arrive.
///
/// Call the completion exactly once, from any thread. Further calls have no effect. Without a call
/// the verification ends with GPE-2209 after the provider's `exchange_seconds`. A call after the
/// end of the verification has no effect either.
public struct CredentialExchangeHandler: Sendable {
  /// The closure, on the actor on which it was written.
  let isolatedHandle:
    @isolated(any) @Sendable (
      _ credential: GoPayCredential, _ requestId: String,
      _ completion: @escaping @Sendable (ExchangeResult) -> Void
    ) -> Void

  /// Calls the closure, for an app that passes an exchange on to another handler. Returns at once:
  /// the closure runs in a task of its own.
  public var handle:
    @Sendable (
      _ credential: GoPayCredential, _ requestId: String,
      _ completion: @escaping @Sendable (ExchangeResult) -> Void
    ) -> Void
  {
    { [isolatedHandle] credential, requestId, completion in
      Task { await isolatedHandle(credential, requestId, completion) }
    }
  }

  public init(
    @_inheritActorContext handle:
      @escaping @isolated(any) @Sendable (
        _ credential: GoPayCredential, _ requestId: String,
        _ completion: @escaping @Sendable (ExchangeResult) -> Void
      ) -> Void
  ) {
    isolatedHandle = handle
  }

  /// Creates a handler from an `async` closure that returns the result.
  ///
  /// The closure's task is not cancelled when the verification ends.
  public init(
    @_inheritActorContext exchange:
      @escaping @isolated(any) @Sendable (
        _ credential: GoPayCredential, _ requestId: String
      ) async -> ExchangeResult
  ) {
    self.init { credential, requestId, completion in
      Task { completion(await exchange(credential, requestId)) }
    }
  }
}

/// The credential that the app's backend exchanges. Its description omits the code.
public enum GoPayCredential: Sendable, Equatable {
  /// An auth code, which is valid for one exchange.
  case authCode(code: String)
}

extension GoPayCredential: CustomStringConvertible, CustomReflectable {
  public var description: String { "auth code" }
  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}

/// The result of an exchange by the app's backend. Its description omits the token.
public enum ExchangeResult: Sendable, Equatable {
  /// The backend exchanged the code for a person, whom `userCorrelationId` identifies at GoPay. It
  /// need not be the request's. If it is blank, the verification ends with GPE-2208.
  case success(userCorrelationId: String)
  /// The backend exchanged the code for a person and got a linking token for it, which the daemon
  /// uses to ask for the verdict later. This case is not in the SDK.
  case linked(userCorrelationId: String, token: String)
  /// The exchange failed. The verification ends with GPE-2208 and the reason in its message.
  case failure(reason: String)
}

extension ExchangeResult: CustomStringConvertible, CustomReflectable {
  public var description: String {
    switch self {
    case .success(let userCorrelationId), .linked(let userCorrelationId, _):
      "exchanged for \(userCorrelationId)"
    case .failure(let reason): "not exchanged: \(reason)"
    }
  }

  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}

extension ExchangeResult {
  /// The number of characters of a failure's reason that are submitted. The daemon shows 200 of
  /// them, and refuses an input of 256 KiB.
  private static let maxReason = 1000

  var input: FlowInput {
    switch self {
    case .success(let userCorrelationId):
      return .exchanged(["userCorrelationId": Secret(userCorrelationId)])
    case .linked(let userCorrelationId, let token):
      return .exchanged(["userCorrelationId": Secret(userCorrelationId), "token": Secret(token)])
    case .failure(let reason):
      return .exchangeFailed(reason: String(reason.prefix(Self.maxReason)))
    }
  }

  /// Returns the failure that is submitted in place of this result, because the daemon refused the
  /// result as invalid and the handler cannot be asked again.
  func refused(_ message: String) -> ExchangeResult {
    switch self {
    case .success, .linked: .failure(reason: "the exchange got an invalid answer: \(message)")
    case .failure: .failure(reason: "the exchange failed")
    }
  }
}
