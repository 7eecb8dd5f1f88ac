import Foundation
import Testing

@testable import UsherSandbox

@Suite("Freedom ID log-ins from a device in the sandbox")
struct FreedomLoginTests {
  @Test("a Freedom ID code by SMS ties the account to the device, with tokens for 7 and 28 days")
  func otp() async throws {
    let app = try FreedomApp()
    #expect(try await app.device(.get, "accounts").json == ["accounts": []])
    let answer = try await app.device(.post, "login/otp", ["phone": "+447700900123"])
    #expect(answer.json["channel"] == "sms")
    #expect(answer.json["masked_target"] == "+4 ••• 23")
    #expect(answer.json["digits"] == 6)
    #expect(answer.json["attempts_left"] == 5)
    #expect(answer.json["expire_at"] == "2027-01-15T08:05:00.000000Z")
    let challenge = try #require(answer.json["challenge_id"]?.text)
    let done = try await app.verify(challenge, try await app.code())
    #expect(done.status == 200)
    let id = try await app.id("alice")
    let account: JSON = ["id": .string(id), "label": "+4 ••• 23"]
    #expect(done.json["account"] == account)
    #expect(done.json["access_expire_at"] == "2027-01-22T08:00:00.000000Z")
    #expect(done.json["refresh_expire_at"] == "2027-02-12T08:00:00.000000Z")
    for name in ["access_token", "refresh_token"] {
      let token = try #require(done.json[name]?.text)
      #expect(token.utf8.count == 128)
      #expect(token.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) })
    }
    #expect(try await app.device(.get, "accounts").json == ["accounts": [account]])
    #expect(try await app.verify(challenge, "000000").freedomCode == 100_203)
  }

  @Test("a Freedom ID password is right with each number and address of its account, and no other")
  func passwords() async throws {
    let app = try FreedomApp()
    let alice = try await app.id("alice")
    let names: [[String: JSON]] = [
      ["phone": "+447700900123"], ["phone": "+447700900124"], ["email": "Alice@Example.com"],
      ["email": "alice.adams@example.com"],
    ]
    for name in names {
      let body = name.merging(["password": "alice-password"]) { $1 }
      let answer = try await app.device(.post, "login/password", .object(body))
      #expect(answer.json["account"]?["id"]?.text == alice, "\(name)")
    }
    #expect(try await app.list("accounts").count == 1)
    #expect(try await app.password("bob-password").freedomCode == 100_201)
    #expect(try await app.password("alice-password", phone: "+447700900456").status == 401)
  }

  @Test("Freedom ID answers and locks an unknown number like a known one with a wrong password")
  func alike() async throws {
    let app = try FreedomApp()
    for status in [401, 401, 401, 401, 423] {
      let known = try await app.password("nope")
      let unknown = try await app.password("nope", phone: "+447700900999")
      #expect(known.status == status)
      #expect(known.reply == unknown.reply)
    }
  }

  @Test("a locked Freedom ID account refuses every log-in until its lock expires or is removed")
  func locked() async throws {
    let app = try FreedomApp()
    for _ in 0..<5 { _ = try await app.password("nope") }
    let locked = try await app.password()
    #expect(locked.status == 423)
    #expect(locked.reply.headers["Retry-After"] == "300")
    app.wait(100.5)
    #expect(try await app.password().reply.headers["Retry-After"] == "200")
    let otp = try await app.device(.post, "login/otp", ["phone": "+447700900123"])
    #expect(otp.freedomCode == 100_204)
    #expect(try await app.password("bob-password", phone: "+447700900456").status == 200)
    app.wait(199.5)
    #expect(try await app.password("nope").status == 401)
    #expect(try await app.password().status == 200)
    for _ in 0..<5 { _ = try await app.password("nope") }
    #expect(try await app.control(.post, "unlock").status == 200)
    #expect(try await app.password().status == 200)
  }

  @Test("Freedom ID counts wrong passwords and codes together, and a full log-in resets the count")
  func counted() async throws {
    let app = try FreedomApp()
    for _ in 0..<3 { _ = try await app.password("nope") }
    #expect(try await app.password().status == 200)
    for _ in 0..<3 { _ = try await app.password("nope") }
    let challenge = try await app.otp()
    let wrong = try await app.verify(challenge, "x")
    #expect(wrong.json["error"]?["attempts_left"] == 1)
    #expect(try await app.verify(challenge, "x").freedomCode == 100_204)
    #expect(try await app.verify(challenge, try await app.code()).freedomCode == 100_204)
  }

  @Test("the used attempts of a Freedom ID challenge carry over to the resent challenge")
  func carried() async throws {
    let app = try FreedomApp()
    let challenge = try await app.otp()
    for _ in 0..<3 { _ = try await app.verify(challenge, "x") }
    app.wait(60)
    let next = try await app.device(.post, "login/resend", ["challenge_id": .string(challenge)])
    #expect(next.json["attempts_left"] == 2)
    let id = try #require(next.json["challenge_id"]?.text)
    #expect(try await app.verify(id, "x").json["error"]?["attempts_left"] == 1)
    #expect(try await app.verify(id, "x").status == 423)
    app.wait(300)
    #expect(try await app.verify(id, try await app.code()).freedomCode == 100_203)
  }

  @Test(
    "Freedom ID resends a code after 60 seconds at the earliest and repeats the reply on a retry")
  func resent() async throws {
    let app = try FreedomApp()
    let challenge = try await app.otp()
    let first = try await app.code()
    let body: JSON = ["challenge_id": .string(challenge)]
    app.wait(20)
    let early = try await app.device(.post, "login/resend", body)
    #expect(early.status == 429)
    #expect(early.freedomCode == 100_205)
    #expect(early.reply.headers["Retry-After"] == "40")
    app.wait(300)
    let next = try await app.device(.post, "login/resend", body)
    let again = try await app.device(.post, "login/resend", body)
    #expect(next.json == again.json)
    #expect(await app.context.outbox.messages(to: FreedomApp.phone).count == 2)
    #expect(try await app.verify(challenge, first).freedomCode == 100_203)
    let id = try #require(next.json["challenge_id"]?.text)
    #expect(try await app.verify(id, try await app.code()).status == 200)
  }

  @Test("a Freedom ID code is refused on another device and after its lifetime")
  func expired() async throws {
    let app = try FreedomApp()
    let challenge = try await app.otp()
    let code = try await app.code()
    let elsewhere = FreedomApp.app.merging([
      "x-device-id": "00000000-0000-4000-8000-000000000000"
    ]) { $1 }
    let stolen = try await app.device(
      .post, "login/otp/verify", ["challenge_id": .string(challenge), "code": .string(code)],
      headers: elsewhere)
    #expect(stolen.freedomCode == 100_203)
    app.wait(300)
    let late = try await app.verify(challenge, code)
    #expect(late.status == 410)
    #expect(late.freedomCode == 100_203)
  }

  @Test("five wrong second factors lock a Freedom ID account although the password was right")
  func guessed() async throws {
    let app = try FreedomApp()
    _ = try await app.control(.post, "people/alice", ["twoFactor": "sms"])
    for _ in 0..<4 {
      let id = try await app.password().json["two_factor"]?["challenge_id"]?.text ?? ""
      #expect(try await app.verify(id, "x", "login/two-factor").status == 422)
    }
    let id = try await app.password().json["two_factor"]?["challenge_id"]?.text ?? ""
    #expect(try await app.verify(id, "x", "login/two-factor").status == 423)
    #expect(try await app.password().status == 423)
  }
}
