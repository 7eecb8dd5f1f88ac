import Foundation
import Testing

@testable import UsherSandbox

@Suite("Registration at the BSA fake")
struct BSARegistrationTests {
  private func duplicate(_ app: BSAApp, _ type: String, _ data: String) async throws -> JSON? {
    try await app.wire(
      .get, "/users/common/duplicate-check",
      ["verifyType": .string(type), "verifyData": .string(data)]
    ).rtCode
  }

  private func idCheck(_ app: BSAApp, _ userKey: String) async throws -> JSON? {
    try await app.wire(.get, "/idcheck", ["userKey": .string(userKey)]).rtCode
  }

  @Test(
    "BSA duplicate-check and idcheck with a missing or invalid parameter are refused with 2002",
    arguments: [
      ["verifyData": "alice@example.com"], ["verifyType": "CMMDUP001"],
      ["verifyType": "EMAIL", "verifyData": "alice@example.com"],
      ["verifyType": "CMMDUP002", "verifyData": "alice@example.com"],
      ["verifyType": "CMMDUP001", "verifyData": "+447700900123"],
    ] as [[String: JSON]])
  func checks(_ members: [String: JSON]) async throws {
    let app = try BSAApp()
    #expect(
      try await app.wire(.get, "/users/common/duplicate-check", members).rtCode == 2002)
    #expect(try await app.wire(.get, "/idcheck").rtCode == 2002)
  }

  @Test(
    "a BSA sign-up without a parameter gets 2002 with its name and keeps the disposeToken valid",
    arguments: [
      "email", "phoneNum", "userKey", "name", "disposeToken", "otpType", "authType", "deviceId",
      "appPackage", "os", "osVersion", "appVersion", "deviceManufacturer", "deviceName",
    ])
  func missing(_ name: String) async throws {
    let app = try BSAApp()
    let token = try await app.disposeToken()
    let answer = try await app.signUp(token: token, [name: .null])
    #expect(answer.rtCode == 2002)
    #expect(answer.json["rtMsg"]?.text?.contains(name) == true)
    #expect(try await app.signUp(token: token).rtCode == 0)
  }

  @Test(
    "a BSA sign-up without an agreement is refused with 3002, and rtMsg names the agreement",
    arguments: [
      "agreeGccs", "agreePerson", "agreeDevice",
    ])
  func agreements(_ name: String) async throws {
    let app = try BSAApp()
    let token = try await app.disposeToken()
    for value: JSON in [.null, false, "true", 1] {
      let answer = try await app.signUp(token: token, [name: value])
      #expect(answer.rtCode == 3002)
      #expect(answer.json["rtMsg"] == .string("required agreements are missing: \(name)"))
    }
    #expect(try await app.signUp(token: token).rtCode == 0)
  }

  @Test(
    "a BSA sign-up accepts authType 0, 3 and 4 as number or text and refuses any other with 3000")
  func authTypes() async throws {
    let app = try BSAApp()
    for wrong: JSON in [1, 2, 5, -1, "1", "", "BIOMETRIC", true, .array([3])] {
      #expect(try await app.signUp(["authType": wrong]).rtCode == 3000, "\(wrong)")
    }
    let people: [(String, String, JSON)] = [
      ("none", "+447700900200", 0), ("three", "+447700900203", "3"), ("four", "+447700900204", 4),
    ]
    for (key, phone, right) in people {
      let own: [String: JSON] = [
        "authType": right, "phoneNum": .string(phone), "email": .string("\(key)@example.com"),
      ]
      let token = try await app.disposeToken("\(key)@example.com")
      #expect(try await app.signUp(key: key, token: token, own).rtCode == 0)
    }
    #expect(try await app.list("registrations").map { $0["authType"] } == [0, 3, 4])
  }

  @Test("a BSA sign-up with a deviceId that is not a UUID is refused with 3007")
  func devices() async throws {
    let app = try BSAApp()
    for wrong in ["x", "5f0c1a527a5e4e619a770d9f1f6f1c11", "alice-key"] {
      #expect(try await app.signUp(["deviceId": .string(wrong)]).rtCode == 3007)
    }
  }

  @Test("a BSA disposeToken is valid for its own contact, once, and for 30 minutes")
  func disposeTokens() async throws {
    let app = try BSAApp()
    let token = try await app.disposeToken()
    #expect(try await app.signUp(token: "dsp_unknown").rtCode == 3006)
    #expect(try await app.signUp(token: token, ["email": "bob@example.com"]).rtCode == 3006)
    #expect(try await app.signUp(token: token, ["otpType": "CMMDUP002"]).rtCode == 3006)
    #expect(try await app.list("disposeTokens").map { $0["state"] } == ["unused"])
    app.wait(1799)
    #expect(try await app.signUp(token: token).rtCode == 0)
    let again: [String: JSON] = ["phoneNum": "+447700900777", "userKey": "other-key"]
    #expect(try await app.signUp(token: token, again).rtCode == 3006)
    #expect(try await app.list("disposeTokens").map { $0["state"] } == ["used"])
    let late = try await app.disposeToken("late@example.com")
    app.wait(1800)
    let person: [String: JSON] = [
      "email": "late@example.com", "phoneNum": "+447700900778", "userKey": "late-key",
    ]
    #expect(try await app.signUp(token: late, person).rtCode == 3006)
    let ended = try await app.disposeToken("late@example.com")
    _ = try await app.control(.post, "expire", ["what": "disposeTokens"])
    #expect(try await app.signUp(token: ended, person).rtCode == 3006)
  }

  @Test(
    "a BSA sign-up with a taken key or contact gets 2009 or 2019 and keeps the disposeToken valid")
  func taken() async throws {
    let app = try BSAApp()
    let token = try await app.disposeToken()
    #expect(try await idCheck(app, "alice-key") == 0)
    _ = try await app.control(.post, "registrations", ["userKey": "alice-key"])
    #expect(try await app.signUp(token: token).rtCode == 2009)
    _ = try await app.control(.delete, "registrations/alice-key")
    _ = try await app.control(.post, "registrations", ["email": .string(BSAApp.email)])
    #expect(try await app.signUp(token: token).rtCode == 2019)
    _ = try await app.control(.delete, "registrations/member-1")
    _ = try await app.control(.post, "registrations", ["phoneNum": .string(BSAApp.phone)])
    #expect(try await app.signUp(token: token).rtCode == 2019)
    _ = try await app.control(.delete, "registrations/member-1")
    #expect(try await app.signUp(token: token).rtCode == 0)
  }

  @Test("every BSA app call without the app's client key is refused with 2000")
  func clientKeys() async throws {
    let app = try BSAApp()
    let rows = app.bsa.endpoints.filter { row in
      !["bsa.me", "bsa.site", "bsa.begin", "bsa.signIn", "bsa.leave"].contains(row.name)
    }
    #expect(rows.count == 17)
    for row in rows {
      for key in [nil, "", "wrong", BSAApp.key + "x"] {
        let path = String(row.path.dropFirst("/bsa".count))
        let answer = try await app.wire(row.method, path, key: key)
        #expect(answer.rtCode == 2000, "\(row.name)")
        #expect(answer.status == 200)
      }
    }
    #expect(try await app.wire(.get, "/idcheck", key: BSAApp.acme).rtCode == 2000)
  }
}
