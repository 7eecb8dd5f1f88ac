import Foundation
import Testing

@testable import UsherSandbox

@Suite("Freedom ID profile requests and user records in the sandbox")
struct FreedomProfileTests {
  private static let request = "7d1e7d9a-8f8e-4a57-9f53-1f4b2a5f0a01"

  private func ask(
    _ app: FreedomApp, _ tokens: FreedomApp.Tied, _ change: [String: JSON] = [:]
  ) async throws -> FreedomApp.Answer {
    let body: [String: JSON] = [
      "request_id": .string(Self.request), "created_at": "2027-01-15T08:00:00.123Z",
      "phone": "+447700900456", "grants": ["read.firstname", "read.patronymic"],
    ]
    return try await app.partner(
      .post, "get-profile", .object(body.applying(overrides: change)),
      authorization: "Bearer \(tokens.access)")
  }

  private func status(
    _ app: FreedomApp, _ tokens: FreedomApp.Tied
  ) async throws -> JSON {
    try await app.partner(
      .get, "get-profile/status", ["request_id": .string(Self.request)],
      authorization: "Bearer \(tokens.access)"
    ).json
  }

  @Test("a Freedom ID profile request fails if the target user rejects it on their page")
  func rejected() async throws {
    let app = try FreedomApp()
    let tokens = try await app.partnerTokens()
    _ = try await ask(app, tokens)
    let page = try await app.signedIn("/freedomid/me", "bob@example.com", "bob-password")
    let key = try page.html.value(of: "reject")
    _ = try await app.type(["reject": key], on: page, to: "me")
    #expect(try await ask(app, tokens).json["status"] == "rejected")
    let status = try await status(app, tokens)
    #expect(status["status"] == "failed")
    #expect(status["status_message"] == "the person declined")
    #expect(status["profile"] == nil)
  }

  @Test("an accepted Freedom ID profile request can be fetched for an hour, with its grants only")
  func accepted() async throws {
    let app = try FreedomApp()
    let tokens = try await app.partnerTokens()
    #expect(try await ask(app, tokens).json["status"] == "pending")
    #expect(try await app.signedIn("/freedomid/me").html.contains(#"id="nothing""#))
    let page = try await app.signedIn("/freedomid/me", "bob@example.com", "bob-password")
    let key = try page.html.value(of: "accept")
    #expect(try await app.type(["accept": key], on: page, to: "me").html.contains("nothing"))
    #expect(try await status(app, tokens)["profile"] == ["firstname": "Bob", "patronymic": .null])
    #expect(try await ask(app, tokens).json["status"] == "accepted")
    app.wait(3600)
    #expect(try await status(app, tokens)["status"] == "not_found")
  }

  @Test("a control call or a setting decides the status of a Freedom ID profile request")
  func answers() async throws {
    let app = try FreedomApp()
    let tokens = try await app.partnerTokens()
    _ = try await ask(app, tokens)
    for (word, told) in [
      ("failed", "failed"), ("not_found", "not_found"), ("pending", "pending"),
      ("accepted", "completed"), ("rejected", "failed"), ("completed", "completed"),
    ] {
      let answer = try await app.control(
        .post, "requests/\(Self.request)", ["status": .string(word)])
      #expect(answer.status == 200)
      #expect(try await status(app, tokens)["status"]?.text == told)
    }
    try await app.set(["profileAnswer": "pending"])
    #expect(try await status(app, tokens)["status"] == "pending")
    for (setting, told) in [
      ("accept", "completed"), ("reject", "failed"), ("fail", "failed"), ("notFound", "not_found"),
    ] {
      let app = try FreedomApp()
      let tokens = try await app.partnerTokens()
      try await app.set(["profileAnswer": .string(setting)])
      _ = try await ask(app, tokens)
      #expect(try await status(app, tokens)["status"]?.text == told)
    }
  }

  @Test("a Freedom ID profile request is not_found if the target is unknown or after one day")
  func unknown() async throws {
    let app = try FreedomApp()
    let tokens = try await app.partnerTokens()
    #expect(try await status(app, tokens)["status"] == "not_found")
    let nobody = try await ask(app, tokens, ["phone": "+447700900999"])
    #expect(nobody.json["status"] == "pending")
    #expect(try await status(app, tokens)["status"] == "not_found")
    app.wait(3600)
    _ = try await ask(app, tokens)
    app.wait(86_399)
    #expect(try await status(app, tokens)["status"] == "pending")
    #expect(try await status(app, try await app.partnerTokens("bob"))["status"] == "not_found")
    app.wait(1)
    #expect(try await status(app, tokens)["status"] == "not_found")
  }

  @Test("a Freedom ID profile request needs read.profile and one target, and names invalid members")
  func refused() async throws {
    let app = try FreedomApp()
    let poor = try await app.partnerTokens("alice", ["read.phone"])
    #expect(try await ask(app, poor).freedomCode == 100_301)
    let tokens = try await app.partnerTokens()
    let both = try await ask(
      app, tokens, ["freedom_id": "7d1e7d9a-8f8e-4a57-9f53-1f4b2a5f0a01"])
    #expect(both.freedomErrors?["freedom_id"] != nil)
    #expect(try await ask(app, tokens, ["phone": .null]).freedomErrors?["freedom_id"] != nil)
    #expect(try await ask(app, tokens, ["created_at": "now"]).freedomErrors?["created_at"] != nil)
    #expect(try await ask(app, tokens, ["request_id": "1"]).freedomErrors?["request_id"] != nil)
  }

  @Test("a log-out at Freedom ID ends the person's partner tokens, and no device token")
  func loggedOut() async throws {
    let app = try FreedomApp()
    let (alice, bob) = (try await app.partnerTokens(), try await app.partnerTokens("bob"))
    let device = try await app.tied()
    let page = try await app.signedIn("/freedomid/me")
    #expect(try await app.type(["action": "logout"], on: page, to: "me").status == 200)
    let ended = try await app.partner(.get, "user", authorization: "Bearer \(alice.access)")
    #expect(ended.freedomCode == 100_004)
    let other = try await app.partner(.get, "user", authorization: "Bearer \(bob.access)")
    #expect(other.status == 200)
    #expect(try await app.consent(device, ["read.phone"]).status == 200)
  }

  @Test(
    "Freedom ID accepts the scheme of an access token in any letter case (RFC 7235, section 2.1)")
  func scheme() async throws {
    let app = try FreedomApp()
    let access = try await app.partnerTokens().access
    for scheme in ["Bearer", "bearer", "BEARER"] {
      let answer = try await app.partner(.get, "user", authorization: "\(scheme) \(access)")
      #expect(answer.status == 200, "\(scheme)")
    }
    let joined = try await app.partner(.get, "user", authorization: "Bearer\(access)")
    #expect(joined.freedomCode == 100_004)
  }

  @Test("Freedom ID refuses a name of more than 256 bytes, even if it is one character")
  func long() async throws {
    let app = try FreedomApp()
    let bob = JSON.string(try await app.id("bob"))
    let accents = String(repeating: "\u{301}", count: 127)
    let longest: JSON = ["freedom_id": bob, "firstname": .string("aa" + accents)]
    #expect(try await change(app, .put, longest).status == 200)
    let tooLong: JSON = ["freedom_id": bob, "firstname": .string("aaa" + accents)]
    #expect(try await change(app, .put, tooLong).freedomErrors?["firstname"] != nil)
  }

  private func change(
    _ app: FreedomApp, _ method: Endpoint.Method, _ body: JSON
  ) async throws -> FreedomApp.Answer {
    let tokens = try await app.partnerTokens()
    return try await app.partner(method, "user", body, authorization: "Bearer \(tokens.access)")
  }

  @Test("a created Freedom ID user signs in by a code to the number of the last update")
  func created() async throws {
    let app = try FreedomApp()
    let made = try await change(
      app, .post,
      ["phone": "+77770000001", "email": "dana@example.com", "firstname": "Dana"])
    let id = try #require(made.json["freedom_id"], "\(made.json)")
    let changed = try await change(
      app, .put, ["freedom_id": id, "phone": "+77770000002", "email": "dana@example.com"])
    #expect(changed.json == ["freedom_id": id])
    let challenge = try await app.otp("+77770000002")
    let done = try await app.verify(challenge, try await app.code(to: "+77770000002"))
    #expect(done.json["account"]?["id"] == id)
    _ = try await app.otp("+77770000001")
    #expect(await app.context.outbox.messages(to: "+77770000001").isEmpty)
  }

  @Test("Freedom ID names each invalid member of a user and refuses the contacts of another user")
  func wrong() async throws {
    let app = try FreedomApp()
    let answer = try await change(
      app, .post,
      [
        "email": "no", "date_of_birth": "2001-02-29", "country": "kaz", "gender": "X",
        "firstname": "", "freedom_id": "x",
      ])
    #expect(answer.status == 422)
    guard case .object(let errors)? = answer.freedomErrors else {
      Issue.record("the reply has no errors: \(answer.json)")
      return
    }
    #expect(
      Set(errors.keys) == [
        "phone", "email", "date_of_birth", "country", "gender", "firstname", "freedom_id",
      ])
    let taken = try await change(
      app, .post, ["phone": "+447700900124", "email": "BOB@example.com"])
    #expect(
      taken.freedomErrors
        == ["phone": ["is used by another account"], "email": ["is used by another account"]])
    let bob = JSON.string(try await app.id("bob"))
    #expect(
      try await change(app, .put, ["freedom_id": bob, "phone": "+447700900456"]).status == 200)
    #expect(
      try await change(app, .put, ["freedom_id": bob, "phone": "+447700900123"]).status == 422)
    #expect(try await change(app, .put, [:]).freedomErrors?["freedom_id"] == ["is missing"])
    let nobody = try await change(
      app, .put, ["freedom_id": "7d1e7d9a-8f8e-4a57-9f53-1f4b2a5f0a01"])
    #expect(nobody.freedomErrors?["freedom_id"] == ["is not known"])
  }
}

extension String {
  /// Returns the value of the first button with this name.
  fileprivate func value(of name: String) throws -> String {
    let tail = try #require(components(separatedBy: #"name="\#(name)" value=""#).dropFirst().first)
    return String(tail.prefix { $0 != "\"" })
  }
}
