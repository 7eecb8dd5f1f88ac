import Foundation
import Testing

@testable import UsherSandbox

@Suite("GoPay's SNAP API in the sandbox")
struct SnapTests {
  @Test("SNAP issues a client token for a valid signature, with its lifetime in seconds as text")
  func b2b() async throws {
    let app = try GoPayApp()
    try await SnapPartner.register(app)
    let answer = try await SnapPartner.b2b(app)
    #expect(answer.status == 200)
    #expect(answer.responseCode == "2007300")
    #expect(answer.json["expiresIn"] == "900")
    #expect(answer.json["tokenType"] == "Bearer")
    try await app.set(["b2bSeconds": 5, "b2bReply": ["expiresIn": 5]])
    #expect(try await SnapPartner.b2b(app).json["expiresIn"] == 5)
  }

  @Test("SNAP refuses an RSA signature with a changed byte or a non-canonical encoding")
  func wrongRSA() async throws {
    let app = try GoPayApp()
    try await SnapPartner.register(app)
    let right = try SnapPartner.rsa("acme-sdk|\(SnapPartner.timestamp(app))")
    for index in [0, 1, 100, 254, 255] {
      var wrong = right
      wrong[wrong.startIndex + index] ^= 1
      let answer = try await SnapPartner.b2b(app) {
        $0["x-signature"] = wrong.base64EncodedString()
      }
      #expect(answer.responseCode == "4017300", "\(index)")
      #expect(answer.status == 401)
    }
    // The last letter before the padding has four unused bits.
    let encoded = right.base64EncodedString()
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    let last = try #require(letters.firstIndex(of: encoded.dropLast(2).last ?? "="))
    let sloppy = encoded.dropLast(3) + [letters[last + 1]] + "=="
    for text in [String(sloppy), encoded + "\n", "x", Hex.text(right)] {
      let answer = try await SnapPartner.b2b(app) { $0["x-signature"] = text }
      #expect(answer.responseCode == "4017300")
    }
  }

  @Test(
    "SNAP accepts RSA signatures only of the public key that is registered at the moment")
  func keys() async throws {
    let app = try GoPayApp()
    #expect(try await SnapPartner.b2b(app).responseCode == "4017300")
    try await SnapPartner.register(app)
    #expect(try await SnapPartner.b2b(app).responseCode == "2007300")
    let pair = try await app.control(.get, "key").json
    #expect(pair["privateKey"]?.text?.hasPrefix("-----BEGIN PRIVATE KEY-----\n") == true)
    #expect(pair["publicKey"]?.text?.hasPrefix("-----BEGIN PUBLIC KEY-----\n") == true)
    #expect(try await app.control(.get, "key").json == pair)
    #expect(try await SnapPartner.b2b(app).responseCode == "4017300")
    _ = try await app.control(.post, "key", ["publicKey": pair["publicKey"] ?? .null])
    #expect(try await app.control(.post, "key", ["publicKey": "x"]).status == 400)
    _ = try await app.control(.delete, "key")
    #expect(try await app.control(.get, "key").json != pair)
  }

  @Test("SNAP tolerates a clock skew of five minutes in both directions and not one second more")
  func skew() async throws {
    let app = try GoPayApp()
    let partner = try await SnapPartner(app)
    for seconds in [-300.0, 300] {
      #expect(try await SnapPartner.b2b(app, off: seconds).responseCode == "2007300")
      #expect(try await partner.bind(partner.code(), off: seconds).responseCode == "2000700")
    }
    for seconds in [-301.0, 301, 86_400] {
      #expect(try await SnapPartner.b2b(app, off: seconds).responseCode == "4017300")
      let code = try await partner.code()
      #expect(try await partner.bind(code, off: seconds).responseCode == "4010700")
      #expect(try await partner.bind(code).responseCode == "2000700")
    }
    try await app.set(["skewSeconds": 0])
    #expect(try await SnapPartner.b2b(app, off: 1).responseCode == "4017300")
  }

  @Test(
    "SNAP issues no client token if a header, the client or the body is missing or wrong",
    arguments: [
      ("x-client-key", nil, "4007300"), ("x-timestamp", nil, "4007300"),
      ("x-signature", nil, "4007300"), ("x-client-key", "other", "4017300"),
      ("x-timestamp", "yesterday", "4017300"),
    ] as [(String, String?, String)])
  func wrongB2B(_ header: String, _ value: String?, _ code: String) async throws {
    let app = try GoPayApp()
    try await SnapPartner.register(app)
    let answer = try await SnapPartner.b2b(app) { $0[header] = value }
    #expect(answer.responseCode == code)
    #expect(answer.status == Int(code.prefix(3)))
    for body in ["{}", "[]", "", #"{"grantType":"password"}"#, #"{"grantType":1}"#] {
      #expect(try await SnapPartner.b2b(app, body: body).responseCode == "4007300", "\(body)")
    }
  }

  @Test("SNAP redeems an auth code once, within six minutes, and not for a closed account")
  func authCodes() async throws {
    let app = try GoPayApp()
    let partner = try await SnapPartner(app)
    let (early, late) = (try await partner.code(), try await partner.code())
    app.wait(359)
    #expect(try await partner.bind(early).responseCode == "2000700")
    #expect(try await partner.bind(early).responseCode == "4040711")
    app.wait(1)
    #expect(try await partner.bind(late).responseCode == "4040711")
    let code = try await partner.code()
    try await app.set(["closedAccounts": ["alice"]])
    #expect(try await partner.bind(code).responseCode == "4040705")
    try await app.set(["closedAccounts": []])
    #expect(try await partner.bind(code).responseCode == "2000700")
  }

  @Test("SNAP refuses an HMAC signature with a changed byte and leaves the auth code unspent")
  func wrongHMAC() async throws {
    let app = try GoPayApp()
    let partner = try await SnapPartner(app)
    let code = try await partner.code()
    for index in [0, 31, 63] {
      let answer = try await partner.bind(code) { headers in
        var bytes = Data(base64Encoded: headers["x-signature"] ?? "") ?? Data()
        bytes[index] ^= 1
        headers["x-signature"] = bytes.base64EncodedString()
      }
      #expect(answer.responseCode == "4010700", "\(index)")
      #expect(answer.status == 401)
    }
    #expect(try await partner.bind(code).responseCode == "2000700")
    let unbound = try await partner.unbind("Bearer long-term-token") {
      $0["x-signature"]?.removeLast()
    }
    #expect(unbound.responseCode == "4010900")
  }

  @Test("SNAP accepts the scheme of both tokens in any letter case (RFC 7235, section 2.1)")
  func scheme() async throws {
    let app = try GoPayApp()
    let partner = try await SnapPartner(app)
    let code = try await partner.code()
    let bound = try await partner.bind(code) { $0["authorization"] = "bearer \(partner.token)" }
    #expect(bound.responseCode == "2000700")
    #expect(try await partner.unbind("bearer long-term-token").responseCode == "2000900")
  }

  @Test("the SNAP signature covers the minified body, the access token and the timestamp")
  func covered() async throws {
    let app = try GoPayApp()
    let partner = try await SnapPartner(app)
    let name = "registration-account-binding"
    let body = SnapPartner.binding(try await partner.code())
    #expect(
      try await partner.call(name, body + " ", signedBody: body + " ").responseCode == "4010700")
    let other = SnapPartner.binding("gac_other")
    #expect(try await partner.call(name, body, signedBody: other).responseCode == "4010700")
    let elsewhere = try await partner.call("registration-account-unbinding", body)
    #expect(elsewhere.responseCode == "4000902")
    let later = SnapPartner.timestamp(app, 1)
    #expect(
      try await partner.call(name, body) { $0["x-timestamp"] = later }.responseCode == "4010700")
    let second = try await SnapPartner(app)
    #expect(
      try await partner.call(name, body) { $0["authorization"] = "Bearer \(second.token)" }
        .responseCode == "4010700")
    // The signature covers the minified body, so additional whitespace is accepted.
    #expect(try await partner.call(name, body + " ", signedBody: body).responseCode == "2000700")
  }

  @Test("SNAP accepts an X-EXTERNAL-ID once in 24 hours, even if its call was refused")
  func externalIDs() async throws {
    let app = try GoPayApp()
    let partner = try await SnapPartner(app)
    #expect(try await partner.bind("gac_nope", externalID: "7").responseCode == "4040711")
    let code = try await partner.code()
    let used = try await partner.bind(code, externalID: "7")
    #expect(used.responseCode == "4090700")
    #expect(used.status == 409)
    #expect(try await partner.bind(code, externalID: "8").responseCode == "2000700")
    app.wait(86_400)
    let fresh = try await SnapPartner(app)
    #expect(try await fresh.bind(code, externalID: "8").responseCode == "4040711")
    for id in ["abc", "1-2", String(repeating: "1", count: 37)] {
      #expect(try await fresh.bind(code, externalID: id).responseCode == "4000702", "\(id)")
    }
    // A call with a wrong signature does not use up its X-EXTERNAL-ID.
    _ = try await fresh.bind(code, externalID: "9") { $0["x-signature"] = "x" }
    #expect(try await fresh.bind(code, externalID: "9").responseCode == "4040711")
  }

  @Test(
    "SNAP refuses an account binding with a missing or wrong header with the matching code",
    arguments: [
      ("authorization", nil, "4000702"), ("x-timestamp", nil, "4000702"),
      ("x-signature", nil, "4000702"), ("x-partner-id", nil, "4000702"),
      ("x-external-id", nil, "4000702"), ("channel-id", nil, "4000702"),
      ("authorization", "Bearer b2b_nope", "4010701"), ("x-partner-id", "other", "4010700"),
      ("channel-id", "1", "4010700"), ("x-timestamp", "now", "4010700"),
    ] as [(String, String?, String)])
  func wrongBinding(_ header: String, _ value: String?, _ code: String) async throws {
    let app = try GoPayApp()
    let partner = try await SnapPartner(app)
    let answer = try await partner.bind(partner.code()) { $0[header] = value }
    #expect(answer.responseCode == code)
  }

  @Test("SNAP refuses a client token that is expired, ended or sent without Bearer with 4010701")
  func clientTokens() async throws {
    let app = try GoPayApp()
    let partner = try await SnapPartner(app)
    let code = try await partner.code()
    let bare = try await partner.bind(code) { $0["authorization"] = partner.token }
    #expect(bare.responseCode == "4010701")
    _ = try await app.control(.post, "endB2BTokens")
    #expect(try await partner.bind(code).responseCode == "4010701")
    let next = try await SnapPartner(app)
    app.wait(900)
    #expect(try await next.bind(code).responseCode == "4010701")
  }

  @Test("SNAP refuses a malformed binding body with 4000702 and another merchant with 4010700")
  func wrongBody() async throws {
    let app = try GoPayApp()
    let partner = try await SnapPartner(app)
    let code = try await partner.code()
    let merchant = GoPayApp.merchant
    for body in [
      "", "[]", #"{"merchantId":"\#(merchant)"}"#, #"{"authCode":"\#(code)"}"#,
      #"{"merchantId":"\#(merchant)","authCode":"\#(code)"}"#,
      #"{"merchantId":"\#(merchant)","authCode":"\#(code)","grantType":"CODE"}"#,
      #"{"merchantId":"\#(merchant)","authCode":"\#(code)","grantType":"AUTHORIZATION_CODE","x":1}"#,
    ] {
      let answer = try await partner.call("registration-account-binding", body)
      #expect(answer.responseCode == "4000702", "\(body)")
    }
    let other = SnapPartner.binding(code, merchant: "other")
    let answer = try await partner.call("registration-account-binding", other)
    #expect(answer.responseCode == "4010700")
  }

  @Test("SNAP unbinding ends a linking token, which must be valid and sent with Bearer")
  func unbind() async throws {
    let app = try GoPayApp()
    let partner = try await SnapPartner(app)
    #expect(try await partner.unbind("long-term-token").responseCode == "4010902")
    #expect(try await partner.unbind("Bearer nope").responseCode == "4010902")
    #expect(try await partner.unbind("Bearer expired-token").responseCode == "4010902")
    #expect(try await partner.unbind(nil).responseCode == "4000902")
    let deviceless = try await partner.unbind("Bearer long-term-token") { $0["x-device-id"] = nil }
    #expect(deviceless.responseCode == "4000902")
    let other = try await partner.unbind("Bearer long-term-token", merchant: "other")
    #expect(other.responseCode == "4010900")
    try await app.set(["shortTermSeconds": 1])
    _ = try await app.control(.post, "tokens", ["term": "short", "token": "mine"])
    app.wait(1)
    #expect(try await partner.unbind("Bearer mine").responseCode == "4010902")
    #expect(try await app.temporaryToken().status == 200)
    #expect(try await partner.unbind("Bearer long-term-token").responseCode == "2000900")
    #expect(try await app.temporaryToken().status == 401)
    #expect(try await partner.unbind("Bearer long-term-token").responseCode == "4040905")
  }
}
