import Foundation
import Testing

@testable import UsherSandbox

@Suite("Truecaller: odd answers on demand")
struct TruecallerAnswerTests {
  @Test("create can be as silent as the SDK is: neither a code nor a token nor a refusal")
  func silentCreate() async throws {
    let app = try TruecallerApp()
    try await app.set([
      "createReply": ["method": .null, "verificationToken": .null, "tokenTtl": .null]
    ])
    let answer = try await app.create()
    #expect(answer == TruecallerApp.Answer(status: 200, json: ["status": 0]))
    try await app.set(["createReply": ["tokenTtl": .null]])
    let withoutTime = try await app.create().json
    #expect(withoutTime["tokenTtl"] == nil)
    #expect(withoutTime["method"] == "sms")
    try await app.set(["createReply": .null, "tokenTtl": 7])
    #expect(try await app.create().json["tokenTtl"] == 7)
  }

  @Test("verify can leave the access token away, and create's token that needs no code too")
  func silentVerify() async throws {
    let app = try TruecallerApp()
    try await app.set([
      "verifyReply": ["accessToken": .null], "verifiedBeforeReply": ["status": 2],
    ])
    let token = try await app.create().json["verificationToken"]
    let code = try await app.code()
    #expect(try await app.verify(code, token).json == [:])
    #expect(try await app.create().json["status"] == 2)
    try await app.set(["verifyReply": ["code": 9, "message": "no"]])
    let refused = try await app.verify(code, token)
    #expect(refused.status == 200)
    #expect(refused.code == 9)
  }

  @Test("verify carries nothing by itself, on demand both members, be it as null")
  func carried() async throws {
    let app = try TruecallerApp()
    let token = try await app.create().json["verificationToken"]
    let code = try await app.code()
    let wrong = TruecallerApp.wrong(code)
    #expect(try await app.verify(wrong, token).json["verificationToken"] == nil)
    app.wait(10.5)
    try await app.set(["verifyCarries": "same"])
    let same = try await app.verify(wrong, token).json
    #expect(same["code"] == 4220)
    #expect(same["verificationToken"] == token)
    #expect(same["tokenTtl"] == 50)
    try await app.set(["verifyCarries": "null"])
    let wiped = try await app.verify(code, token).json
    #expect(wiped["verificationToken"] == .null)
    #expect(wiped["tokenTtl"] == .null)
    #expect(wiped["accessToken"]?.text != nil)
  }

  @Test("a verification token that verify brings takes the old one's place, and keeps its code")
  func renewed() async throws {
    let app = try TruecallerApp()
    try await app.set(["verifyCarries": "new"])
    let token = try await app.create().json["verificationToken"]
    let code = try await app.code()
    app.wait(50)
    let refused = try await app.verify(TruecallerApp.wrong(code), token).json
    let fresh = try #require(refused["verificationToken"])
    #expect(fresh != token)
    #expect(refused["tokenTtl"] == 60)
    #expect(try await app.verify(code, token).code == 4100)
    app.wait(50)
    let right = try await app.verify(code, fresh)
    #expect(right.json["accessToken"]?.text != nil)
    #expect(right.json["verificationToken"] != fresh)
  }

  @Test("the update can be refused, or say 200 with a refusal inside")
  func failingUpdate() async throws {
    let app = try TruecallerApp()
    let token = try await app.accessToken()
    try await app.set(["refuseNames": true])
    let refused = try await app.update(token)
    #expect([refused.status, refused.code] == [422, 4221])
    #expect(try await app.profile(token).json["firstName"] == nil)
    try await app.set([
      "refuseNames": false, "updateReply": ["code": 4221, "message": "no"],
    ])
    let inside = try await app.update(token)
    #expect([inside.status, inside.code] == [200, 4221])
  }

  @Test(
    "settings that nobody knows or that do not fit are refused, and the setting named",
    arguments: [
      ("nope", 1), ("tokenTtl", -1), ("tokenTtl", "60"), ("otpDigits", 3), ("otpDigits", 11),
      ("wrongCodeCap", -1), ("numberDailyCap", 1001), ("verifyCarries", "some"),
      ("validateNumber", "roman"), ("uncallable", ["9876543210"]), ("uncallable", "x"),
      ("unservedCountries", ["in"]), ("emptyMembers", "gone"), ("profileSignature", "odd"),
      ("createReply", 1),
    ] as [(String, JSON)])
  func refusedSettings(_ name: String, _ value: JSON) async throws {
    let app = try TruecallerApp()
    let before = try await app.control(.get, "settings").json
    let answer = try await app.control(.post, "settings", .object([name: value]))
    #expect(answer.status == 400)
    #expect(answer.json["error"] == "invalid_request")
    #expect(try await app.control(.get, "settings").json == before)
  }

  @Test("settings stay until they are brought back")
  func settings() async throws {
    let app = try TruecallerApp()
    let defaults = try await app.control(.get, "settings").json
    try await app.set(["tokenTtl": 5, "refuseNames": true])
    #expect(try await app.control(.get, "settings").json["tokenTtl"] == 5)
    try await app.set(["tokenTtl": .null])
    #expect(try await app.control(.get, "settings").json["refuseNames"] == true)
    #expect(try await app.control(.delete, "settings").json == defaults)
  }
}
