import Testing
import UsherConfig
import UsherCore

@Suite("Token place of a provider")
struct TokenPlaceTests {
  private func place(_ lines: String) throws -> TokenPlace {
    let config = try load("[[provider]]\nname = \"p\"\n" + lines)
    return try #require(config.providers.first).tokenPlace
  }

  private static let oidc = "type = \"oidc\"\nissuer = \"https://a.example\"\nclient_id = \"u\"\n"
  private static let gopay = "type = \"gopay\"\nclient_id = \"u\"\nmerchant_id = \"m\"\n"
  private static let freedomid = """
    type = "freedomid"
    mode = "oauth2"
    client_id = "u"
    client_credential = "s"

    """

  @Test(
    "settings that send no token to another host leave the token place unchanged",
    arguments: [
      (oidc, "request_timeout_seconds = 9\nscopes = [\"openid\"]\nclient_credential = \"s\"\n"),
      (oidc, "[provider.endpoints]\nauthorization = \"https://b.example/page\"\n"),
      (gopay, "locale = \"en\"\n[provider.paths]\nunbinding = \"/v2/unbinding\"\n"),
      (freedomid, "consent_days = 3\n[provider.paths]\ntoken = \"/v2/token\"\n"),
    ])
  func harmless(_ provider: String, more: String) throws {
    #expect(try place(provider) == place(provider + more))
  }

  @Test(
    "another issuer, base URL, mode or token URL changes the token place",
    arguments: [
      (oidc, oidc.replacing("a.example", with: "b.example")),
      (oidc, oidc + "[provider.endpoints]\ntoken = \"https://b.example/token\"\n"),
      (gopay, gopay + "snap_base_url = \"https://b.example\"\n"),
      (gopay, gopay + "[provider.paths]\nunbinding = \"https://b.example/unbinding\"\n"),
      (freedomid, freedomid + "base_url = \"https://b.example\"\n"),
      (freedomid, freedomid + "[provider.paths]\ntoken = \"https://b.example/token\"\n"),
      (freedomid, freedomid.replacing("oauth2", with: "oidc")),
    ])
  func another(_ one: String, other: String) throws {
    #expect(try place(one) != place(other))
  }

  @Test("the issuer of ID tokens is that of the configuration, and other providers have none")
  func issuer() throws {
    #expect(try place(Self.oidc).issuer == "https://a.example")
    let oidc =
      Self.freedomid.replacing("oauth2", with: "oidc") + "base_url = \"https://b.example\"\n"
    #expect(try place(oidc).issuer == "https://b.example")
    #expect(try place(Self.gopay).issuer == nil && place(Self.freedomid).issuer == nil)
  }

  @Test("each provider type has its own token place")
  func types() throws {
    let places = [
      try place(Self.oidc), try place(Self.gopay), try place(Self.freedomid),
      try place("type = \"paysafe\"\nbase_url = \"https://a.example\"\nclient_id = \"u\"\n"),
      try place("type = \"truecaller\"\napp_key_credential = \"k\"\napp_link = \"l\"\n"),
      try place(
        "type = \"bsa\"\nclient_key_credential = \"k\"\napp_package = \"a\"\napp_version = \"1\"\n"
      ), ProviderConfig.local.tokenPlace,
    ]
    for (number, place) in places.enumerated() {
      #expect(!places[..<number].contains(place))
    }
  }
}
