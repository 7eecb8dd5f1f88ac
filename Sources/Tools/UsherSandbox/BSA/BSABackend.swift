/// A fake of BSA: registration of people and devices, and the sites at which they sign in.
///
/// <doc:BSA> lists paths, sign-ins, control calls and settings. The contract in the daemon's
/// documentation specifies the protocol.
package actor BSABackend: Backend {
  let context: BackendContext
  var settings = BSABackendSettings()
  var contacts: BSAContacts
  var members = BSAMembers()
  var signIns: BSASignIns
  var loginNumbers: BSALoginNumbers
  /// Attempts with TOTP numbers in the last 24 hours, by user key.
  var totpTries = DailyCounts()
  var answers = PrescribedResponses()

  static let path = "/bsa"

  package init(_ context: BackendContext) {
    self.context = context
    contacts = BSAContacts(tokenGenerator: context.tokenGenerator)
    signIns = BSASignIns(tokenGenerator: context.tokenGenerator)
    loginNumbers = BSALoginNumbers(tokenGenerator: context.tokenGenerator)
  }

  package nonisolated var title: String { "BSA" }

  package nonisolated var endpoints: [Endpoint] { registration + signingIn + site }

  private nonisolated var registration: [Endpoint] {
    [
      row("duplicateCheck", .get, "/users/common/duplicate-check", duplicateCheck),
      row("idCheck", .get, "/idcheck", idCheck),
      row("mail", .post, "/mail", mail),
      row("sms", .post, "/sms", sms),
      row("mailVerify", .post, "/mail/verify", verifyMail),
      row("smsVerify", .post, "/sms/verify", verifySMS),
      row("users", .post, "/users", signUp),
      row("sendOtp", .post, "/users/send-otp", sendOTP),
      row("device", .put, "/users/{userKey}/device", changeDevice),
      row("deviceCheck", .get, "/device/check", checkDevice),
    ]
  }

  private nonisolated var signingIn: [Endpoint] {
    [
      row("authExist", .get, "/auth/exist", authExist),
      row("auth", .post, "/auth", openChannel),
      row("authComplete", .post, "/auth/complete", complete),
      row("authResult", .get, "/auth", result),
      row("authCancel", .delete, "/auth", cancel),
      row("otpGenerate", .post, "/otp/generate", generateNumber),
      row("otp", .delete, "/otp/{code}", hidesPath: true, deleteNumber),
      row("me", .get, "/me", me),
    ]
  }

  private nonisolated var site: [Endpoint] {
    [
      row("site", .get, "/site", sitePage),
      row("begin", .post, "/site", beginAtSite),
      row("signIn", .get, "/site/{signIn}", hidesPath: true, signInPage),
      row("leave", .post, "/site/{signIn}", hidesPath: true, leaveSite),
    ]
  }

  package nonisolated var controls: [Endpoint] {
    [
      control("settings", .get, readSettings),
      control("settings", .post, changeSettings),
      control("settings", .delete, resetSettings),
      control("answers", .get, listAnswers),
      control("answers", .post, addAnswer),
      control("answers", .delete, forgetAnswers),
      control("registrations", .get, listRegistrations),
      control("registrations", .post, addRegistration),
      control("registrations/{userKey}", .post, changeRegistration),
      control("registrations/{userKey}", .delete, removeRegistration),
      control("numbers", .get, listNumbers),
      control("disposeTokens", .get, listDisposeTokens),
      control("signIns", .get, listSignIns),
      control("signIns", .post, beginSignIn),
      control("signIns/{id}", .get, showSignIn),
      control("signIns/{id}", .post, endSignIn),
      control("expire", .post, expire),
    ]
  }

  package nonisolated func links(base: String) -> [Link] {
    [Link("Example site that uses BSA for sign-in", "\(base)\(Self.path)/site")]
  }

  private nonisolated func row(
    _ name: String, _ method: Endpoint.Method, _ path: String, hidesPath: Bool = false,
    _ handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) -> Endpoint {
    var row = Endpoint("bsa.\(name)", method, Self.path + path, handle: handle)
    row.hidesPath = hidesPath
    return row
  }

  private nonisolated func control(
    _ path: String, _ method: Endpoint.Method,
    _ handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) -> Endpoint {
    Endpoint("bsa.\(path)", method, "/_control\(Self.path)/\(path)", handle: handle)
  }
}
