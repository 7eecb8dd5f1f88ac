import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// The validated parameters of the flow that verifies an identity.
struct IdentityRequest: Codable, Sendable, Equatable {
  /// The `requestId` of the call. It is empty if the caller gave none. With a blank one the flow
  /// fails with the SDK's error GPE-2206.
  let requestID: String
  /// The `userCorrelationId` of the call, which is the partner's id of the user. It is empty if the
  /// caller gave none. With a blank one the flow fails with the SDK's error GPE-2206.
  let correlationID: String
  let receiver: VerifyIdentity.CredentialReceiver
  /// The `userCorrelationId` for which the named account's credential was exchanged before; nil if
  /// that is not known. The exchange of this flow must return the same.
  let exchangedID: String?
  /// The linking token that the caller passed, unless it is blank, or the account that the caller
  /// named; nil without either.
  let link: LinkingToken?
  /// The URL at which the app itself receives the redirect; nil if the daemon listens.
  let redirectURI: String?
  let returnURL: String?
  let locale: GoPayLocale
  let installation: String
  /// The time at which the flow expires.
  let endsAt: Timestamp

  /// Validates the parameters.
  ///
  /// - Throws: `invalidParams` with the invalid parameter. For an error that the SDK would report,
  ///   ``flaw(_:)`` returns a failure instead.
  init(_ params: VerifyIdentity.Params, _ context: FlowContext<GoPaySettings>) throws(UsherError) {
    if params.featureId != nil {
      throw ParamsValidation.wrong("featureId", "is reserved and must not be set")
    }
    let token = params.token.flatMap { $0.secret.revealed().isBlank ? nil : $0.secret }
    requestID = context.statedRequestID ?? ""
    correlationID = params.userCorrelationId ?? ""
    exchangedID = context.attributes[VerifyIdentity.exchangedIDAttribute]?.stringValue
    try Self.check(requestID, "requestId")
    try Self.check(correlationID, "params.userCorrelationId")
    try Self.check(token?.revealed() ?? "", "params.token")
    receiver = params.credentialReceiver
    redirectURI = try ParamsValidation.url(params.redirectURI, "redirectURI")
    returnURL = try ParamsValidation.url(params.returnUrl, "returnUrl")
    locale = params.locale ?? context.provider.settings.locale
    installation = context.installationID
    endsAt = context.endsAt
    if let account = context.account, Secret(account.subject) != Secret(correlationID),
      !correlationID.isBlank
    {
      throw ParamsValidation.wrong("account", "has another userCorrelationId")
    }
    link = token.map { .token(Sealed($0)) } ?? context.account.map { .account($0.id) }
  }

  /// Checks that a value can be sent to GoPay, whatever GoPay makes of it. Blank values are
  /// ``flaw(_:)``'s matter.
  ///
  /// - Throws: `invalidParams` with the field.
  private static func check(_ text: String, _ field: String) throws(UsherError) {
    guard text.isBlank || text.isSendable else {
      throw UsherError(
        .invalidParams,
        "\(field) must have at most 4096 bytes and no control character",
        field: field)
    }
  }

  /// The name of the state in which the flow starts with these parameters.
  var firstState: String {
    switch (receiver, link) {
    case (.none, .account): "current"
    case (.none, .token), (.none, nil): "kyc"
    case (.exchange, nil): "preparing"
    case (.exchange, .some): "authCode"
    }
  }

  func authCode(_ link: LinkingToken) -> GoPayCall {
    .authCode(link, correlationID: correlationID, requestID: requestID)
  }
}

// Errors in the parameters that fail the flow, as in the SDK, instead of the call that starts it.
extension IdentityRequest {
  func flaw(_ context: FlowContext<GoPaySettings>) -> Failure? {
    let provider = context.provider.name
    if let field = missing { return .missing(field: field, provider) }
    return credentialFlaw(context).map { .gopay(.configuration, $0, provider) }
  }

  private var missing: String? {
    if requestID.isBlank { return "requestId" }
    if correlationID.isBlank { return "userCorrelationId" }
    return receiver == .none && link == nil ? "token" : nil
  }

  /// Returns why the daemon cannot redeem GoPay's auth code with the configured credentials; nil if
  /// it can, or if it does not redeem the code. With a reason, the flow fails before the user logs
  /// in.
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

extension String {
  /// Whether the text is empty or white space only: what the SDK calls blank.
  var isBlank: Bool { allSatisfy(\.isWhitespace) }

  /// Whether a request to GoPay can carry the text: at most 4096 bytes, and no control character.
  var isSendable: Bool {
    utf8.count <= GoPayData.maxTokenBytes
      && unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}
