import JSONRPC
import Testing
import UsherTestKit

@Suite("a provider that fails at discovery", .mayBlock, .timeLimit(.minutes(10)))
struct DiscoveryFaultTests {
  let scene: Scene

  init() throws { scene = try Scene(provider: "request_timeout_seconds = 1") }

  @Test("down at discovery: a problem, and then the page", arguments: ProviderFault.passing)
  func discoveryDown(_ fault: ProviderFault) throws {
    // There are two documents.
    try scene.spoil("discovery", fault.json, times: 2)
    let troubled = try scene.moved(scene.start(), "has a problem") { $0["problem"] != .null }
    scene.expectProblem(troubled)
    let shown = try scene.moved(troubled, "shows a page") { !$0.url.isEmpty }
    #expect(shown["problem"] == .null)
    try Person.signIn(at: shown.url)
    #expect(try scene.app.finished(shown)["status"] == "succeeded")
  }

  @Test(
    "one of two documents is enough",
    arguments: [ProviderFault.passing[1], .passing[3], .lasting[0]])
  func halfDiscovery(_ fault: ProviderFault) throws {
    try scene.spoil("discovery", fault.json, times: 1)
    let flow = try scene.app.startFlow()
    #expect(!flow.url.isEmpty)
    #expect(flow["problem"] == .null)
  }

  @Test(
    "metadata that cannot be used ends the flow, and is not remembered",
    arguments: ProviderFault.lasting)
  func discoveryUnusable(_ fault: ProviderFault) throws {
    try scene.spoil("discovery", fault.json)
    scene.expectProtocolError(try scene.app.finished(scene.start()))
    try scene.mend()
    try scene.app.signIn()
  }

  @Test(
    "metadata of somebody else, or with an address that is not safe, ends the flow",
    arguments: [
      ["issuer": "https://evil.example.com"], ["issuer": nil], ["token_endpoint": nil],
      ["authorization_endpoint": nil], ["token_endpoint": "http://evil.example.com/token"],
      ["authorization_endpoint": "javascript:alert(1)"], ["jwks_uri": 7],
    ] as [JSONValue])
  func discoveryLies(_ lie: JSONValue) throws {
    try scene.set(["discovery": lie])
    scene.expectProtocolError(try scene.app.finished(scene.start()))
    #expect(try scene.sandbox.requests("authorize") == 0)
  }

  @Test("a media type that is not JSON's is forgiven where the text is JSON")
  func contentType() throws {
    for endpoint in ["discovery", "token", "jwks", "userinfo"] {
      try scene.spoil(endpoint, ["contentType": "text/html"])
    }
    try scene.app.signIn()
    #expect(try scene.accounts[0]["profile"]?["name"]?.stringValue != nil)
  }
}
