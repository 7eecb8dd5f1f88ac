import FoundationEssentials
import Testing
import UsherConfig
import UsherCore

@Suite("Configurations in the documentation of Freedom ID")
struct FreedomIDDocumentedTests {
  private let page: String

  init() throws {
    var root = URL(filePath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    let path = "Sources/UsherDaemon/Usher.docc/Providers/FreedomID.md"
    page = String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
  }

  /// Returns the first TOML example after a text of the page.
  private func example(after text: String) throws -> String {
    let start = try #require(page.split(separator: text).dropFirst().first)
    let block = try #require(start.split(separator: "```toml\n").dropFirst().first)
    return String(try #require(block.split(separator: "```").first))
  }

  @Test("the Freedom ID page says where users switch on a second factor")
  func secondFactor() {
    #expect(page.contains("<https://passport.freedompay.kz>"))
  }

  @Test("the Keycloak example of the Freedom ID page is a valid OpenID provider")
  func keycloak() throws {
    let config = try load(example(after: "### Keycloak\n"))
    let provider = try #require(config.providers.first)
    #expect(provider.name.rawValue == "freedom" && provider.settings.variety == .oidc)
    let settings = try #require(provider.settings as? OIDCSettings)
    #expect(settings.scopes.contains("phone"))
  }

  @Test("the example of the Freedom ID page gives an API key to one client")
  func keyOfOneClient() throws {
    let config = try load(example(after: "An API key is one app's"))
    #expect(config.providers.map(\.settings.variety) == [.freedomidDevice])
    #expect(config.clients.map(\.name) == ["till"])
  }
}
