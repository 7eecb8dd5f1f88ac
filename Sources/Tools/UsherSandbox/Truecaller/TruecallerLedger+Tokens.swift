import FoundationEssentials

extension TruecallerLedger {
  mutating func grant(
    _ number: TruecallerNumber, _ deviceID: String, verifiedBefore: Bool, now: Date
  ) -> String {
    let token = tokenGenerator.token("tca")
    grants.insert(
      Grant(id: nextID("tok"), number: number, deviceID: deviceID, verifiedBefore: verifiedBefore),
      for: token, until: now.addingTimeInterval(Double(settings.accessTokenSeconds)), now: now)
    return token
  }

  /// Returns a token's phone number; nil if the token is unknown, expired or revoked.
  func holder(of accessToken: String, now: Date) -> TruecallerNumber? {
    guard let grant = grants.value(accessToken, now: now), !grant.isRevoked else { return nil }
    return grant.number
  }

  /// Returns a token's phone number. Each host knows only the tokens of its own countries.
  ///
  /// - Throws: Error 4011.
  func holder(
    of accessToken: String, at host: TruecallerNumber.Host, now: Date
  ) throws(TruecallerErrorReply) -> TruecallerNumber {
    guard let number = holder(of: accessToken, now: now), number.host == host else {
      throw .accessToken
    }
    return number
  }

  mutating func revokeAll() {
    grants.updateAll { $0.isRevoked = true }
  }
}

extension TruecallerLedger.Verification {
  func state(_ settings: TruecallerBackendSettings, now: Date) -> String {
    if accessToken != nil { return "verified" }
    if expires <= now { return "expired" }
    return wrongCodes >= settings.wrongCodeCap ? "exhausted" : "waiting"
  }
}
