extension ScaLedger.ChallengeRequest {
  /// Parses the body of a challenge request.
  ///
  /// - Parameter allowed: The addresses that `returnUrl` may have, in addition to those on
  ///   loopback.
  init(_ call: EndpointCall, allowed: [String]) throws {
    var body = try call.postedObject()
    walletOperationID = try body.requiredText("walletOperationId")
    guard var members = try body.object("verification") else {
      throw body.invalid("verification", "is missing")
    }
    verification = try SCAVerification(&members)
    if var action = try members.object("action") {
      language = try action.text("language")
      guard language?.isLanguageTag != false else {
        throw action.invalid("language", "is not a language tag")
      }
      let url = try action.text("returnUrl", limit: 4096)
      if verification.channel == .redirect {
        returnURL = try url.map { url throws(WalletRefusal) in try .permitted(url, allowed) }
      }
      try action.finish()
    }
    guard verification.channel != .redirect || returnURL != nil else {
      throw members.invalid("action.returnUrl", "is missing")
    }
    try members.finish()
    if var device = try body.object("deviceInfo") {
      for name in ["appType", "threatMetrixSessionId", "deviceId"] { _ = try device.text(name) }
      try device.finish()
    }
    try body.finish()
  }
}

extension ReturnURL {
  fileprivate static func permitted(
    _ text: String, _ allowed: [String]
  ) throws(WalletRefusal) -> ReturnURL {
    guard let url = ReturnURL(text) else {
      throw .invalid("verification.action.returnUrl is not an http or https URL")
    }
    guard url.isLoopback || allowed.contains(where: { ReturnURL($0)?.address == url.address })
    else {
      throw WalletRefusal(400, "RETURN_URL_NOT_ALLOWED", "the returnUrl is not in returnUrls")
    }
    return url
  }
}

extension ScaLedger.AttemptRequest {
  init(_ call: EndpointCall) throws(OAuthError) {
    var body = try call.postedObject()
    walletOperationID = try body.requiredText("walletOperationId")
    guard var members = try body.object("verification") else {
      throw body.invalid("verification", "is missing")
    }
    verification = try SCAVerification(&members)
    try members.finish()
    value = try body.requiredText("value")
    try body.finish()
  }
}
