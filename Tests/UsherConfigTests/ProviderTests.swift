import Testing
import UsherConfig
import UsherCore

@Suite("Provider settings")
struct ProviderTests {
  /// `SampleTests.providerDefaults` compares each default with the installed sample.
  @Test("an oidc provider with only its required keys loads; other settings have their defaults")
  func least() throws {
    let config = try load(provider)
    let expected = OIDCSettings(
      issuer: try ProviderURL(setting: "https://id.example.com"), clientID: "usher")
    #expect(
      config.providers == [ProviderConfig(name: ProviderName("work"), settings: expected)])
    #expect(config.provider(ProviderName("work")) != nil)
  }

  @Test("a provider without name and type has a problem for each, at the line of its header")
  func missing() {
    #expect(
      problems("[[provider]]\n[log]\nlevel = \"info\"\n") == """
        usherd.toml:1:1: provider[0].name: is missing
        usherd.toml:1:1: provider[0].type: is missing
        """)
  }

  @Test(
    "a provider name matches [a-z0-9][a-z0-9._-]{0,63} and is not the word `local`",
    arguments: [
      ("work", true), ("a", true), ("0", true), ("a.b_c-d", true),
      (String(repeating: "a", count: 64), true), (String(repeating: "a", count: 65), false),
      ("", false), ("Work", false), (".a", false), ("-a", false), ("_a", false), ("a b", false),
      ("a/b", false), ("wörk", false), ("a*", false), ("local", false),
    ])
  func names(name: String, isFit: Bool) {
    let found = problems(provider.replacing("\"work\"", with: "\"\(name)\""))
    #expect(found.isEmpty == isFit, "\(found)")
    #expect(isFit || found.hasPrefix("usherd.toml:2:8: provider[0].name: "))
  }

  /// `SampleTests.uncommented` configures every other type.
  @Test("a file cannot configure the provider type local, which is the daemon's own")
  func types() {
    #expect(!ProviderType.configurable.contains(.local))
    #expect(
      problems("[[provider]]\nname = \"x\"\ntype = \"local\"\n")
        == "usherd.toml:3:8: provider[0].type: is reserved for the daemon")
  }

  @Test("an unknown provider type is a problem that lists the known types and suggests a close one")
  func unknownType() {
    let text = "[[provider]]\nname = \"x\"\ntype = \"odic\"\n"
    let types = ProviderType.configurable.map(\.rawValue).joined(separator: ", ")
    let known = "unknown type; known: \(types)"
    #expect(message(problems(text)) == known + "; did you mean oidc?")
    #expect(message(problems(text.replacing("odic", with: "saml"))) == known)
  }

  @Test(
    "a secret in a provider table is refused with the command that stores it, and not repeated",
    arguments: [
      "client_secret", "secret", "password", "api_key", "CLIENT_SECRET", "refresh_token",
    ])
  func secrets(key: String) {
    let found = problems(provider + "\(key) = \"hunter2\"\n")
    #expect(found.contains("usherctl credential set NAME"))
    #expect(found.contains("client_credential"))
    #expect(!found.contains("hunter2"))
  }

  @Test(
    "an issuer must be an https URL, or http on a loopback host",
    arguments: [
      ("https://id.example.com", true), ("https://id.example.com/realms/a", true),
      ("HTTPS://ID.example.com:8443/", true), ("https://[2001:db8::1]:1/", true),
      ("http://127.0.0.1:8080", true), ("http://127.9.8.7", true), ("http://[::1]:80/x", true),
      ("http://localhost:9000/", true), ("http://id.example.com", false), ("http://127.1", false),
      ("http://127.0.0.1.example.com", false), ("http://127.0.0.256", false),
      ("http://0127.0.0.1", false), ("http://127.0.0.01", false), ("http://localhost.", false),
      ("http://localhost.example.com", false), ("http://[::2]", false), ("http://10.0.0.1", false),
      ("http://127.0.0.1@evil.example", false), ("https://user:pw@id.example.com", false),
      ("https://id.example.com#x", false), ("https://id.example.com?x=1", false),
      ("https://", false), ("https:///x", false), ("https://a b", false), ("https://a:0", false),
      ("https://a:65536", false), ("https://a:", false), ("https://a:1x", false),
      ("https://[::1", false), ("https://[zz]", false), ("https://[::1]x:1", false),
      ("ftp://a", false), ("id.example.com", false), ("", false), ("javascript:alert(1)", false),
      ("https://ex\\u00e4mple.com", false), ("https://a\\\\b", false),
      ("https://a/" + String(repeating: "x", count: 3000), false),
    ])
  func addresses(url: String, isFit: Bool) {
    let text = provider.replacing("https://id.example.com", with: url)
    #expect(problems(text).isEmpty == isFit, "\(problems(text))")
  }

  @Test("a provider URL keeps its text and is split into scheme, host, port and query")
  func parts() throws {
    let url = try ProviderURL(setting: "https://ID.example.com/a?b=c")
    #expect(url.text == "https://ID.example.com/a?b=c")
    #expect(url.host == "id.example.com")
    #expect(url.port == 443)
    #expect(url.isSecure)
    #expect(url.hasQuery)
    let local = try ProviderURL(setting: "http://[::1]:81/x")
    #expect(local.host == "::1")
    #expect(local.port == 81)
    #expect(!local.isSecure)
  }

  @Test("each oidc endpoint accepts any https URL and refuses http", arguments: OIDCEndpoints.keys)
  func endpoints(key: String) throws {
    let good = try load(provider + "[provider.endpoints]\n\(key) = \"https://x.example/e?q=1\"\n")
    #expect(try oidc(good).endpoints != OIDCEndpoints.blank)
    #expect(
      problems(provider + "[provider.endpoints]\n\(key) = \"http://x.example/e\"\n")
        .hasSuffix(".\(key): must be https; http is for loopback hosts only"))
  }

  @Test(
    "redirect is loopback, localhost or an http URL of this machine with a path",
    arguments: [
      ("loopback", true), ("localhost", true), ("http://127.0.0.1:8765/callback", true),
      ("http://[::1]:8765/", true),
      ("http://127.0.0.2:1/x", true), ("http://127.0.0.1/callback/work", true),
      ("http://[::1]/", true), ("http://localhost/cb", true), ("http://127.0.0.1", false),
      ("https://127.0.0.1/cb", false), ("http://127.0.0.1/cb?x=1", false),
      ("http://10.0.0.1/cb", false),
      ("http://localhost:8765/callback", true), ("https://127.0.0.1:8765/cb", false),
      ("http://127.0.0.1:8765/cb#x", false), ("http://127.0.0.1:8765/cb?x=1", false),
      ("http://127.0.0.1:8765", true), ("http://10.0.0.1:8765/cb", false),
      ("http://127.0.0.1:0/cb", false), ("", false), ("Loopback", false), ("myapp:/cb", false),
    ])
  func redirect(text: String, isFit: Bool) throws {
    let found = lineProblem("redirect = \"\(text)\"", in: provider)
    let refusal =
      "must be \"loopback\", \"localhost\", \"http://127.0.0.1/PATH\" or "
      + "\"http://127.0.0.1:PORT/PATH\""
    #expect(found == (isFit ? "" : refusal))
  }

  @Test("a fixed redirect URL without a path stays as it is, and is served at /")
  func redirectWithoutPath() throws {
    let settings = try oidc(load(provider + "redirect = \"http://localhost:4242\"\n"))
    guard case .fixed(let fixed) = settings.redirect else { return #expect(Bool(false)) }
    #expect(fixed.text == "http://localhost:4242" && fixed.path == "/" && fixed.isLocalhost)
  }

  @Test("a fixed redirect URL is split into host, port and path")
  func fixedRedirect() throws {
    let settings = try oidc(load(provider + "redirect = \"http://127.0.0.1:8765/cb/x\"\n"))
    guard case .fixed(let fixed) = settings.redirect else { return #expect(Bool(false)) }
    #expect(fixed.text == "http://127.0.0.1:8765/cb/x")
    #expect([fixed.host, fixed.path] == ["127.0.0.1", "/cb/x"])
    #expect(fixed.port == 8765)
    #expect(!fixed.isLocalhost)
  }

  @Test(
    "client_auth must fit the presence of client_credential",
    arguments: [
      ("auto", true, ""), ("basic", true, ""), ("post", true, ""),
      ("none", true, "must not be \"none\" if client_credential is set"),
      ("auto", false, ""), ("none", false, ""), ("basic", false, "needs client_credential"),
      ("post", false, "needs client_credential"),
      ("private_key_jwt", true, ""), ("client_secret_jwt", true, ""),
      ("private_key_jwt", false, "needs client_credential"),
      ("client_secret_jwt", false, "needs client_credential"),
      ("tls_client_auth", true, ""), ("self_signed_tls_client_auth", true, ""),
      ("tls_client_auth", false, "needs client_credential"),
      ("self_signed_tls_client_auth", false, "needs client_credential"),
      (
        "tls", false,
        "must be one of \"auto\", \"basic\", \"post\", \"client_secret_jwt\", "
          + "\"private_key_jwt\", \"tls_client_auth\", \"self_signed_tls_client_auth\", "
          + "\"none\""
      ),
    ])
  func clientAuth(auth: String, hasCredential: Bool, problem: String) {
    let credential = hasCredential ? "client_credential = \"c\"\n" : ""
    #expect(lineProblem(credential + "client_auth = \"\(auth)\"", in: provider) == problem)
  }

  @Test("without client_id usherd registers itself, and the provider may issue the secret")
  func withoutClientID() throws {
    let text = provider.replacing("client_id = \"usher\"\n", with: "")
    for auth in ["auto", "basic", "post", "client_secret_jwt", "none"] {
      let config = try load(text + "client_auth = \"\(auth)\"\n")
      #expect(try oidc(config).clientID.isEmpty)
      #expect(config.providers.allSatisfy { $0.needsRegistration })
    }
    #expect(problems(text + "client_auth = \"private_key_jwt\"\n").contains("client_credential"))
    for auth in ["tls_client_auth", "self_signed_tls_client_auth"] {
      for credential in ["", "client_credential = \"c\"\n"] {
        let found = problems(text + credential + "client_auth = \"\(auth)\"\n")
        #expect(found.contains("client_auth: needs client_id"), "\(found)")
      }
    }
    #expect(
      lineProblem("client_credential = \"usherd.client.work\"", in: provider)
        .contains("registrations"))
  }

  @Test(
    "no setting may name the credential of a registration",
    arguments: [
      "client_credential = \"usherd.client.other\"",
      "id_token_encrypted_response_alg = \"ECDH-ES\"\n"
        + "decryption_credential = \"usherd.client.other\"",
      "jwt_bearer.key_credential = \"usherd.client.other\"",
    ])
  func registrationCredential(lines: String) {
    #expect(problems(provider + lines + "\n").contains("must not begin with usherd.client."))
    let other = lines.replacing("usherd.client.other", with: "usherd-client")
    #expect(problems(provider + other + "\n") == "")
  }

  @Test(
    "a signature by the client secret needs that secret",
    arguments: [
      ("HS256", "", "needs client_credential with a secret"), ("ES256", "", ""),
      ("HS512", "client_credential = \"c\"\n", ""),
      (
        "HS384", "client_credential = \"c\"\nclient_auth = \"private_key_jwt\"\n",
        "needs client_credential with a secret"
      ),
    ])
  func clientSecretSignature(algorithm: String, more: String, problem: String) {
    for key in ["id_token_signed_response_alg", "userinfo_signed_response_alg"] {
      #expect(lineProblem(more + "\(key) = \"\(algorithm)\"", in: provider) == problem)
    }
  }

  @Test("encrypted answers need a key, and one key serves RSA or elliptic curves")
  func encryption() {
    let key = "decryption_credential = \"k\"\n"
    let needsKey = "needs decryption_credential, which names the private key"
    for name in ["id_token_encrypted_response_alg", "userinfo_encrypted_response_alg"] {
      #expect(lineProblem("\(name) = \"ECDH-ES\"", in: provider) == needsKey)
      #expect(lineProblem(key + "\(name) = \"RSA-OAEP-256\"", in: provider) == "")
      #expect(
        lineProblem(key + "\(name) = \"RSA1_5\"", in: provider)
          == "must be one of \"RSA-OAEP-256\", \"ECDH-ES\", \"ECDH-ES+A128KW\", "
          + "\"ECDH-ES+A256KW\"")
    }
    let both = key + "id_token_encrypted_response_alg = \"ECDH-ES\"\n"
    let userinfo = "userinfo_encrypted_response_alg = "
    #expect(lineProblem(both + userinfo + "\"ECDH-ES+A256KW\"", in: provider) == "")
    #expect(
      lineProblem(both + userinfo + "\"RSA-OAEP-256\"", in: provider)
        == "needs another kind of key than id_token_encrypted_response_alg, and there is only one")
  }

  @Test(
    "scopes must be a list of scope names that includes openid",
    arguments: [
      ("[\"openid\"]", true), ("[\"openid\", \"https://a.example/x.read\"]", true),
      ("[]", false), ("[\"profile\"]", false), ("[\"openid\", \"\"]", false),
      ("[\"openid profile\"]", false), ("[\"openid\", \"a\\\"\"]", false), ("\"openid\"", false),
      ("[\"openid\", 1]", false),
    ])
  func scopes(text: String, isFit: Bool) {
    #expect(lineProblem("scopes = \(text)", in: provider).isEmpty == isFit)
  }

  @Test("an invalid element of a list is a problem that names its own line, column and index")
  func element() {
    #expect(
      problems(provider + "scopes = [\"openid\",\n  7]\n")
        == "usherd.toml:7:3: provider[0].scopes[1]: expected a string, found an integer")
  }

  @Test(
    "extra_authorize accepts any parameter but those that usherd sets itself",
    arguments: [
      "client_id", "state", "nonce", "redirect_uri", "scope", "response_type", "response_mode",
      "code_challenge", "code_challenge_method", "request", "request_uri", "client_secret",
      "audience", "client_assertion", "client_assertion_type", "code", "code_verifier", "dpop_jkt",
      "grant_type",
    ])
  func extra(name: String) throws {
    #expect(
      lineProblem("extra_authorize = { \(name) = \"x\" }", in: provider)
        == "\(name) is set by usherd itself")
    let good = try load(provider + "[provider.extra_authorize]\nprompt = \"consent\"\nhd = \"\"\n")
    #expect(try oidc(good).extraAuthorize == ["prompt": "consent", "hd": ""])
  }

  @Test(
    "max_age in extra_authorize is a number of seconds, because ID tokens are checked against it")
  func maxAge() {
    for (value, problem) in [("0", ""), ("300", ""), ("-1", "must"), ("5m", "must"), ("", "must")] {
      let found = lineProblem("extra_authorize = { max_age = \"\(value)\" }", in: provider)
      #expect(found == (problem.isEmpty ? "" : "max_age must be a number of seconds"), "\(value)")
    }
  }

  @Test(
    "audiences need audience_parameter, and are URIs if they are resources",
    arguments: [
      (nil, "[]", ""), (nil, "[\"a\"]", "needs audience_parameter"),
      ("audience", "[\"a\", \"b:c#d\"]", ""),
      ("audience", "[\"a b\"]", "must be printable ASCII without spaces"),
      ("resource", "[\"https://a.example/x?y\", \"urn:x\"]", ""),
      ("resource", "[\"a\"]", "must be an absolute URI without a fragment"),
      ("resource", "[\":a\"]", "must be an absolute URI without a fragment"),
      ("resource", "[\"https://a.example#x\"]", "must be an absolute URI without a fragment"),
    ] as [(String?, String, String)])
  func audiences(parameter: String?, list: String, problem: String) {
    let first = parameter.map { "audience_parameter = \"\($0)\"\n" } ?? ""
    #expect(lineProblem(first + "audiences = \(list)", in: provider) == problem)
  }

  @Test(
    "token_exchange needs audience_parameter, and no audiences",
    arguments: [
      ("token_exchange = true\n", "needs audience_parameter"),
      ("token_exchange = true\naudience_parameter = \"audience\"\n", ""),
      (
        "audiences = [\"a\"]\ntoken_exchange = true\naudience_parameter = \"audience\"\n",
        "must be empty, because token_exchange needs no audiences"
      ),
    ])
  func tokenExchange(lines: String, problem: String) {
    #expect(lineProblem(lines, in: provider) == problem)
  }

  @Test("revoke_replaced is false by default, and true if the provider sets it")
  func revokeReplaced() throws {
    #expect(try !oidc(load(provider)).revokeReplaced)
    #expect(try oidc(load(provider + "revoke_replaced = true\n")).revokeReplaced)
  }

  @Test(
    "extra_authorize refuses values that are not strings, and control characters",
    arguments: [
      "{ a = 1 }", "{ a = \"\\n\" }", "{ \"\" = \"x\" }", "{ \"a b\" = \"x\" }", "[]", "\"a=b\"",
      "{ a = { b = \"x\" } }",
    ])
  func extraShape(text: String) {
    #expect(!lineProblem("extra_authorize = \(text)", in: provider).isEmpty)
  }

  @Test(
    "each other setting of an oidc provider accepts valid values and refuses invalid ones",
    arguments: [
      ("clock_skew_seconds = 0", true), ("clock_skew_seconds = 300", true),
      ("narrow_refresh = true", true), ("narrow_refresh = 1", false),
      ("revoke_replaced = false", true), ("revoke_replaced = 0", false),
      ("clock_skew_seconds = 301", false), ("clock_skew_seconds = -1", false),
      ("connect_timeout_seconds = 120", true), ("connect_timeout_seconds = 0", false),
      ("request_timeout_seconds = 1", true), ("request_timeout_seconds = 121", false),
      ("ca_file = \"/etc/ca.pem\"", true), ("ca_file = \"ca.pem\"", false),
      ("ca_file = \"\"", false),
      ("proxy = \"http://proxy:3128\"", true), ("proxy = \"http://[::1]:3128/\"", true),
      ("proxy = \"https://proxy\"", false), ("proxy = \"http://u:p@proxy\"", false),
      ("proxy = \"http://proxy/x\"", false), ("proxy = \"proxy:3128\"", false),
      ("client_credential = \"work-secret\"", true), ("client_credential = \"../x\"", false),
      ("client_credential = \"\"", false), ("client_credential = \".x\"", false),
      ("audience = \"https://api.example.com\"", true), ("audience = \"\"", false),
    ])
  func others(line: String, isFit: Bool) {
    #expect(lineProblem(line, in: provider).isEmpty == isFit, "\(lineProblem(line, in: provider))")
  }
}
