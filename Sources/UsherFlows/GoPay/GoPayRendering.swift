import JSONRPC
package import UsherConfig
package import UsherCore

extension GoPayCall {
  package var clientToken: (any ClientTokenCall)? {
    switch self {
    case .binding, .unbinding: SNAPToken()
    case .authCode, .exchange, .sessionToken, .temporaryToken, .capture, .submission,
      .currentSubmission:
      nil
    }
  }

  package func render(_ context: RenderContext<GoPaySettings>) throws(UsherError) -> HTTPRequest {
    copy(try request(context)) { $0.resultCode = .snap }
  }

  private func request(_ context: RenderContext<GoPaySettings>) throws(UsherError) -> HTTPRequest {
    let settings = context.provider.settings
    switch self {
    case .authCode(let token, let correlationID, let requestID):
      return .json(
        .post, settings.paths.authCode.url(under: settings.identityBaseURL),
        ["clientId": .string(settings.clientID), "userCorrelationId": .string(correlationID)],
        settings.identityHeaders(requestID) + [try token.header(context)])
    case .exchange(let code, let correlationID, let requestID):
      return try Self.exchange(code, correlationID, requestID, context)
    case .binding(let code, _, let externalID):
      return try Self.signed(
        settings.paths.binding,
        [
          "merchantId": .string(settings.merchantID), "authCode": .string(code.revealed()),
          "grantType": "AUTHORIZATION_CODE",
        ], externalID: externalID, [], hiding: [code], context)
    case .unbinding(let token, let device, let externalID):
      var transition = context.transition
      return try Self.signed(
        settings.paths.unbinding, ["merchantId": .string(settings.merchantID)],
        externalID: externalID ?? ExternalID.random(&transition),
        [
          .init("Authorization-Customer", Secret("Bearer \(token.revealed())")),
          .init("X-DEVICE-ID", public: device),
        ], context)
    case .sessionToken(let code, let requestID):
      return .json(
        .post, settings.paths.sessionToken.url(under: settings.identityBaseURL),
        ["clientId": .string(settings.clientID), "authCode": .string(code.revealed())],
        settings.identityHeaders(requestID), hiding: [code])
    case .temporaryToken(let token, let requestID):
      return .json(
        .get, settings.paths.temporaryToken.url(under: settings.identityBaseURL), nil,
        settings.identityHeaders(requestID) + [try token.header(context)])
    case .capture(let session, let token):
      return .json(
        .get, settings.captureURL(session), nil, settings.captureHeaders(session, token))
    case .submission(let id, let session, let token):
      return .json(
        .get, settings.paths.submission.url(under: settings.captureBaseURL, "submissionId", id),
        nil, settings.captureHeaders(session, token))
    case .currentSubmission(let token, let requestID):
      return .json(
        .get, settings.paths.currentSubmission.url(under: settings.identityBaseURL), nil,
        settings.identityHeaders(requestID) + [try token.header(context)])
    }
  }

  private static func exchange(
    _ code: Secret, _ correlationID: String, _ requestID: String,
    _ context: RenderContext<GoPaySettings>
  ) throws(UsherError) -> HTTPRequest {
    let settings = context.provider.settings
    guard let url = settings.exchangeURL?.text else {
      throw UsherError(
        .internalError,
        "provider \(context.provider.name): exchange_url is not set; add it to the configuration")
    }
    let proof = try settings.exchangeCredential.map { name throws(UsherError) in
      HTTPRequest.Header.bearer(try context.credential(named: name))
    }
    return .json(
      .post, url,
      [
        "authCode": .string(code.revealed()), "requestId": .string(requestID),
        "userCorrelationId": .string(correlationID),
      ], proof.map { [$0] } ?? [], hiding: [code])
  }

  /// Returns a SNAP request with a signature over exactly the bytes of the body that are sent.
  private static func signed(
    _ path: ProviderPath, _ body: [String: JSONValue], externalID: String,
    _ headers: [HTTPRequest.Header], hiding secrets: [Secret] = [],
    _ context: RenderContext<GoPaySettings>
  ) throws(UsherError) -> HTTPRequest {
    let settings = context.provider.settings
    let url = path.url(under: settings.snapBaseURL)
    let secret = try context.credential(named: settings.clientSecretCredential)
    guard let token = context.clientToken else {
      throw UsherError(.internalError, "the GoPay call needs a SNAP client token and has none")
    }
    let timestamp = SNAPSignature.timestamp(context.transition.now)
    var request = HTTPRequest.json(.post, url, body, headers, hiding: secrets)
    let signature = SNAPSignature.symmetric(
      method: "POST", path: url.path, accessToken: token, body: request.body ?? Secret(""),
      timestamp: timestamp, clientSecret: secret)
    request.headers += [
      .bearer(token), .init("X-TIMESTAMP", public: timestamp),
      .init("X-SIGNATURE", Secret(signature)), .init("X-PARTNER-ID", public: settings.clientID),
      .init("X-EXTERNAL-ID", public: externalID),
      .init("CHANNEL-ID", public: settings.channelID ?? ""),
    ]
    request.secrets.append(secret)
    return request
  }
}

extension LinkingToken {
  /// Returns the `authorization` header with the linking token, without the word `Bearer` (provider
  /// contract §10, trap 6).
  fileprivate func header(_ context: RenderContext<GoPaySettings>) throws(UsherError)
    -> HTTPRequest.Header
  {
    switch self {
    case .token(let token): return .init("authorization", token.unsealed())
    case .account: return .init("authorization", try context.requiredAccessToken())
    }
  }
}

extension GoPaySettings {
  /// Returns the headers with the request id. The vendor's page names `request-id` in its table and
  /// `correlation-id` in its example, so both are sent (provider contract §10, trap 7).
  fileprivate func identityHeaders(_ requestID: String) -> [HTTPRequest.Header] {
    [
      .init("x-merchant-id", public: merchantID),
      .init("request-id", public: HeaderEncoding.encode(requestID)),
      .init("correlation-id", public: HeaderEncoding.encode(requestID)),
    ]
  }

  fileprivate func captureHeaders(
    _ session: CaptureSession, _ token: Secret
  ) -> [HTTPRequest.Header] {
    [
      .init("x-merchant-id", public: merchantID), .init("x-onekyc-token", token),
      .init("x-sdk-session-id", public: session.id),
      .init("x-partner-session-id", public: HeaderEncoding.encode(session.requestID)),
    ]
  }

  fileprivate func captureURL(_ session: CaptureSession) -> String {
    var fields = [("submissionType", submissionType), ("lang", session.locale.rawValue)]
    if let url = session.returnURL { fields.append(("returnUrl", url)) }
    return paths.capture.url(under: captureBaseURL) + "?" + FormEncoding.encode(fields)
  }
}

extension String {
  /// The path of a URL, as it appears in an HTTP request line. Configured paths have no query.
  fileprivate var path: String {
    // The path begins at the third slash, after scheme and host.
    let slashes = indices.filter { self[$0] == "/" }
    return slashes.count > 2 ? String(self[slashes[2]...]) : "/"
  }
}
