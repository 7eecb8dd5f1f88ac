import Foundation
import Testing

@testable import UsherSandbox

@Suite("Freedom ID partner API in the sandbox")
struct FreedomPartnerTests {
  @Test("the Freedom ID log-in page asks for the second factor and shares the device API's lock")
  func pages() async throws {
    let app = try FreedomApp()
    let path = try await app.link()
    let code = try await app.signedIn(path, "+7 701 123-45-67", "aigerim-password")
    #expect(code.html.contains(#"id="code""#))
    let wrong = try await app.type(["code": "x"], on: code)
    #expect(wrong.status == 403)
    let right = try await app.code(to: "+77011234567")
    let consent = try await app.type(["code": right], on: code)
    #expect(consent.html.contains("Aigerim Sadykova"))
    for _ in 0..<5 { _ = try await app.password("nope") }
    let locked = try await app.signedIn(try await app.link())
    #expect(locked.html.contains("Try again in 300 seconds"))
    let typed = try await app.signedIn(try await app.link(), "nobody", "x")
    #expect(typed.status == 403)
  }

  @Test(
    "without a password, the Freedom ID log-in page sends a code and resends it after 60 seconds")
  func codes() async throws {
    let app = try FreedomApp()
    let page = try await app.signedIn(try await app.link(), FreedomApp.phone, "")
    #expect(page.html.contains("+4 ••• 23"))
    let first = try await app.code()
    let early = try await app.type(["action": "resend"], on: page)
    #expect(early.status == 403)
    app.wait(60)
    _ = try await app.type(["action": "resend"], on: page)
    #expect(try await app.type(["code": first], on: page).status == 403)
    let consent = try await app.type(["code": try await app.code()], on: page)
    #expect(consent.html.contains(#"id="allow""#))
  }

  @Test("Freedom ID log-in links and authorization codes are refused after their lifetime")
  func times() async throws {
    let app = try FreedomApp()
    try await app.set(["linkSeconds": 30, "codeSeconds": 5])
    let path = try await app.link()
    app.wait(30)
    #expect(try await app.send(.get, path).status == 400)
    let consent = try await app.signedIn(try await app.link())
    let end = try await app.type(["decision": "allow"], on: consent, to: "consent")
    app.wait(5)
    #expect(try await app.redeem(end.parameter("code")).freedomCode == 100_101)
  }

  @Test("a Freedom ID log-in link, the page that it opens and its code each work once")
  func once() async throws {
    let app = try FreedomApp()
    let path = try await app.link()
    let consent = try await app.signedIn(path)
    let end = try await app.type(["decision": "allow"], on: consent, to: "consent")
    let code = end.parameter("code")
    #expect(try await app.redeem(code).json["access_token"] != nil)
    let again = try await app.redeem(code)
    #expect(again.status == 422 && again.freedomCode == 100_101)
    #expect(try await app.send(.get, path).status == 400)
    let page = try await app.send(.get, try await app.link())
    let cancelled = try await app.type(["action": "cancel"], on: page)
    #expect(cancelled.location == FreedomApp.redirect + "?error_code=100102")
    #expect(try await app.type(["action": "cancel"], on: page).status == 400)
  }

  @Test("a Freedom ID log-in link needs its client, an allowed redirect URI and known grants")
  func refused() async throws {
    let app = try FreedomApp()
    func ask(_ uri: String, _ grants: JSON, _ basic: String = FreedomApp.basic) async throws
      -> FreedomApp.Answer
    {
      try await app.partner(
        .post, "authorize", ["redirect_uri": .string(uri), "grants": grants],
        authorization: basic)
    }
    let client = try await ask(FreedomApp.redirect, ["read.phone"], "Basic eDp5")
    #expect(client.status == 401)
    #expect(client.freedomCode == 100_001)
    for uri in [
      "http://127.0.0.1:5555/other", "http://127.0.0.1:5555/callback/a/b",
      "https://evil.example/callback", "http://evil.example/callback/a",
      "http://127.0.0.1:5555/callbacks/a", "x",
    ] {
      #expect(try await ask(uri, ["read.phone"]).freedomErrors?["redirect_uri"] != nil, "\(uri)")
    }
    let grants = try await ask(FreedomApp.redirect, ["openid", "read.cards", "read.nothing"])
    #expect(grants.freedomErrors == ["grants.2": ["is not known"]])
    try await app.set(["redirectUrls": ["https://partner.example/back"]])
    #expect(try await ask("https://partner.example/back", ["read.phone"]).status == 200)
  }

  @Test("settings rename Freedom ID's code parameter and change the token id at a refresh")
  func bent() async throws {
    let app = try FreedomApp()
    try await app.set(["codeParameter": "authorization_code", "newIdOnRefresh": true])
    let consent = try await app.signedIn(try await app.link())
    let end = try await app.type(["decision": "allow"], on: consent, to: "consent")
    let first = try await app.redeem(end.parameter("authorization_code")).json
    let refresh = try #require(first["refresh_token"]?.text)
    let second = try await app.partner(.patch, "token", authorization: "Bearer \(refresh)").json
    #expect(second["id"]?.text != nil)
    #expect(second["id"] != first["id"])
    let spent = try await app.partner(.patch, "token", authorization: "Bearer \(refresh)")
    #expect(spent.freedomCode == 100_004)
  }

  @Test("Freedom ID device tokens fail in the partner API, and partner tokens in the device API")
  func apart() async throws {
    let app = try FreedomApp()
    let device = try await app.tied()
    let partner = try await app.partnerTokens()
    let user = try await app.partner(.get, "user", authorization: "Bearer \(device.access)")
    #expect(user.freedomCode == 100_004)
    let patched = try await app.partner(.patch, "token", authorization: "Bearer \(device.refresh)")
    #expect(patched.freedomCode == 100_004)
    #expect(try await app.consent(partner, ["read.phone"]).freedomCode == 100_004)
    #expect(try await app.device(.patch, "token", bearer: partner.refresh).status == 401)
  }
}
