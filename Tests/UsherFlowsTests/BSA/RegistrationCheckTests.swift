import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Who is registered at BSA")
struct RegistrationCheckTests {
  private func request(_ check: BSARegistrationCheck) throws -> HTTPRequest {
    var settings = BSASettings(
      clientKeyCredential: "key", appPackage: "com.example.app", appVersion: "1.0.0")
    settings.lang = "ko"
    let provider = ProviderConfig(name: ProviderName("bsa"), settings: .bsa(settings))
    return try check.call.render(
      RenderContext(
        provider: provider, credential: Secret("client/key+="), moment: moment()))
  }

  @Test("is asked by GET, with all that is asked in the query")
  func asked() throws {
    let checks: [(BSARegistrationCheck, String, [String])] = [
      (
        .contact(try BSAContact(.email, "ada+1@example.com")), "/users/common/duplicate-check",
        ["verifyType=CMMDUP001", "verifyData=ada%2B1%40example.com"]
      ),
      (
        .contact(try BSAContact(.sms, "+44 7700 900123")), "/users/common/duplicate-check",
        ["verifyType=CMMDUP002", "verifyData=%2B447700900123"]
      ),
      (.userKey("ada.1815@x"), "/idcheck", ["userKey=ada.1815%40x"]),
    ]
    for (check, path, members) in checks {
      let request = try request(check)
      #expect(request.method == .get)
      #expect(request.body == nil)
      let parts = request.url.split(separator: "?").map(String.init)
      #expect(parts.first == "https://api.fnsbsa.com/api/v3" + path)
      #expect(
        parts.last?.split(separator: "&").map(String.init)
          == ["lang=ko", "clientKey=client%2Fkey%2B%3D"] + members)
      #expect(request.secrets == [Secret("client/key+=")])
    }
  }

  @Test("is not asked without the client key")
  func withoutKey() throws {
    let provider = ProviderConfig(name: ProviderName("bsa"), settings: .bsa(.blank))
    let context = RenderContext(provider: provider, credential: nil, moment: moment())
    #expect(throws: UsherError.self) {
      try BSARegistrationCheck.userKey("ada.1815").call.render(context)
    }
  }
}
