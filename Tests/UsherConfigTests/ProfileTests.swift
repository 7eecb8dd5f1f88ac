import Testing
import UsherConfig

@Suite("Security profiles of OpenID providers")
struct ProfileTests {
  /// A provider that complies with a profile, without its last line.
  private static func compliant(_ profile: String = "fapi2") -> String {
    provider + """
      profile = "\(profile)"
      client_credential = "work-key"
      client_auth = "private_key_jwt"
      dpop = true
      \(profile == "fapi2" ? "" : "response_mode = \"jwt\"")

      """
  }

  @Test(
    "a provider that complies with a profile loads",
    arguments: [
      ("fapi2", OIDCProfile.fapi2), ("fapi2_message_signing", .fapi2MessageSigning),
    ])
  func compliant(name: String, profile: OIDCProfile) throws {
    let settings = try oidc(load(Self.compliant(name)))
    #expect(settings.profile == profile && settings.profile.isFAPI2)
    #expect(settings.profile.signsMessages == (profile == .fapi2MessageSigning))
    #expect(try oidc(load(provider)).profile == .none)
  }

  @Test("a client with a certificate needs no DPoP, and a signed answer is permitted")
  func certificate() throws {
    let text = Self.compliant().replacing("private_key_jwt", with: "tls_client_auth")
      .replacing("dpop = true", with: "response_mode = \"jwt\"")
    #expect(try oidc(load(text)).dpop == false)
  }

  @Test(
    "a setting that contradicts the profile is a problem that says what it must be",
    arguments: [
      (
        "client_auth", "\"basic\"",
        "private_key_jwt, tls_client_auth or self_signed_tls_client_auth"
      ),
      (
        "client_auth", "\"auto\"",
        "private_key_jwt, tls_client_auth or self_signed_tls_client_auth"
      ),
      ("dpop", "false", "true if no certificate authenticates the client"),
      ("client_assertion_audience", "\"token_endpoint\"", "issuer"),
      ("client_assertion_audience", "\"endpoint\"", "issuer"),
      ("id_token_signed_response_alg", "\"RS256\"", "ES256, PS256 or EdDSA"),
      ("id_token_signed_response_alg", "\"ES384\"", "ES256, PS256 or EdDSA"),
      ("userinfo_signed_response_alg", "\"RS256\"", "ES256, PS256 or EdDSA"),
      ("pushed_requests", "\"never\"", "auto or always"),
      ("response_mode", "\"form_post\"", "query or jwt"),
      ("response_mode", "\"form_post.jwt\"", "query or jwt"),
    ])
  func contradiction(key: String, value: String, demand: String) {
    let lines = Self.compliant().split(separator: "\n").filter { !$0.hasPrefix("\(key) =") }
    let text = lines.joined(separator: "\n") + "\n\(key) = \(value)\n"
    let found = problems(text)
    #expect(found.contains("provider[0].\(key): must be \(demand), as profile fapi2 demands"))
    #expect(found.split(separator: "\n").count == 1, "\(found)")
    // Without the profile the same setting is valid.
    #expect(problems(text.replacing("profile = \"fapi2\"\n", with: "")).isEmpty)
  }

  @Test(
    "an algorithm that the profile permits may be named", arguments: ["ES256", "PS256", "EdDSA"])
  func algorithms(name: String) {
    #expect(
      problems(Self.compliant() + "id_token_signed_response_alg = \"\(name)\"\n").isEmpty)
  }

  @Test("only the provider's metadata may name endpoints, because the profile demands discovery")
  func endpoints() {
    let section = "[provider.endpoints]\ntoken = \"https://id.example.com/t\"\n"
    #expect(problems(Self.compliant() + section).contains("endpoints: must be absent"))
    #expect(problems(provider + section).isEmpty)
  }

  @Test("message signing demands signed answers, and requests that may be signed")
  func messageSigning() {
    let text = Self.compliant("fapi2_message_signing")
    let mode = "response_mode = \"jwt\""
    for other in ["query", "query.jwt", "form_post.jwt"] {
      let found = problems(text.replacing(mode, with: "response_mode = \"\(other)\""))
      #expect(message(found).hasPrefix("must be jwt, as profile fapi2_message_signing"))
    }
    #expect(message(problems(text.replacing(mode, with: ""))).hasPrefix("must be jwt"))
    #expect(
      lineProblem("signed_requests = \"never\"", in: text).hasPrefix("must be auto or always"))
    #expect(problems(Self.compliant() + "signed_requests = \"never\"\n").isEmpty)
  }

  @Test("an oauth2 provider has no profile, because it has no discovery")
  func oauth2() {
    #expect(lineProblem("profile = \"fapi2\"", in: server).hasPrefix("unknown key"))
  }
}
