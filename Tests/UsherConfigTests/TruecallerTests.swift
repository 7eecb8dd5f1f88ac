import Testing
import UsherConfig
import UsherCore

@Suite("Providers of type truecaller")
struct TruecallerTests {
  /// `SampleTests.providerDefaults` compares each default with the installed sample.
  @Test("a truecaller provider with only its required keys loads; other keys have their defaults")
  func least() throws {
    let config = try load(phones)
    let settings = try truecaller(config)
    #expect(
      settings
        == TruecallerSettings(
          appKeyCredential: "app-key", appLink: "https://acme.example.com/truecaller"))
    #expect(config.providers.first?.settings.type == .truecaller)
    #expect(settings.validationPlace == nil)
    #expect(settings.paths.create.url(under: settings.otpBaseURL).hasSuffix("/installation/create"))
  }

  @Test(
    "each truecaller validation generation checks an access token at its own URL",
    arguments: [
      (
        "oauth", "client_id = \"acme\"\n",
        "https://sdk-otp-verification-noneu.truecaller.com"
          + "/v1/otp/client/installation/phoneNumberDetail/t%2F1"
      ),
      (
        "v2_8", "validation_base_url = \"http://127.0.0.1:8080/tc\"\n",
        "http://127.0.0.1:8080/tc/v1/otp/installation/phoneNumberDetail/t%2F1"
      ),
      (
        "legacy", "otp_base_url = \"http://127.0.0.1:8080\"\n",
        "http://127.0.0.1:8080/v1/otp/installation/validate/t%2F1"
      ),
      (
        "legacy", "paths = { validate = \"https://x.example/{accessToken}/whose\" }\n",
        "https://x.example/t%2F1/whose"
      ),
    ])
  func validation(generation: String, more: String, url: String) throws {
    let text = phones + "validation = \"\(generation)\"\n" + more
    let place = try #require(truecaller(load(text)).validationPlace)
    #expect(place.path.url(under: place.base, "accessToken", "t/1") == url)
  }

  @Test(
    "each truecaller setting accepts valid values and refuses invalid ones",
    arguments: [
      ("validation = \"oauth\"\nclient_id = \"acme\"", true), ("validation = \"v3\"", false),
      ("validation = \"oauth\"", false), ("client_id = \"a b\"", false),
      ("otp_base_url = \"https://x.example/\"", false),
      ("otp_base_url = \"http://x.example\"", false),
      ("profile_base_url_eu = \"http://127.0.0.1:1\"", true),
      ("profile_base_url_noneu = \"https://x.example?x\"", false),
      ("validation_base_url = \"https://x.example/\"", false),
      ("otp_digits = 4", true), ("otp_digits = 10", true), ("otp_digits = 3", false),
      ("otp_digits = 11", false), ("sdk_version = \"\"", false), ("app_version = \"1 0\"", false),
      ("paths = { create = \"/a\" }", true), ("paths = { create = \"/a/{x}\" }", false),
      ("paths = { verify = \"a\" }", false), ("paths = { key = \"/k?x\" }", false),
      ("paths = { validate = \"/v\" }", false),
      ("paths = { validate = \"/v/{accessToken}\" }", true),
      ("paths = { validate = \"/{accessToken}/{accessToken}\" }", false),
    ])
  func settings(line: String, isFit: Bool) {
    #expect(lineProblem(line, in: phones).isEmpty == isFit, "\(lineProblem(line, in: phones))")
  }

  @Test("truecaller validation oauth without client_id is a problem that names client_id")
  func oauth() {
    #expect(lineProblem("validation = \"oauth\"", in: phones) == "\"oauth\" needs client_id")
  }

  @Test("a truecaller app_key_credential that is not a credential name is refused")
  func credential() {
    let found = problems(phones.replacing("\"app-key\"", with: "\"../key\""))
    #expect(message(found).hasPrefix("must be a credential's name"))
  }
}
