import Foundation
import Testing

@testable import UsherSandbox

@Suite("Scripted answers of the Truecaller fake")
struct TruecallerAnswerTests {
  @Test("settings replace or remove members of every Truecaller answer")
  func overrides() async throws {
    let app = try TruecallerApp()
    let created = try await app.create().json["verificationToken"]
    let code = try await app.code()
    let token = try await app.accessToken("9876543211", e164: "+919876543211")
    let detail = "/truecaller/validation/v1/otp/installation/phoneNumberDetail/\(token)"
    try await app.set([
      "createReply": ["method": .null, "verificationToken": .null, "tokenTtl": .null],
      "verifiedBeforeReply": ["status": 2], "verifyReply": ["accessToken": .null],
      "updateReply": ["code": 4221, "message": "no"],
      "profileReply": ["countryCode": .null, "gender": 7, "extra": [1]],
      "validateReply": ["phoneNumber": .null, "countryCode": "DE"],
    ])
    #expect(try await app.create("9876543212").json == ["status": 0])
    #expect(try await app.create("9876543211").json["status"] == 2)
    #expect(try await app.verify(code, created).json == [:])
    let updated = try await app.update(token)
    #expect([updated.status, updated.code] == [200, 4221])
    let profile = try await app.profile(token).json
    #expect(profile["countryCode"] == nil && profile["gender"] == 7 && profile["extra"] == [1])
    #expect(try await app.send(.get, detail).json == ["countryCode": "DE"])
    try await app.set(["createReply": .null, "tokenTtl": 7])
    #expect(try await app.create("9876543212").json["tokenTtl"] == 7)
    try await app.set(["refuseNames": true, "updateReply": .null])
    #expect(try await app.update(token).code == 4221)
  }

  @Test(
    "settings add the verification token and its lifetime, or null, to Truecaller's verify answer")
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

  @Test("a verification token renewed by a verify answer replaces the old one and keeps its code")
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

  @Test(
    "an unknown or invalid Truecaller setting is refused and changes nothing",
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

  @Test("Truecaller settings persist until they are reset, one by one or all")
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
