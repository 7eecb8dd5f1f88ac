import Foundation
import Testing

@testable import UsherSandbox

@Suite("Freedom ID devices and consents in the sandbox")
struct FreedomDeviceTests {
  @Test("every Freedom ID device route checks the API key and the device id")
  func checked() async throws {
    let app = try FreedomApp()
    let routes: [(Endpoint.Method, String)] = [
      (.get, "accounts"), (.post, "login/otp"), (.post, "login/otp/verify"),
      (.post, "login/password"), (.post, "login/two-factor"), (.post, "login/resend"),
      (.patch, "token"), (.delete, "token"), (.post, "consent"),
    ]
    let device = ["x-device-id": FreedomApp.device]
    let key = ["x-api-key": "s3cret:freedom/api-key"]
    let wrong: [([String: String], Int, JSON)] = [
      (device, 401, 100_001),
      (device.merging(["x-api-key": "nope"]) { $1 }, 401, 100_001),
      (device.merging(["x-api-key": "s3cret:freedom/partner-key"]) { $1 }, 403, 100_003),
      (key, 401, 100_002),
      (key.merging(["x-device-id": "this-machine"]) { $1 }, 401, 100_002),
    ]
    for (method, path) in routes {
      for (headers, status, code) in wrong {
        let answer = try await app.device(method, path, [:], headers: headers)
        #expect(answer.status == status)
        #expect(answer.freedomCode == code)
      }
    }
    try await app.set(["knowsDevices": false])
    #expect(try await app.device(.get, "accounts").freedomCode == 100_002)
  }

  @Test(
    "Freedom ID names missing, wrong and unknown members and refuses a body that is not an object")
  func invalid() async throws {
    let app = try FreedomApp()
    let empty = try await app.device(.post, "login/password", [:])
    #expect(empty.status == 422)
    #expect(empty.freedomErrors == ["password": ["is missing"]])
    let both = try await app.device(
      .post, "login/password",
      ["phone": "+447700900123", "email": "a@b", "password": "x", "more": 1])
    #expect(both.freedomErrors?["phone"] != nil)
    #expect(both.freedomErrors?["more"] == ["is not a known member"])
    let phone = try await app.device(.post, "login/otp", ["phone": "447700900123"])
    #expect(phone.freedomErrors == ["phone": ["is not + and 10 to 15 digits"]])
    #expect(try await app.device(.post, "login/otp", ["x"]).status == 400)
    #expect(try await app.device(.post, "login/otp").status == 400)
  }

  @Test(
    "Freedom ID renews device tokens only for the refresh token, and the old tokens stop working")
  func renewed() async throws {
    let app = try FreedomApp()
    let tied = try await app.tied()
    #expect(try await app.device(.patch, "token", bearer: tied.access).freedomCode == 100_004)
    #expect(try await app.device(.patch, "token").freedomCode == 100_004)
    let before = try await app.list("accounts")
    app.wait(3600)
    let renewed = try await app.device(.patch, "token", bearer: tied.refresh)
    #expect(renewed.json["access_expire_at"] == "2027-01-22T09:00:00.000000Z")
    #expect(renewed.json["id"] == before[0]["tokenId"])
    #expect(try await app.device(.patch, "token", bearer: tied.refresh).freedomCode == 100_004)
    #expect(try await app.consent(tied, ["read.phone"]).freedomCode == 100_004)
    let access = try #require(renewed.json["access_token"]?.text)
    let fresh = FreedomApp.Tied(access: access, refresh: "")
    #expect(try await app.consent(fresh, ["read.phone"]).status == 200)
    #expect(try await app.list("accounts") == before)
  }

  @Test(
    "Freedom ID device tokens end by time, by another log-in and by the expireTokens control call")
  func ended() async throws {
    let app = try FreedomApp()
    let first = try await app.tied()
    let second = try await app.tied()
    #expect(try await app.consent(first, ["read.phone"]).freedomCode == 100_004)
    _ = try await app.control(.post, "expireTokens")
    #expect(try await app.consent(second, ["read.phone"]).freedomCode == 100_004)
    #expect(try await app.device(.patch, "token", bearer: second.refresh).status == 200)
    let third = try await app.tied()
    app.wait(7 * 86_400)
    #expect(try await app.consent(third, ["read.phone"]).freedomCode == 100_004)
    app.wait(21 * 86_400)
    #expect(try await app.device(.patch, "token", bearer: third.refresh).freedomCode == 100_004)
    let fourth = try await app.tied()
    _ = try await app.control(.post, "expireTokens", ["kind": "all"])
    #expect(try await app.device(.patch, "token", bearer: fourth.refresh).freedomCode == 100_004)
  }

  @Test("either Freedom ID token unties the account, but only on its own device")
  func untied() async throws {
    let app = try FreedomApp()
    let elsewhere = FreedomApp.app.merging([
      "x-device-id": "00000000-0000-4000-8000-000000000000"
    ]) { $1 }
    for useRefresh in [false, true] {
      let tied = try await app.tied()
      _ = try await app.control(.post, "expireTokens")
      let token = useRefresh ? tied.refresh : tied.access
      let foreign = try await app.device(.delete, "token", headers: elsewhere, bearer: token)
      #expect(foreign.freedomCode == 100_004)
      let gone = try await app.device(.delete, "token", bearer: token)
      #expect(gone.status == 204)
      #expect(try await app.device(.get, "accounts").json == ["accounts": []])
      #expect(try await app.device(.delete, "token", bearer: token).freedomCode == 100_004)
      #expect(try await app.device(.patch, "token", bearer: tied.refresh).status == 401)
    }
  }

  @Test("a Freedom ID consent takes known grants only, and a repeated request gets the same reply")
  func consents() async throws {
    let app = try FreedomApp()
    let tied = try await app.tied()
    let wrong = try await app.consent(
      tied, ["read.phone", "read.data_of_birth", "read.profile", 4])
    let complaint: JSON = ["is not known"]
    #expect(
      wrong.freedomErrors == ["grants.1": complaint, "grants.2": complaint, "grants.3": complaint])
    #expect(try await app.consent(tied, []).freedomErrors?["grants"] != nil)
    let first = try await app.consent(tied, ["read.phone", "read.phone", "read.email"])
    #expect(first.json["granted"] == ["read.phone", "read.email"])
    #expect(try await app.consent(tied, ["read.phone", "read.email"]).reply == first.reply)
    let other = try await app.consent(tied, ["read.firstname"])
    #expect(other.freedomErrors?["request_id"] != nil)
    #expect(try await app.list("consents").count == 1)
    try await app.set(["closedAccounts": ["alice"]])
    let closed = try await app.consent(
      tied, ["read.phone"], request: "00000000-0000-4000-8000-000000000001")
    #expect(closed.status == 403)
    #expect(closed.freedomCode == 100_301)
  }

  @Test("settings make a Freedom ID consent return surplus fields, more grants or another account")
  func bent() async throws {
    let app = try FreedomApp()
    let tied = try await app.tied()
    try await app.set(["extraProfileFields": true])
    let extra = try await app.consent(tied, ["read.phone"]).json
    #expect(extra["granted"] == ["read.phone"])
    #expect(extra["profile"]?["never_asked"] == "surplus")
    #expect(extra["profile"]?["email"] == "alice@example.com")
    try await app.set(["extraProfileFields": false, "grantsNeverAsked": true])
    let more = try await app.consent(tied, ["read.phone"]).json
    #expect(more["granted"] == ["read.phone", "read.date_of_birth"])
    try await app.set(["grantsNeverAsked": false, "otherAccount": true])
    let other = try await app.consent(tied, ["read.phone"]).json
    #expect(other["id"]?.text == (try await app.id("bob")))
    try await app.set(["consentReply": ["profile": 1]])
    #expect(try await app.consent(tied, ["read.phone"]).json["profile"] == 1)
  }

  @Test("with errorsInside200, Freedom ID's refusals have status 200 and keep their Retry-After")
  func inside200() async throws {
    let app = try FreedomApp()
    try await app.set(["errorsInside200": true])
    let wrong = try await app.password("nope")
    #expect(wrong.status == 200 && wrong.freedomCode == 100_201)
    for _ in 0..<4 { _ = try await app.password("nope") }
    let locked = try await app.password()
    #expect(locked.status == 200 && locked.freedomCode == 100_204)
    #expect(locked.reply.headers["Retry-After"] == "300")
  }
}
