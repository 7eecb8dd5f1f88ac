import Foundation
import Testing

@testable import UsherSandbox

@Suite("GoPay log-in pages of the sandbox")
struct GoPayLoginTests {
  @Test("a new GoPay customer is asked for a name and then has an account without a PIN")
  func newcomer() async throws {
    let app = try GoPayApp()
    let phone = "+6281234567890"
    var page = try await app.loginPage()
    _ = try await app.type(["phone": phone], on: page)
    let named = try await app.type(["otp": try await app.otp(to: phone)], on: page)
    #expect(named.html.contains(#"id="name""#))
    #expect(try await app.type(["name": " 12 "], on: page).status == 403)
    let end = try await app.type(["name": "Siti"], on: page)
    #expect(end.parameter("authCode") != nil)
    page = try await app.loginPage()
    _ = try await app.type(["phone": phone], on: page)
    let again = try await app.type(["otp": try await app.otp(to: phone)], on: page)
    #expect(again.parameter("authCode") != nil)
    let people = try await app.control(.get, "people").json["people"]
    guard case .array(let list)? = people else { throw GoPayApp.AppError(description: "no people") }
    #expect(
      list.last
        == ["username": .string(phone), "phone": .string(phone), "name": "Siti", "pin": .null])
  }

  @Test("declining a GoPay log-in returns access_denied and cancelling it abort, on any page")
  func declined() async throws {
    let app = try GoPayApp()
    for stage in 0...2 {
      for action in ["deny", "cancel"] {
        let page = try await app.loginPage()
        if stage > 0 { _ = try await app.type(["phone": GoPayApp.phone], on: page) }
        if stage > 1 { _ = try await app.type(["otp": try await app.otp()], on: page) }
        let end = try await app.type([:], on: page, action: action)
        #expect(end.parameter("state") == GoPayApp.state)
        #expect(end.parameter("authCode") == nil)
        #expect(end.parameter("errorCode") == (action == "deny" ? "access_denied" : nil))
        #expect((end.parameter("errorDesc") != nil) == (action == "deny"))
        #expect(end.parameter("result") == (action == "cancel" ? "abort" : nil))
        #expect(try await app.type([:], on: page, action: action).status == 400)
      }
    }
  }

  @Test("a logged-in GoPay customer is only asked for consent and can switch to another account")
  func session() async throws {
    let app = try GoPayApp()
    let first = try await app.login()
    let cookie = try #require(first.reply.headers["Set-Cookie"])
    #expect(cookie.contains("HttpOnly"))
    let sent = "a=b; " + cookie.prefix { $0 != ";" }
    let page = try await app.loginPage(cookie: sent)
    #expect(page.html.contains("Alice Adams</strong>"))
    let end = try await app.type([:], on: page)
    #expect(end.parameter("authCode") != nil)
    #expect(end.parameter("authCode") != first.parameter("authCode"))
    let other = try await app.type([:], on: app.loginPage(cookie: sent), action: "other")
    #expect(other.html.contains(#"id="phone""#))
    app.wait(3600)
    #expect(try await app.loginPage(cookie: sent).html.contains(#"id="phone""#))
    try await app.set(["sessionSeconds": 0])
    #expect(try await app.login().reply.headers["Set-Cookie"] == nil)
  }

  @Test("the fifth wrong code or PIN ends a GoPay log-in with too_many_attempts")
  func wrong() async throws {
    let app = try GoPayApp()
    let page = try await app.loginPage()
    _ = try await app.type(["phone": "+44 7700 900-123"], on: page)
    let otp = try await app.otp()
    for text in ["", String(otp.reversed()) + "0"] {
      let again = try await app.type(["otp": text], on: page)
      #expect(again.status == 403)
      #expect(again.html.contains(#"id="problem""#))
    }
    _ = try await app.type(["otp": otp], on: page)
    for _ in 0..<2 { #expect(try await app.type(["pin": "1357"], on: page).status == 403) }
    let end = try await app.type(["pin": "1357"], on: page)
    #expect(end.parameter("errorCode") == "too_many_attempts")
    #expect(try await app.type(["pin": "2468"], on: page).status == 400)
  }

  @Test("a GoPay log-in code is refused after its lifetime and once a resent code replaces it")
  func codes() async throws {
    let app = try GoPayApp()
    let page = try await app.loginPage()
    _ = try await app.type(["phone": GoPayApp.phone], on: page)
    let first = try await app.otp()
    app.wait(300)
    #expect(try await app.type(["otp": first], on: page).status == 403)
    _ = try await app.type([:], on: page, action: "resend")
    let second = try await app.otp()
    #expect(second != first)
    #expect(try await app.type(["otp": first], on: page).status == 403)
    #expect(try await app.type(["otp": second], on: page).html.contains(#"id="pin""#))
  }

  @Test(
    "an invalid phone number on the GoPay log-in page gets no SMS",
    arguments: ["", "7700900123", "+44x", "+123456"])
  func phones(_ text: String) async throws {
    let app = try GoPayApp()
    let again = try await app.type(["phone": text], on: app.loginPage())
    #expect(again.status == 403)
    #expect(await app.context.outbox.messages().isEmpty)
  }

  @Test(
    "GoPay redirects to the app with an error that names the invalid log-in parameter",
    arguments: [
      ["state": String(repeating: "s", count: 33)], ["state": nil], ["scopes": "ALL"],
      ["scopes": nil], ["lang": "fr"],
    ] as [[String: String?]])
  func refusedByRedirect(_ change: [String: String?]) async throws {
    let answer = try await GoPayApp().loginPage(change)
    #expect(answer.status == 303)
    #expect(answer.parameter("errorCode") == "invalid_request")
    let name = try #require(change.keys.first)
    #expect(answer.parameter("errorDesc")?.contains(name) == true)
    #expect(answer.parameter("authCode") == nil)
  }

  @Test(
    "GoPay shows an error page and does not redirect for an unknown merchant or redirect URL",
    arguments: [
      ["merchantId": "other"], ["merchantId": nil], ["redirectURL": nil],
      ["redirectURL": "https://evil.example/callback"],
      ["redirectURL": "http://127.0.0.1:5555/other"],
    ] as [[String: String?]])
  func refusedOnPage(_ change: [String: String?]) async throws {
    let answer = try await GoPayApp().loginPage(change)
    #expect(answer.status == 400)
    #expect(answer.location.isEmpty)
  }

  @Test("GoPay accepts the app's registered redirect URLs and the ones from a setting")
  func redirects() async throws {
    let app = try GoPayApp()
    for url in ["acme://gopay/callback", "https://partner.example/gopay/callback"] {
      let page = try await app.loginPage(["redirectURL": url])
      let end = try await app.type([:], on: page, action: "cancel")
      #expect(end.location.hasPrefix(url + "?"))
    }
    try await app.set(["redirectUrls": ["myapp:/back"]])
    #expect(try await app.loginPage(["redirectURL": "myapp:/back"]).status == 200)
  }

  @Test("a closed GoPay account ends the log-in with an error, and a setting changes the redirect")
  func bent() async throws {
    let app = try GoPayApp()
    try await app.set(["closedAccounts": ["alice"]])
    #expect(try await app.login().parameter("errorCode") == "account_closed")
    try await app.set([
      "closedAccounts": [], "loginReply": ["success": .null, "result": "success", "state": "x"],
    ])
    let end = try await app.login()
    #expect(end.parameter("result") == "success")
    #expect(end.parameter("success") == nil)
    #expect(end.parameter("state") == "x")
    #expect(end.parameter("authCode") != nil)
  }

  @Test("a GoPay log-in form with another page's transaction or an expired one is refused")
  func foreignForm() async throws {
    let app = try GoPayApp()
    let (one, two) = (try await app.loginPage(), try await app.loginPage())
    let mixed = try await app.type(
      ["transaction": try one.field("transaction"), "phone": GoPayApp.phone], on: two)
    #expect(mixed.status == 400)
    app.wait(900)
    #expect(try await app.type(["phone": GoPayApp.phone], on: one).status == 400)
    #expect(await app.context.outbox.messages().isEmpty)
  }
}
