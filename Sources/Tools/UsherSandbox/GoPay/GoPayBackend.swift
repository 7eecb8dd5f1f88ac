/// A fake of GoPay: SNAP's account binding, the log-in, the hosted capture of card and face, KYC
/// states by pull and callback, and the backend of a partner.
///
/// <doc:GoPay> lists paths, people, tokens, control calls and settings. The contract in the
/// daemon's documentation specifies the protocol.
package actor GoPayBackend: Backend {
  let context: BackendContext
  let sendCallback: CallbackSender
  var settings = GoPayBackendSettings()
  var ledger: GoPayLedger
  var visits: GoPayVisits
  var snap: SnapLedger
  var key = PartnerKey()
  var pushes = PushLog()
  /// Responses of the partner's backend by `requestId`, for repeated requests.
  var exchanges = ExpiringTable<[String: JSON]>()

  static let path = "/gopay"

  package init(_ context: BackendContext) {
    self.init(context, sendCallback: LoopbackCaller.put)
  }

  /// - Parameter sendCallback: Sends a verdict to the partner.
  init(_ context: BackendContext, sendCallback: @escaping CallbackSender) {
    self.context = context
    self.sendCallback = sendCallback
    ledger = GoPayLedger(context.users, tokenGenerator: context.tokenGenerator)
    visits = GoPayVisits(tokenGenerator: context.tokenGenerator)
    snap = SnapLedger(tokenGenerator: context.tokenGenerator)
  }

  package nonisolated var title: String { "GoPay" }

  package nonisolated var endpoints: [Endpoint] {
    let identity = "/identity/gopay-id/sdk/v1"
    let forward = "/identity/forward/gopay-id"
    let submissions = "/capture/coe/v1/submissions"
    return [
      row("b2b", .post, "/snap/v1.0/access-token/b2b", b2b),
      row("binding", .post, "/snap/v1.0/registration-account-binding", bind),
      row("unbinding", .post, "/snap/v1.0/registration-account-unbinding", unbind),
      row("authCodePage", .get, "/snap/v1.0/get-auth-code", authCodePage),
      row("login", .post, "/snap/login", login),
      row("authCode", .post, "\(identity)/auth-code", authCode),
      row("sessionToken", .post, "\(identity)/token", sessionToken),
      row("temporaryToken", .get, "\(forward)/identity/v1/gopay-id/token", temporaryToken),
      row(
        "currentSubmission", .get, "\(forward)/kyc/inbound/v1/users/submissions/current",
        currentSubmission),
      row("capture", .get, "\(submissions)/urls", capture),
      row("submission", .get, "\(submissions)/{submissionId}", submission),
      row("capturePage", .get, "/capture/pages/{page}", hidesPath: true, capturePage),
      row("capturePage", .post, "/capture/pages/{page}", hidesPath: true, photograph),
      row("exchange", .post, "/partner/exchange", exchange),
    ]
  }

  package nonisolated var controls: [Endpoint] {
    [
      control("settings", .get, readSettings),
      control("settings", .post, changeSettings),
      control("settings", .delete, resetSettings),
      control("key", .get, readKey),
      control("key", .post, changeKey),
      control("key", .delete, forgetKey),
      control("people", .get, listPeople),
      control("codes", .get, listCodes),
      control("codes", .post, issueCode),
      control("redeem", .post, redeem),
      control("tokens", .get, listTokens),
      control("tokens", .post, issueToken),
      control("revokeAll", .post, revokeAll),
      control("endB2BTokens", .post, endB2BTokens),
      control("endCaptureTokens", .post, endCaptureTokens),
      control("submissions", .get, listSubmissions),
      control("submissions/{id}", .get, showSubmission),
      control("submissions/{id}", .post, moveSubmission),
      control("submissions/{id}/capture", .post, endCapture),
      control("submissions/{id}/push", .post, pushSubmission),
      control("pushes", .get, listPushes),
    ]
  }

  package nonisolated func links(base: String) -> [Link] {
    let back = PercentEncoding.encoded("http://127.0.0.1/callback")
    let query =
      "redirectURL=\(back)&scopes=DEFAULT&state=look&merchantId=\(GoPayPartner.merchantID)&lang=en"
    return [Link("Log-in page", "\(base)\(Self.path)/snap/v1.0/get-auth-code?\(query)")]
  }

  private nonisolated func row(
    _ name: String, _ method: Endpoint.Method, _ path: String, hidesPath: Bool = false,
    _ handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) -> Endpoint {
    var row = Endpoint("gopay.\(name)", method, Self.path + path, handle: handle)
    row.hidesPath = hidesPath
    return row
  }

  private nonisolated func control(
    _ path: String, _ method: Endpoint.Method,
    _ handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) -> Endpoint {
    Endpoint("gopay.\(path)", method, "/_control/gopay/\(path)", handle: handle)
  }
}
