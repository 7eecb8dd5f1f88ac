import Testing
import UsherConfig

@Suite("Settings of providers of type oauth2")
struct OAuth2Tests {
  @Test("a provider of type oauth2 is used by the flows of OpenID Connect, without discovery")
  func asOpenID() throws {
    let config = try load(
      server + "issuer = \"https://a.example/id\"\nscope_separator = \"comma\"\npkce = false\n")
    let settings = try #require(config.providers.first?.settings.view(as: OIDCSettings.self))
    #expect(settings.issuer.text == "https://a.example/id")
    #expect(!settings.pkce)
    let rules = try #require(settings.oauth2)
    #expect(rules.namesIssuer)
    #expect(rules.scopeSeparator == .comma)
    #expect(rules.authorizationEndpoint == "https://a.example/authorize")
    #expect(rules.tokenEndpoint == "https://a.example/token")
    #expect(rules.userinfoEndpoint == "https://api.a.example/me")
    #expect(rules.deviceAuthorizationEndpoint == nil)
  }

  @Test("a provider of type oauth2 cannot have the secret of a registration")
  func registrationCredential() {
    #expect(
      lineProblem("client_credential = \"usherd.client.other\"", in: server)
        .contains("must not begin with usherd.client."))
  }

  @Test("a revocation path contains the client id, encoded, in place of its placeholder")
  func placeholder() throws {
    let text = server.replacing("client_id = \"usher\"", with: "client_id = \"a/b\"")
    let path = "paths.revocation = \"/apps/{client_id}/token\"\n"
    let settings = try load(text + path).providers.first?.settings.view(as: OIDCSettings.self)
    #expect(settings?.oauth2?.revocationEndpoint == "https://a.example/apps/a%2Fb/token")
  }

  @Test(
    "an invalid setting of a provider of type oauth2 is refused with the reason",
    arguments: [
      (
        "client_auth = \"private_key_jwt\"",
        "must be auto, basic, post, tls_client_auth, self_signed_tls_client_auth or none at this type"
      ),
      ("client_auth = \"tls_client_auth\"", "needs client_credential"),
      (
        "client_auth = \"tls_client_auth\"\nrevocation_request = \"github\"",
        "must not be github without a client secret"
      ),
      ("client_auth = \"basic\"", "needs client_credential"),
      ("scopes = [\"a b\"]", "each scope must be printable ASCII"),
      ("scopes = [\"a,b\"]\nscope_separator = \"comma\"", "must have no comma"),
      ("token_types = [\"\"]", "each must be printable ASCII without spaces"),
      ("grant_ended_errors = [\"a b\"]", "each must be printable ASCII without spaces"),
      ("scope_separator = \";\"", "must be one of \"space\", \"comma\""),
      ("revocation_request = \"x\"", "must be one of \"standard\", \"github\", \"slack\""),
      ("token_request = \"xml\"", "must be one of \"form\", \"json\""),
      ("base_url = \"https://a.example/\"", "must have no query and no trailing slash"),
      ("extra_authorize = { state = \"x\" }", "state is set by usherd itself"),
    ])
  func invalid(lines: String, problem: String) {
    let rest = server.split(separator: "\n").filter {
      !lines.hasPrefix("base_url") || !$0.hasPrefix("base_url")
    }.joined(separator: "\n")
    let found = problems(rest + "\n\(lines)\n")
    #expect(found.contains(problem), "\(found)")
  }

  @Test("a provider of type oauth2 without its endpoints is refused")
  func noEndpoints() {
    let text = server.split(separator: "\n").filter { !$0.hasPrefix("paths.") }
      .joined(separator: "\n")
    #expect(problems(text).hasSuffix("provider[0].paths: is missing"))
    #expect(
      problems(text + "\npaths.token = \"/t\"\npaths.userinfo = \"/u\"\n")
        .hasSuffix("provider[0].paths.authorization: is missing"))
  }
}

@Suite("Presets of providers")
struct PresetTests {
  private func entry(_ preset: String, _ more: String = "") -> String {
    """
    [[provider]]
    name = "p"
    preset = "\(preset)"
    client_id = "usher"
    \(more)

    """
  }

  /// The settings that the operator must add to a preset.
  private func missing(in preset: String) -> String {
    preset == "microsoft"
      ? "issuer = \"https://login.microsoftonline.com/8f0c7a52-7a5e-4e61-9a77-0d9f1f6f1c11/v2.0\""
      : ""
  }

  @Test("each preset is complete but for what only the operator knows", arguments: presetNames)
  func complete(name: String) throws {
    let provider = try #require(load(entry(name, missing(in: name))).providers.first)
    #expect(provider.preset?.name == name)
    let settings = try #require(provider.settings.view(as: OIDCSettings.self))
    #expect(settings.clientID == "usher")
    #expect((provider.settings.type == .oauth2) == (settings.oauth2 != nil))
    #expect(provider.settings.type == .oauth2 || settings.scopes.contains("openid"))
  }

  @Test("errors that end a grant are those of the preset, also at an OpenID provider")
  func grantEndedErrors() throws {
    func errors(_ preset: String, _ more: String = "") throws -> [String]? {
      let settings = try load(entry(preset, more)).providers.first?.settings
      return settings?.view(as: OIDCSettings.self)?.grantEndedErrors
    }
    #expect(try errors("codeberg") == ["unauthorized_client"])
    #expect(try errors("codeberg", "grant_ended_errors = []") == [])
    #expect(try errors("atlassian") == ["unauthorized_client"])
    #expect(try errors("gitlab") == [])
    #expect(
      problems(entry("gitlab", "grant_ended_errors = [\"a b\"]"))
        .hasSuffix("each must be printable ASCII without spaces"))
  }

  @Test("a provider with a preset loads the same from the output of config show and from JSON")
  func roundTrip() throws {
    let config = try load(entry("github", "scopes = [\"repo\"]"))
    #expect(config.show().contains("preset = \"github\""))
    #expect(try load(config.show()) == config)
  }

  @Test("settings of the operator override those of the preset key by key, also in its tables")
  func overridden() throws {
    let config = try load(
      entry("github", "base_url = \"https://ghe.example\"\nscopes = []")
        + "[provider.paths]\nuserinfo = \"/api/v3/user\"\n")
    let provider = try #require(config.providers.first)
    let settings = try #require(provider.settings as? OAuth2Settings)
    #expect(settings.scopes == [])
    #expect(settings.oidc.oauth2?.userinfoEndpoint == "https://ghe.example/api/v3/user")
    #expect(settings.oidc.oauth2?.tokenEndpoint == "https://ghe.example/login/oauth/access_token")
    #expect(settings.userinfo.subject == ["id"])
    #expect(settings.userinfo.email == "email")
  }

  @Test("with another base_url the preset's hosts of the original service are not used")
  func otherServer() throws {
    let own = "base_url = \"https://ghe.example\""
    #expect(problems(entry("github", own)).hasSuffix("provider[0].paths.userinfo: is missing"))
    let config = try load(entry("github", own) + "[provider.paths]\nuserinfo = \"/api/v3/user\"\n")
    #expect(!config.show().contains("api.github.com"))
  }

  @Test("with another issuer the preset's endpoints of the original service are not used")
  func otherIssuer() throws {
    func endpoint(_ more: String = "") throws -> String? {
      let settings = try load(entry("gitlab", more)).providers.first?.settings
      return settings?.view(as: OIDCSettings.self)?.endpoints.deviceAuthorization?.text
    }
    #expect(try endpoint() == "https://gitlab.com/oauth/authorize_device")
    #expect(try endpoint("issuer = \"https://git.example\"") == nil)
    let own = "endpoints.device_authorization = \"https://git.example/device\""
    #expect(
      try endpoint("issuer = \"https://git.example\"\n\(own)") == "https://git.example/device")
  }

  @Test("an unknown preset is refused with the known ones and the nearest of them")
  func unknown() {
    let found = message(problems(entry("gitub")))
    #expect(found.hasPrefix("unknown preset; known: atlassian, codeberg, github"), "\(found)")
    #expect(found.hasSuffix("did you mean github?"), "\(found)")
  }

  @Test("a preset is refused together with another type of provider than its own")
  func otherType() {
    #expect(
      problems(entry("github", "type = \"oidc\"")).contains(
        "provider[0].type: must be \"oauth2\" with this preset, or absent"))
    #expect(problems(entry("github", "type = \"oauth2\"")).isEmpty)
  }

  @Test("a problem with a value from a preset is reported at the operator's entry")
  func position() {
    #expect(
      problems(entry("slack", "scopes = [\"a,b\"]"))
        == "usherd.toml:5:10: provider[0].scopes: must have no comma, because commas separate them")
    #expect(
      problems(entry("microsoft")) == "usherd.toml:1:1: provider[0].issuer: is missing")
  }
}

/// The names of all presets.
private let presetNames = ProviderPreset.names
