import Testing
import UsherConfig

@Suite("Files with assertions of other issuers")
struct AssertionFileTests {
  private static let file = "jwt_bearer = { assertion_file = \"/run/token\" }"

  @Test("the paths of the files are read, each once")
  func paths() throws {
    let text = provider + "client_assertion_file = \"/run/token\"\n\(Self.file)\n"
    let settings = try #require(load(text).providers.first?.settings as? OIDCSettings)
    #expect(settings.assertionFiles == ["/run/token"])
    #expect(settings.jwtBearer.permits("usher", clientID: "usher"))
    #expect(!settings.jwtBearer.permits("ada", clientID: "usher"))
  }

  @Test("a client can act for itself by an assertion in a file")
  func clientCredentials() {
    let lines = "client_assertion_file = \"/run/token\"\nclient_credentials_grant = true\n"
    #expect(problems(provider + lines).isEmpty)
  }

  @Test(
    "settings that contradict a file are refused with the reason",
    arguments: [
      ("jwt_bearer = { assertion_file = \"token\" }", "must be an absolute path"),
      (
        "jwt_bearer = { assertion_file = \"/t\", key_credential = \"k\" }",
        "must be the only setting of jwt_bearer"
      ),
      (
        "jwt_bearer = { assertion_file = \"/t\", subjects = [\"ada\"] }",
        "must be the only setting of jwt_bearer"
      ),
      ("client_assertion_file = \"token\"", "must be an absolute path"),
      (
        "client_assertion_file = \"/t\"\nclient_credential = \"c\"",
        "must stand without client_credential and client_auth"
      ),
      (
        "client_assertion_file = \"/t\"\nclient_auth = \"private_key_jwt\"",
        "must stand without client_credential and client_auth"
      ),
    ])
  func contradiction(lines: String, problem: String) {
    let found = problems(provider + lines + "\n")
    #expect(found.contains(problem), "\(found)")
  }

  @Test(
    "a client that registers itself has no assertion of another issuer",
    arguments: [file, "client_assertion_file = \"/run/token\""])
  func needsClientID(line: String) {
    let text = provider.replacing("client_id = \"usher\"\n", with: "") + line + "\n"
    let found = problems(text)
    #expect(found.contains("needs client_id"), "\(found)")
  }
}
