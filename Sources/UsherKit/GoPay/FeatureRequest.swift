import UsherClient

/// A request to verify a person's identity.
///
/// The token prints as `<secret>`.
public struct FeatureRequest: Sendable, Equatable {
  /// The unique id of this verification, such as a UUID. An id that was used is refused for 30
  /// days. GoPay's callback to the partner contains it.
  public let requestId: String
  /// Reserved by GoPay: if it is set, `verify` fails with GPE-2206.
  public let featureId: String?
  /// The partner's id of the person.
  public let userCorrelationId: String
  /// The account at the daemon whose linking token is used if ``token`` is nil:
  /// ``VerifyResult/account`` of an earlier verification.
  public let account: String?
  /// The redirect URI of the log-in, if the program itself receives the redirect: an `https` URL,
  /// or an `http` URL on the loopback interface. Pass the redirect to
  /// ``FeatureManager/handleRedirect(url:)``. If it is nil, the daemon receives the redirect.
  public let redirectURI: String?
  /// The URL to which the capture page leads at its end: `https`, or `http` on the loopback
  /// interface.
  public let returnURL: String?
  private let secret: Secret?

  /// A linking token of the person: a short-term one for ``CredentialReceiver/exchange(handler:)``,
  /// a long-term one for ``CredentialReceiver/none``.
  public var token: String? { secret?.revealed() }

  /// A builder of requests. It validates nothing: `verify` does.
  ///
  /// The setters may be called in any order; a later call replaces the value. The builder is not
  /// `Sendable`, the request is.
  public final class Builder {
    private var requestId = ""
    private var featureId: String?
    private var userCorrelationId = ""
    private var token: Secret?
    private var account: String?
    private var redirectURI: String?
    private var returnURL: String?

    public init() {}

    @discardableResult public func requestId(_ id: String) -> Builder {
      requestId = id
      return self
    }

    @discardableResult public func featureId(_ id: String?) -> Builder {
      featureId = id
      return self
    }

    @discardableResult public func userCorrelationId(_ id: String) -> Builder {
      userCorrelationId = id
      return self
    }

    @discardableResult public func token(_ token: String?) -> Builder {
      self.token = token.map { Secret($0) }
      return self
    }

    /// Sets ``FeatureRequest/account``, which is not in the SDK.
    @discardableResult public func account(_ account: String?) -> Builder {
      self.account = account
      return self
    }

    /// Sets ``FeatureRequest/redirectURI``, which is not in the SDK.
    @discardableResult public func redirectURI(_ uri: String?) -> Builder {
      redirectURI = uri
      return self
    }

    /// Sets ``FeatureRequest/returnURL``, which is not in the SDK.
    @discardableResult public func returnURL(_ url: String?) -> Builder {
      returnURL = url
      return self
    }

    /// Returns a request with the values that were set. Ids that were not set are empty.
    public func build() -> FeatureRequest {
      FeatureRequest(
        requestId: requestId, featureId: featureId, userCorrelationId: userCorrelationId,
        account: account, redirectURI: redirectURI, returnURL: returnURL, secret: token)
    }
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
