import JSONRPC
import UsherCore

/// Who is to be verified, and under which id.
///
/// The token prints as `<secret>`.
public struct FeatureRequest: Sendable, Equatable {
  /// Unique for this verification, such as a UUID: used once, it is refused for 30 days. GoPay's
  /// callback to the partner names the verification by it.
  public let requestId: String
  /// Reserved by GoPay. Set, it makes `verify` end with GPE-2206.
  public let featureId: String?
  /// What the partner knows the person by.
  public let userCorrelationId: String
  /// The account at the daemon whose linking token is taken where ``token`` is nil:
  /// ``VerifyResult/account`` of an earlier verification.
  public let account: String?
  /// Where the browser comes back to after the log-in, if to the program itself: an `https` address
  /// or one on the loopback, for ``FeatureManager/handleRedirect(url:)``. Nil: the daemon listens.
  public let redirectURI: String?
  /// Where the capture page leads at its end: `https`, or `http` on the loopback.
  public let returnURL: String?
  private let secret: Secret?

  /// A linking token of the person: a short-term one for ``CredentialReceiver/exchange(handler:)``,
  /// a long-term one for ``CredentialReceiver/none``.
  public var token: String? { secret?.revealed() }

  /// Takes what a request is made of, and checks nothing: that is done by `verify`.
  ///
  /// The setters come in any order; of one that is called twice the last word counts. Not `Sendable`:
  /// what is built is.
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

    /// Our own: ``FeatureRequest/account``.
    @discardableResult public func account(_ account: String?) -> Builder {
      self.account = account
      return self
    }

    /// Our own: ``FeatureRequest/redirectURI``.
    @discardableResult public func redirectURI(_ uri: String?) -> Builder {
      redirectURI = uri
      return self
    }

    /// Our own: ``FeatureRequest/returnURL``.
    @discardableResult public func returnURL(_ url: String?) -> Builder {
      returnURL = url
      return self
    }

    /// A request with what was set; ids that were not are empty.
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
      "credentialReceiver": .string(receiver.word),
    ])
  }
}
