extension TruecallerBackend {
  /// The vendor's three ways for a partner's server to validate an access token.
  enum Generation: Sendable {
    case legacy
    /// The way of SDK 2.8.
    case byAppKey
    /// The way of the OAuth SDK 3.
    case byClientID
  }

  /// Handles `…/validate/{accessToken}` and `…/phoneNumberDetail/{accessToken}`.
  ///
  /// A wrong app and an invalid token both give status 404 with different codes in the body.
  func validate(_ call: EndpointCall, _ generation: Generation) async -> Reply {
    await respondingWithTruecallerErrors {
      guard generation.isPartner(call) else { throw TruecallerErrorReply.partner }
      let token = call.parameters["accessToken"] ?? ""
      guard let number = ledger.holder(of: token, now: context.clock.now()) else {
        throw TruecallerErrorReply.invalidToken
      }
      let reported = settings.validateOtherNumber ? number.withOtherLastDigit : number
      let members: [String: JSON] =
        generation == .legacy && !settings.legacyNumber
        ? [:]
        : [
          "phoneNumber": reported.json(settings.validateNumber),
          "countryCode": .string(number.country),
        ]
      return .json(.object(members.applying(overrides: settings.validateReply)))
    }
  }
}

extension TruecallerBackend.Generation {
  /// Whether the request has the app key or client id. Unlike other endpoints, validation does not
  /// require the app link and the SDK headers.
  fileprivate func isPartner(_ call: EndpointCall) -> Bool {
    switch self {
    case .legacy, .byAppKey: call.headers["appkey"] == TruecallerBackend.appKey
    case .byClientID: call.headers["clientid"] == TruecallerBackend.clientID
    }
  }
}
