extension Truecaller {
  /// The vendor's three ways for a partner's server to check an access token.
  enum Generation: Sendable {
    case legacy
    /// Of SDK 2.8.
    case byAppKey
    /// Of the OAuth SDK 3.
    case byClientID
  }

  /// `…/validate/{accessToken}` and `…/phoneNumberDetail/{accessToken}`
  ///
  /// Both refusals are 404: the code in the body tells which it is.
  func validate(_ call: Call, _ generation: Generation) async -> Reply {
    await answeringTruecaller {
      guard generation.isPartner(call) else { throw TruecallerRefusal.partner }
      let token = call.parameters["accessToken"] ?? ""
      guard let number = ledger.holder(of: token, now: workbench.clock.now()) else {
        throw TruecallerRefusal.invalidToken
      }
      let told = settings.validateOtherNumber ? number.somebodyElses : number
      let members: [String: JSON] =
        generation == .legacy && !settings.legacyNumber
        ? [:]
        : [
          "phoneNumber": told.json(settings.validateNumber),
          "countryCode": .string(number.country),
        ]
      return .json(.object(members.overlaid(with: settings.validateReply)))
    }
  }
}

extension Truecaller.Generation {
  /// Of the headers of the other calls the app link and the SDK's are not asked for here.
  fileprivate func isPartner(_ call: Call) -> Bool {
    switch self {
    case .legacy, .byAppKey: call.headers["appkey"] == Truecaller.appKey
    case .byClientID: call.headers["clientid"] == Truecaller.clientID
    }
  }
}
