/// A fake of Truecaller's phone number verification by SMS code. It has codes, profiles at two
/// regional hosts, the three generations of validation, and signed profiles.
///
/// <doc:Truecaller> lists paths, members, control calls and settings. The contract in the daemon's
/// documentation specifies the protocol.
package actor TruecallerBackend: Backend {
  let context: BackendContext
  var ledger: TruecallerLedger
  private(set) var profileKey = ProfileKey(1)

  static let path = "/truecaller"
  /// The credentials of the only registered app.
  static let appKey = "s3cret:app/key+="
  static let appLink = "https://acme.example.com/truecaller"
  static let clientID = "acme-oauth"

  package init(_ context: BackendContext) {
    self.context = context
    ledger = TruecallerLedger(context.users, tokenGenerator: context.tokenGenerator)
  }

  var settings: TruecallerBackendSettings { ledger.settings }

  func changeProfileKey() -> ProfileKey {
    profileKey = ProfileKey(profileKey.number + 1)
    return profileKey
  }

  package nonisolated var title: String { "Truecaller" }

  package nonisolated var endpoints: [Endpoint] {
    let otp = "/v1/otp/installation"
    let detail = "installation/phoneNumberDetail/{accessToken}"
    return [
      row("create", .post, "\(otp)/create", create),
      row("verify", .post, "\(otp)/verify", verify),
      row("update", .post, "/eu/v1/profile") { await self.update($0, at: .eu) },
      row("update", .post, "/noneu/v1/profile") { await self.update($0, at: .noneu) },
      row("profile", .get, "/eu/v1/profile") { await self.profile($0, at: .eu) },
      row("profile", .get, "/noneu/v1/profile") { await self.profile($0, at: .noneu) },
      row("validate", .post, "\(otp)/validate/{accessToken}", hidesPath: true) {
        await self.validate($0, .legacy)
      },
      row("validate", .get, "/validation/v1/otp/\(detail)", hidesPath: true) {
        await self.validate($0, .byAppKey)
      },
      row("validate", .get, "/validation/v1/otp/client/\(detail)", hidesPath: true) {
        await self.validate($0, .byClientID)
      },
      row("key", .get, "/v1/key", keys),
    ]
  }

  package nonisolated var controls: [Endpoint] {
    [
      control("settings", .get, readSettings),
      control("settings", .post, changeSettings),
      control("settings", .delete, resetSettings),
      control("verifications", .get, listVerifications),
      control("tokens", .get, listTokens),
      control("revokeAll", .post, revokeAll),
      control("installations", .get, listInstallations),
      control("verified", .get, listVerified),
      control("verified", .post, addVerified),
      control("verified", .delete, forgetVerified),
      control("caps", .delete, forgetCounts),
      control("profile", .get, readProfile),
      control("profile", .post, changeProfile),
      control("sign", .post, sign),
      control("keys/rotate", .post, rotateKeys),
    ]
  }

  package nonisolated func links(base: String) -> [Link] {
    [Link("Public keys for profile signatures", "\(base)\(Self.path)/v1/key")]
  }

  package nonisolated func configurationSample(base: String) -> String {
    """
    [[provider]]
    name = "truecaller"
    type = "truecaller"
    app_key_credential = "truecaller-app-key"
    app_link = "\(Self.appLink)"
    validation = "v2_8"
    client_id = "\(Self.clientID)"
    otp_base_url = "\(base)\(Self.path)"
    profile_base_url_eu = "\(base)\(Self.path)/eu"
    profile_base_url_noneu = "\(base)\(Self.path)/noneu"
    validation_base_url = "\(base)\(Self.path)/validation"

    # The app key is \(Self.appKey)
    # For validation = "legacy", omit validation_base_url
    """
  }

  private nonisolated func row(
    _ name: String, _ method: Endpoint.Method, _ path: String, hidesPath: Bool = false,
    _ handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) -> Endpoint {
    var row = Endpoint("truecaller.\(name)", method, Self.path + path, handle: handle)
    row.hidesPath = hidesPath
    return row
  }

  private nonisolated func control(
    _ path: String, _ method: Endpoint.Method,
    _ handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) -> Endpoint {
    Endpoint("truecaller.\(path)", method, "/_control/truecaller/\(path)", handle: handle)
  }
}
