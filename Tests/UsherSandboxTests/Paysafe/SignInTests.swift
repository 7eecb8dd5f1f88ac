import Foundation
import Testing

@testable import UsherSandbox

@Suite("Sign-in pages of the Paysafe fake")
struct PaysafeSignInTests {
  @Test("a Paysafe username and its e-mail address both sign in and share one count of failures")
  func address() async throws {
    let bank = try Bank()
    let page = try await bank.authorize(["login_hint": "alice@example.com"])
    #expect(page.text.contains(#"value="alice@example.com""#))
    for name in ["alice", "alice@example.com", "alice", "alice"] {
      #expect(try await bank.login(on: page, ["username": name, "pin": "0"]).status == 403)
    }
    let right = ["username": "alice@example.com", "pin": "2468"]
    #expect(try await bank.login(on: page, right).status == 303)
    let again = try await bank.authorize()
    for name in ["alice", "alice@example.com", "alice", "alice", "alice"] {
      _ = try await bank.login(on: again, ["username": name, "pin": "0"])
    }
    #expect(try await bank.login(on: again, right).text.contains("locked"))
  }

  @Test("a Paysafe sign-in page leads back once, whether the user signs in or denies")
  func once() async throws {
    let bank = try Bank()
    let right = ["username": "alice", "pin": "2468"]
    for (fields, parameter) in [(right, "code"), (["action": "deny"], "error")] {
      let page = try await bank.authorize()
      let parameters = try await bank.login(on: page, fields).parameters()
      #expect(Set(parameters.keys).isSuperset(of: [parameter, "state"]))
      #expect(try await bank.login(on: page, right).status == 400)
    }
  }

  @Test("the brand or login_strategy decides if Paysafe's sign-in page asks for PIN or password")
  func strategies() async throws {
    let bank = try Bank()
    func asksForPIN(_ brand: String, _ strategy: String?) async throws -> Bool {
      let page = try await bank.authorize(["login_strategy": strategy], brand: brand)
      #expect(page.status == 200)
      return page.text.contains(#"id="pin""#)
    }
    #expect(try await asksForPIN("acme", nil))
    #expect(try await !asksForPIN("globex", nil))
    #expect(try await !asksForPIN("acme", "PASSWORD"))
    #expect(try await asksForPIN("globex", "PIN"))
    let page = try await bank.authorize(brand: "globex")
    let reply = try await bank.login(
      on: page, ["username": "bob", "password": "bob-password"], brand: "globex")
    #expect(reply.status == 303)
  }

  @Test("the Paysafe sign-in page refuses a password or nothing in place of the PIN")
  func wrongKind() async throws {
    let bank = try Bank()
    for fields in [["password": "alice-password"], ["pin": "alice-password"], ["pin": ""], [:]] {
      let page = try await bank.authorize()
      let reply = try await bank.login(
        on: page, ["username": "alice"].merging(fields) { $1 })
      #expect(reply.status == 403)
    }
  }

  @Test("the Paysafe sign-in page shows the reset link and the locale and escapes the login hint")
  func page() async throws {
    let bank = try Bank()
    let page = try await bank.authorize([
      "reset_credentials_url": "https://partner.example/reset?a=1", "locale": "en-GB",
      "login_hint": "\"><script>",
    ])
    #expect(page.text.contains(#"<a id="reset" href="https://partner.example/reset?a"#))
    #expect(page.text.contains(#"<span id="locale">en-GB</span>"#))
    #expect(!page.text.contains("<script>"))
    let plain = try await bank.authorize()
    #expect(!plain.text.contains(#"id="reset""#))
    #expect(!plain.text.contains(#"id="locale""#))
  }

  @Test(
    "Paysafe shows an error page and does not redirect for an unknown client or redirect URI",
    arguments: [
      ["client_id": "nobody"], ["client_id": nil], ["redirect_uri": nil],
      ["redirect_uri": "http://evil.example/callback"],
      ["redirect_uri": "http://127.0.0.1:5555/other"],
      ["redirect_uri": "https://partner.example/wallet/callback/"],
      ["redirect_uri": "http://localhost:5555/callback"],
    ] as [[String: String?]])
  func neverRedirects(_ changes: [String: String?]) async throws {
    let reply = try await Bank().authorize(changes)
    #expect(reply.status == 400)
    #expect(reply.headers["Location"] == nil)
    #expect(reply.text.contains("development tool"))
  }

  @Test("an unknown Paysafe brand has no sign-in page and issues no tokens")
  func unknownBrand() async throws {
    let bank = try Bank()
    #expect(try await bank.authorize(brand: "initech").status == 404)
    let reply = try await bank.token(["grant_type": "client_credentials"], brand: "initech")
    #expect(reply.status == 404)
    #expect(reply.error == "invalid_request")
  }

  @Test(
    "any other invalid Paysafe authorization request redirects to the client with an error",
    arguments: [
      (["response_type": "token"], "unsupported_response_type"),
      (["response_type": nil], "unsupported_response_type"),
      (["code_challenge": nil], "invalid_request"),
      (["code_challenge": "short"], "invalid_request"),
      (["code_challenge_method": "plain"], "invalid_request"),
      (["code_challenge_method": nil], "invalid_request"),
      (["state": nil], "invalid_request"),
      (["login_strategy": "pin"], "invalid_request"),
      (["login_strategy": "FACE"], "invalid_request"),
      (["locale": "en_GB"], "invalid_request"),
      (["locale": "english-language"], "invalid_request"),
      (["reset_credentials_url": "javascript:alert(1)"], "invalid_request"),
      (["reset_credentials_url": "partner.example"], "invalid_request"),
      (["reset_credentials_url": "https://user@partner.example"], "invalid_request"),
      (["login_hint": String(repeating: "x", count: 257)], "invalid_request"),
      (["digital_fingerprint": "df_made_up"], "invalid_request"),
    ] as [([String: String?], String)])
  func redirectedErrors(_ changes: [String: String?], _ error: String) async throws {
    let parameters = try await Bank().authorize(changes).parameters()
    #expect(parameters["error"] == error)
    #expect(parameters["code"] == nil)
  }

  @Test("a Paysafe authorization request with a repeated parameter is refused without a redirect")
  func repeated() async throws {
    var call = EndpointCall(.get, "/paysafe/auth/brands/acme/authorize", base: "")
    call.parameters = ["brandIdentity": "acme"]
    call.query = "client_id=acme-wallet&redirect_uri=x&redirect_uri=y"
    let reply = await (try Bank()).paysafe.authorize(call)
    #expect(reply.status == 400)
    #expect(reply.headers["Location"] == nil)
  }

  @Test("a Paysafe sign-in form of another brand or transaction, or an expired one, is refused")
  func forgedForms() async throws {
    let bank = try Bank()
    let right = ["username": "alice", "pin": "2468"]
    let page = try await bank.authorize()
    #expect(try await bank.login(on: page, right, brand: "globex").status == 400)
    #expect(
      try await bank.login(on: page, right.merging(["csrf": "cs_x"]) { $1 }).status == 400)
    #expect(
      try await bank.login(on: page, right.merging(["transaction": "tx_x"]) { $1 }).status == 400)
    bank.wait(601)
    #expect(try await bank.login(on: page, right).status == 400)
  }

  @Test("five wrong PINs in a row lock a Paysafe customer on every page for 15 minutes")
  func locked() async throws {
    let bank = try Bank()
    let page = try await bank.authorize()
    for number in 1...SignIns.attempts {
      let reply = try await bank.login(on: page, ["username": "alice", "pin": "0000"])
      #expect(reply.status == 403)
      #expect(reply.text.contains("locked") == (number == SignIns.attempts))
    }
    let right = ["username": "alice", "pin": "2468"]
    let again = try await bank.authorize()
    #expect(try await bank.login(on: again, right).text.contains("locked"))
    let bob = try await bank.login(on: again, ["username": "bob", "pin": "1357"])
    #expect(bob.status == 303)
    bank.wait(900)
    #expect(try await bank.login(on: bank.authorize(), right).status == 303)
  }

  @Test("a setting replaces parameters of Paysafe's authorization response")
  func bent() async throws {
    let bank = try Bank()
    try await bank.set(["authorizeResponse": ["state": "other", "iss": "x"]])
    let page = try await bank.authorize()
    let parameters = try await bank.login(on: page, ["username": "alice", "pin": "2468"])
      .parameters()
    #expect(parameters["state"] == "other")
    #expect(parameters["iss"] == "x")
  }

  @Test("a correct PIN resets the count of Paysafe failures, and unlockAll ends a lock")
  func unlocked() throws {
    var signIns = SignIns(tokenGenerator: TokenGenerator())
    func outcome(_ user: User?) -> SignIns.Failure? {
      do {
        _ = try signIns.authenticate(user, username: "alice", lockSeconds: 60, now: start)
        return nil
      } catch {
        return error
      }
    }
    for _ in 1..<SignIns.attempts { #expect(outcome(nil) == .wrong) }
    #expect(outcome(alice) == nil)
    for _ in 1..<SignIns.attempts { #expect(outcome(nil) == .wrong) }
    #expect(outcome(nil) == .locked)
    #expect(outcome(alice) == .locked)
    signIns.unlockAll()
    #expect(outcome(alice) == nil)
  }
}
