import UsherClient

/// A request to verify a person's identity. The token in it prints as `<secret>`.
public struct FeatureRequest: Sendable, Equatable {
  /// The unique id of this verification, such as a UUID. An id that was used is refused for 30
  /// days. GoPay's callback to the partner contains it.
  public fileprivate(set) var requestId = ""
  /// Reserved by GoPay: if it is set, `verify` fails with GPE-2205.
  public fileprivate(set) var featureId: String?
  /// The partner's id of the person.
  public fileprivate(set) var userCorrelationId = ""
  /// The account at the daemon whose linking token is used if ``token`` is nil: the
  /// ``VerifyResult/account`` of an earlier verification.
  public fileprivate(set) var account: String?
  /// The redirect URI of the log-in, if the program itself receives the redirect: an `https` URL,
  /// or an `http` URL on the loopback interface. Pass the redirect to
  /// ``FeatureManager/handleRedirect(url:)``. If it is nil, the daemon receives the redirect.
  public fileprivate(set) var redirectURI: String?
  /// The URL to which the capture page leads at its end: `https`, or `http` on the loopback
  /// interface.
  public fileprivate(set) var returnURL: String?
  private var secret: Secret?

  /// A linking token of the person: a short-term one for ``CredentialReceiver/exchange(handler:)``,
  /// a long-term one for ``CredentialReceiver/none``.
  public var token: String? { secret?.revealed() }

  /// A builder of requests. It validates nothing: `verify` does.
  ///
  /// The setters may be called in any order; a later call replaces the value. The builder is not
  /// `Sendable`, but the request is.
  public final class Builder {
    private var request = FeatureRequest()

    public init() {}

    @discardableResult public func requestId(_ id: String) -> Builder { set(\.requestId, id) }

    @discardableResult public func featureId(_ id: String?) -> Builder { set(\.featureId, id) }

    @discardableResult public func userCorrelationId(_ id: String) -> Builder {
      set(\.userCorrelationId, id)
    }

    @discardableResult public func token(_ token: String?) -> Builder {
      set(\.secret, token.map { Secret($0) })
    }

    /// Sets ``FeatureRequest/account``. GoPay's iOS SDK has no such member.
    @discardableResult public func account(_ account: String?) -> Builder {
      set(\.account, account)
    }

    /// Sets ``FeatureRequest/redirectURI``. GoPay's iOS SDK has no such member.
    @discardableResult public func redirectURI(_ uri: String?) -> Builder {
      set(\.redirectURI, uri)
    }

    /// Sets ``FeatureRequest/returnURL``, which is not in the SDK.
    @discardableResult public func returnURL(_ url: String?) -> Builder { set(\.returnURL, url) }

    private func set<Value>(
      _ member: WritableKeyPath<FeatureRequest, Value>, _ value: Value
    ) -> Builder {
      request[keyPath: member] = value
      return self
    }

    /// Returns a request with the values that were set. Ids that were not set are empty.
    public func build() -> FeatureRequest { request }
  }

  /// Returns the name of the first required field that is missing, empty or white space only; nil
  /// if there is none. Without an exchange a token is required, or an account that has one.
  func blankField(for receiver: CredentialReceiver) -> String? {
    if requestId.allSatisfy(\.isWhitespace) { return "requestId" }
    if userCorrelationId.allSatisfy(\.isWhitespace) { return "userCorrelationId" }
    guard case .none = receiver, account == nil else { return nil }
    return token?.allSatisfy(\.isWhitespace) ?? true ? "token" : nil
  }

  func params(_ receiver: CredentialReceiver, _ language: GoPaySDK.Language?) -> JSONValue {
    .params([
      "userCorrelationId": .string(userCorrelationId), "featureId": .text(featureId),
      "token": .text(token), "account": .text(account), "redirectURI": .text(redirectURI),
      "returnUrl": .text(returnURL), "locale": .text(language?.rawValue),
      "credentialReceiver": .string(receiver.apiValue),
    ])
  }
}
