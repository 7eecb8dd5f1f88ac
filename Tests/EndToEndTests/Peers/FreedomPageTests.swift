import JSONRPC
import Testing
import UsherTestKit

/// Freedom ID's sign-in and consent pages of the partner API and of OpenID, in a real browser.
@Suite(
  "Freedom ID pages in a real browser", .mayBlock, .timeLimit(.minutes(10)), .serialized,
  .enabled(
    if: Peers.areHere, "SKIPPED, NOT PROVEN: run Packaging/install-dependencies test first"))
struct FreedomPageTests {
  /// Serves the two providers `partner` (mode `oauth2`) and `openid` (mode `oidc`).
  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest

  init() throws {
    let clock = MovableClock()
    sandbox = try SandboxUnderTest(clock: clock)
    let base = "\(sandbox.base)/freedomid"
    daemon = try DaemonUnderTest(
      config: [("partner", "oauth2"), ("openid", "oidc")].map { name, mode in
        """
        [[provider]]
        name = "\(name)"
        type = "freedomid"
        mode = "\(mode)"
        base_url = "\(base)"
        api_base_url = "\(base)"
        client_id = "acme"
        client_credential = "freedom-secret"

        """
      }.joined(), clock: clock)
    // While time stands still, the page waits for the outcome, however long it takes.
    clock.stop()
    try daemon.setCredential("freedom-secret", "s3cret:freedom/client+=")
  }

  private static let grants: JSONValue = ["grants": ["read.firstname", "read.data_of_birth"]]

  @Test("a Freedom ID sign-in in mode oauth2 succeeds with an SMS code after a wrong password")
  func partner() throws {
    let client = try daemon.client()
    let (end, page) = try client.signIn("partner", at: .freedom, params: Self.grants)
    #expect(end["status"] == "succeeded")
    #expect(
      end["result"]?["profile"] == ["firstname": "Alice", "dateOfBirth": "1990-12-31"])
    #expect(page.title == "Signed in")
    #expect(page.url.hasPrefix("http://127.0.0.1:") && page.url.contains("/callback/"))
    #expect(!page.text.contains("Alice"))
    #expect(try !client.accessToken("partner").isEmpty)
  }

  @Test("a denied Freedom ID consent ends the flow with denied and the provider's error 100102")
  func partnerDenied() throws {
    let (end, page) = try daemon.client().signIn(
      "partner", at: .freedom, .deny, params: Self.grants)
    #expect(end["failure"]?["reason"] == "denied")
    #expect(end["failure"]?["provider"]?["code"] == "accessDenied")
    #expect(end["failure"]?["provider"]?["error"] == "100102")
    #expect(page.title == "Not signed in")
  }

  @Test("a Freedom ID sign-in in mode oidc succeeds in the browser, and the app gets a token")
  func openID() throws {
    let client = try daemon.client()
    let (end, page) = try client.signIn("openid", at: .freedom)
    #expect(end["status"] == "succeeded")
    #expect(page.title == "Signed in" && page.url.hasSuffix("/callback"))
    #expect(try client.accessToken("openid").count == 128)
  }
}
