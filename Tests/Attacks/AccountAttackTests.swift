import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Programs that try to use an account that their rule excludes.
@Suite("Attacks on the rules about accounts", .mayBlock, .timeLimit(.minutes(10)))
struct AccountAttackTests {
  @Test("a call that names no account does not use an account that the caller's rule excludes")
  func unnamed() throws {
    let sandbox = try SandboxUnderTest()
    let daemon = try DaemonUnderTest(
      config: """
        [[provider]]
        name = "wallet"
        type = "paysafe"
        base_url = "\(sandbox.base)/paysafe"
        brand_identity = "acme"
        client_id = "acme-wallet"
        client_credential = "wallet-secret"
        operations = ["*:/wallets/*"]

        [[client]]
        name = "till"
        match = { user = "\(getuid())" }
        allow = ["account.*", "flow.start wallet/authorize", "flow.start wallet/operation", "token.*"]
        accounts = ["subject:nobody"]
        """)
    let secret = try daemon.usherctl(["credential", "set", "wallet-secret"], input: "s3cret:+/%")
    try #require(secret.status == 0, "\(secret.errors)")
    let app = try daemon.client()
    let flow = try app.startFlow("wallet")
    let url = try #require(flow["step"]?["url"]?.stringValue)
    try Self.signIn(at: url)
    let end = try app.finished(flow)
    try #require(end["status"] == "succeeded")
    try AttackScript("unnamed_account.py").expectRefused(daemon.socketPath, "wallet")
    let performed = try sandbox.control("GET", "paysafe/operations")["operations"]
    #expect(performed?.arrayValue?.isEmpty == true)
  }

  /// Signs in as `alice` at the page of the sandbox's Paysafe brand, without a browser.
  private static func signIn(at url: String) throws {
    let page = try Web.get(url)
    var form = ["username": "alice", "action": "login"]
    if page.text.contains("name=\"pin\"") {
      form["pin"] = "2468"
    } else {
      form["password"] = "alice-password"
    }
    for match in page.text.matches(of: /name="(transaction|csrf)" value="([^"]*)"/) {
      form[String(match.1)] = String(match.2)
    }
    guard let parts = URLComponents(string: url), let port = parts.port else {
      throw TestError("not a page of the sandbox: \(url)")
    }
    let path = parts.path.replacing(/authorize$/, with: "login")
    guard let back = try Web.post("http://127.0.0.1:\(port)\(path)", form: form).location else {
      throw TestError("the provider did not redirect")
    }
    _ = try Web.get(back)
  }
}
