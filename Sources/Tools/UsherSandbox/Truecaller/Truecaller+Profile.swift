import FoundationEssentials

extension TruecallerBackend {
  /// Handles `POST /v1/profile`.
  func update(_ call: EndpointCall, at host: TruecallerNumber.Host) async -> Reply {
    await respondingWithTruecallerErrors {
      let now = context.clock.now()
      let number = try holder(call, at: host, now)
      let name = try TruecallerProfileName(call)
      guard !settings.refuseNames else { throw TruecallerErrorReply.name }
      var profile = ledger.profile(of: number, now: now)
      profile.firstName = name.first
      profile.lastName = name.last
      ledger.set(profile, of: number, now: now)
      return .json(.object(settings.updateReply))
    }
  }

  /// Handles `GET /v1/profile`.
  func profile(_ call: EndpointCall, at host: TruecallerNumber.Host) async -> Reply {
    await respondingWithTruecallerErrors {
      let now = context.clock.now()
      let number = try holder(call, at: host, now)
      var members = try profileMembers(of: number, now)
      if settings.profileSignature != .absent {
        let payload = members.applying(overrides: settings.signedMembers)
        members.merge(try profileKey.signed(payload, settings.profileSignature)) { $1 }
      }
      return .json(.object(members.applying(overrides: settings.profileReply)))
    }
  }

  /// Handles `GET /v1/key`.
  func keys(_ call: EndpointCall) async -> Reply {
    await respondingWithTruecallerErrors {
      .json(try profileKey.list(otherFirst: settings.otherKeysFirst))
    }
  }

  func profileMembers(of number: TruecallerNumber, _ now: Date) throws -> [String: JSON] {
    try ledger.profile(of: number, now: now).members(of: number, settings, now: now)
  }

  /// Returns the number that an access token was issued for. The app is checked first, so that
  /// other callers learn nothing about the token.
  private func holder(
    _ call: EndpointCall, at host: TruecallerNumber.Host, _ now: Date
  ) throws(TruecallerErrorReply) -> TruecallerNumber {
    try call.checkApp()
    return try ledger.holder(of: call.bearer ?? "", at: host, now: now)
  }
}
