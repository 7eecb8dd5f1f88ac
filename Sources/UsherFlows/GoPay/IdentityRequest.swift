import UsherAPI
import UsherConfig
import UsherCore

/// The validated parameters of a verification.
struct IdentityRequest: Codable, Sendable, Equatable {
  /// The `requestId` of the call; empty if the caller gave none, which fails the flow (GPE-2206).
  let requestID: String
  /// The `userCorrelationId` of the call; empty if the caller gave none, which fails the flow
  /// (GPE-2206).
  let correlationID: String
  let receiver: VerifyIdentity.CredentialReceiver
  /// The linking token that the caller passed, or the account that it named.
  let link: KnownLink?
  /// The URL at which the app itself receives the redirect; nil if the daemon listens.
  let redirectURI: String?
  let returnURL: String?
  let locale: GoPayLocale
  let installation: String
  /// When the flow expires.
  let endsAt: Timestamp

  /// - Throws: `invalidParams` with the invalid parameter. An error that the SDK would report is a
  ///   ``flaw(_:)`` instead.
  init(_ params: VerifyIdentity.Params, _ context: FlowContext<GoPaySettings>) throws(UsherError) {
    if params.featureId != nil {
      throw ParamsValidation.wrong("featureId", "is reserved and must not be set")
    }
    requestID = context.statedRequestID ?? ""
    correlationID = params.userCorrelationId ?? ""
    receiver = params.credentialReceiver
    redirectURI = try ParamsValidation.url(params.redirectURI, "redirectURI")
    returnURL = try ParamsValidation.url(params.returnUrl, "returnUrl")
    locale = params.locale ?? context.provider.settings.locale
    installation = context.installationID
    endsAt = context.endsAt
    if let account = context.account, Secret(account.subject) != Secret(correlationID),
      !correlationID.allSatisfy(\.isWhitespace)
    {
      throw ParamsValidation.wrong("account", "has another userCorrelationId")
    }
    link =
      params.token.map { .token(Sealed($0.secret)) } ?? context.account.map { .account($0.id) }
  }

  /// The name of the state in which GoPay verify starts.
  var firstState: String {
    switch (receiver, link) {
    case (.none, .account): "current"
    case (.none, .token), (.none, nil): "kyc"
    case (.exchange, nil): "preparing"
    case (.exchange, .some): "authCode"
    }
  }

  func authCode(_ link: KnownLink) -> GoPayCall {
    .authCode(link.token, correlationID: correlationID, requestID: requestID)
  }
}

// The SDK reports these errors as a failed flow.
extension IdentityRequest {
  func flaw(_ context: FlowContext<GoPaySettings>) -> Failure? {
    let provider = context.provider.name
    if let field = missing { return .missing(field: field, provider) }
    return credentialFlaw(context).map { .gopay(.configuration, $0, provider) }
  }

  private var missing: String? {
    if !requestID.isVisible(upTo: 128) { return "requestId" }
    if !correlationID.isVisible(upTo: 256) { return "userCorrelationId" }
    switch link {
    case .token(let token):
      let text = token.unsealed().revealed()
      return text.isVisible(upTo: GoPayData.maxTokenBytes) ? nil : "token"
    case .account: return nil
    case nil: return receiver == .none ? "token" : nil
    }
  }

  /// Returns why the credentials do not allow an exchange; such a flow fails before the user does
  /// anything.
  private func credentialFlaw(_ context: FlowContext<GoPaySettings>) -> String? {
    guard receiver == .exchange else { return nil }
    let (settings, name) = (context.provider.settings, context.provider.name)
    switch settings.exchange {
    case .app: return nil
    case .backend:
      return settings.exchangeCredential.flatMap { context.credential.flaw(in: $0, of: name) }
    case .snap:
      let key = settings.privateKeyCredential.flatMap {
        context.credential.flaw(in: $0, of: name) { key in
          (try? SNAPPrivateKey(key)) == nil ? UnusableKey.sentence : nil
        }
      }
      let secret = settings.clientSecretCredential.flatMap {
        context.credential.flaw(in: $0, of: name)
      }
      return key ?? secret
    }
  }
}

/// A linking token as a flow knows it: the token, or the account that has it.
enum KnownLink: Codable, Sendable, Equatable {
  case token(Sealed<Secret>)
  case account(AccountID)

  /// The linking token in the form in which a GoPay call names it.
  var token: LinkingToken {
    switch self {
    case .token(let token): .token(token.unsealed())
    case .account(let account): .account(account)
    }
  }

  /// The linking token; nil if it is an account's, because flows do not know the tokens of
  /// accounts.
  var secret: Sealed<Secret>? { if case .token(let token) = self { token } else { nil } }
}
