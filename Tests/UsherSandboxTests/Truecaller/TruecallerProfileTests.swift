import Foundation
import Testing

@testable import UsherSandbox

@Suite("Profiles of the Truecaller fake")
struct TruecallerProfileTests {
  @Test(
    "a Truecaller token is accepted only by the profile host of its country",
    arguments: [
      ("9876543210", "IN", "+919876543210", "noneu"), ("2025550123", "US", "+12025550123", "noneu"),
      ("15123456789", "DE", "+4915123456789", "eu"), ("7700900456", "GB", "+447700900456", "eu"),
      ("7700900456", "UK", "+447700900456", "eu"), ("457123456", "AX", "+358457123456", "eu"),
    ])
  func hosts(_ number: String, _ country: String, _ e164: String, _ host: String) async throws {
    let app = try TruecallerApp()
    let token = try await app.accessToken(number, country, e164: e164)
    let other = host == "eu" ? "noneu" : "eu"
    for answer in [
      try await app.update(token, at: other), try await app.profile(token, at: other),
    ] {
      #expect([answer.status, answer.code] == [401, 4011])
    }
    #expect(try await app.update(token, at: host).status == 200)
    let profile = try await app.profile(token, at: host).json
    #expect(profile["countryCode"] == .string(country))
    #expect(profile["phoneNumber"] == .string(String(e164.dropFirst())))
  }

  @Test("a sandbox user's Truecaller profile has a name and an e-mail; an update changes the name")
  func people() async throws {
    let app = try TruecallerApp()
    let token = try await app.accessToken("7700900123", "GB", e164: "+447700900123")
    let profile = try await app.profile(token, at: "eu").json
    #expect(profile["firstName"] == "Alice")
    #expect(profile["lastName"] == "Adams")
    #expect(profile["email"] == "alice@example.com")
    #expect(profile["isTrueName"] == true)
    _ = try await app.update(token, ["firstName": "Al", "lastName": ""], at: "eu")
    let changed = try await app.profile(token, at: "eu").json
    #expect(changed["firstName"] == "Al")
    #expect(changed["lastName"] == "")
    #expect(changed["email"] == "alice@example.com")
  }

  @Test(
    "Truecaller accepts the scheme of an access token in any letter case (RFC 7235, section 2.1)")
  func scheme() async throws {
    let app = try TruecallerApp()
    let token = try await app.accessToken()
    for scheme in ["bearer", "BEARER"] {
      let headers = TruecallerApp.headers.merging(["authorization": "\(scheme) \(token)"]) { $1 }
      let answer = try await app.send(.get, "/truecaller/noneu/v1/profile", headers: headers)
      #expect(answer.status == 200, "\(scheme)")
    }
  }

  @Test("a Truecaller profile call with a missing, unknown, expired or revoked token is refused")
  func tokens() async throws {
    let app = try TruecallerApp()
    try await app.set(["accessTokenSeconds": 100])
    let token = try await app.accessToken()
    for headers in [
      TruecallerApp.headers, TruecallerApp.bearing("tca_x"),
      TruecallerApp.headers.merging(["authorization": token]) { $1 },
    ] {
      let answer = try await app.send(.get, "/truecaller/noneu/v1/profile", headers: headers)
      #expect([answer.status, answer.code] == [401, 4011])
    }
    app.wait(99)
    #expect(try await app.profile(token).status == 200)
    app.wait(1)
    #expect(try await app.profile(token).code == 4011)
    let other = try await app.create().json["accessToken"]?.text ?? ""
    #expect(try await app.profile(other).status == 200)
    #expect(try await app.control(.post, "revokeAll").status == 200)
    #expect(try await app.profile(other).code == 4011)
    #expect(try await app.update(other).code == 4011)
  }

  @Test(
    "a Truecaller name needs a letter, at most 127 UTF-16 units and no control characters",
    arguments: [
      ("A", "", true), ("Åsa", "O'Neil-3", true), ("आशा", "राव", true), ("7 of 9", "x", true),
      (String(repeating: "a", count: 127), "", true),
      (String(repeating: "a", count: 125) + "😀", "", true),
      (String(repeating: "a", count: 128), "", false),
      (String(repeating: "a", count: 126) + "😀", "", false), ("", "", false), ("123", "", false),
      ("😀", "", false), ("!?", "", false), ("\u{301}", "", false), ("A\n", "", false),
      ("A", "1", false), ("A", " ", false), ("A", String(repeating: "a", count: 128), false),
    ])
  func names(_ first: String, _ last: String, _ good: Bool) async throws {
    let app = try TruecallerApp()
    let token = try await app.accessToken()
    let answer = try await app.update(
      token, ["firstName": .string(first), "lastName": .string(last)])
    #expect(answer.status == (good ? 200 : 422))
    #expect(answer.code == (good ? nil : 4221))
    #expect(try await app.profile(token).json["firstName"] == (good ? .string(first) : nil))
  }

  @Test(
    "an invalid member of a Truecaller profile update is refused and named",
    arguments: [
      (["lastName": ""], "firstName"), (["firstName": "A"], "lastName"),
      (["firstName": "A", "lastName": .null], "lastName"),
      (["firstName": 1, "lastName": ""], "firstName"),
      (["firstName": "A", "lastName": "", "age": 3], "age"),
    ] as [(JSON, String)])
  func updateMembers(_ body: JSON, _ name: String) async throws {
    let app = try TruecallerApp()
    let answer = try await app.update(app.accessToken(), body)
    #expect([answer.status, answer.code] == [400, 4000])
    #expect(answer.json["message"]?.text?.contains(name) == true)
  }

  @Test("a control call sets and clears members of a Truecaller profile, as absent or as null")
  func control() async throws {
    let app = try TruecallerApp()
    let number: [String: JSON] = ["phoneNumber": "9876543210", "countryCode": "IN"]
    func set(_ profile: JSON) async throws -> TruecallerApp.Answer {
      try await app.control(
        .post, "profile", .object(number.merging(["profile": profile]) { $1 }))
    }
    let made = try await set(["gender": "F", "city": "Pune", "isTrueName": .null])
    #expect(made.status == 200)
    let token = try await app.accessToken()
    #expect(try await app.profile(token).json == made.json)
    #expect(made.json["gender"] == "F")
    #expect(made.json["isTrueName"] == nil)
    try await app.set(["emptyMembers": "null"])
    let nulls = try await set(["city": .null]).json
    let names = [
      "firstName", "lastName", "street", "city", "zipcode", "facebookID", "twitterID", "email",
      "url", "avatarUrl", "jobTitle", "companyName", "isTrueName",
    ]
    for name in names { #expect(nulls[name] == .null, "\(name)") }
    #expect(nulls["gender"] == "F")
    for wrong in [["phoneNumber": "1"], ["nope": 1], ["city": 1], 1] as [JSON] {
      #expect(try await set(wrong).json["error"] == "invalid_request")
    }
    let query = "phoneNumber=9876543210&countryCode=IN"
    #expect(try await app.control(.get, "profile", query: query).json["gender"] == "F")
    for query in ["", "phoneNumber=1&countryCode=IN", "phoneNumber=9876543210&countryCode=in"] {
      #expect(try await app.control(.get, "profile", query: query).status == 400)
    }
  }
}
