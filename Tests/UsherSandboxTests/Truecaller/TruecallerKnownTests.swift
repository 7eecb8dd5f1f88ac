import Foundation
import Testing

@testable import UsherSandbox

@Suite("Truecaller numbers that need no code")
struct TruecallerKnownTests {
  private let other = TruecallerApp.otherInstallation

  @Test("a control call makes Truecaller skip the code for a number, on one installation or on all")
  func byControl() async throws {
    let app = try TruecallerApp()
    let number: JSON = [
      "phoneNumber": "9876543210", "countryCode": "IN", "deviceId": .string(other),
    ]
    let added = try await app.control(.post, "verified", number)
    #expect(added.status == 201)
    #expect(
      added.json == [
        "verified": [["phoneNumber": "+919876543210", "deviceId": .string(other)]]
      ])
    #expect(try await app.create().json["method"] == "sms")
    #expect(try await app.create(installation: other).json["status"] == 1)
    let all: JSON = ["phoneNumber": "9876543211", "countryCode": "IN"]
    #expect(try await app.control(.post, "verified", all).status == 201)
    #expect(try await app.create("9876543211").json["status"] == 1)
    #expect(try await app.create("9876543211", installation: other).json["status"] == 1)
    #expect(try await app.control(.delete, "verified").status == 200)
    #expect(try await app.control(.get, "verified").json == ["verified": []])
    #expect(try await app.create("9876543211").json["method"] == "sms")
  }

  @Test("a number whose verification was not completed needs a Truecaller code again")
  func unfinished() async throws {
    let app = try TruecallerApp()
    let token = try await app.create().json["verificationToken"]
    _ = try await app.verify(TruecallerApp.wrong(app.code()), token)
    #expect(try await app.create().json["method"] == "sms")
  }

  @Test("Truecaller lists each installation with its requests and the numbers it asked about")
  func installations() async throws {
    let app = try TruecallerApp()
    _ = try await app.create()
    for _ in 0..<2 { _ = try await app.create("9876543211") }
    _ = try await app.create(installation: other)
    #expect(
      try await app.control(.get, "installations").json == [
        "installations": [
          [
            "deviceId": .string(TruecallerApp.installation), "requests": 3,
            "phoneNumbers": ["+919876543210", "+919876543211"],
          ],
          ["deviceId": .string(other), "requests": 1, "phoneNumbers": ["+919876543210"]],
        ]
      ])
  }

  @Test("without rememberVerified, Truecaller asks a verified number for a code again")
  func forgetful() async throws {
    let app = try TruecallerApp()
    try await app.set(["rememberVerified": false])
    _ = try await app.accessToken()
    #expect(try await app.create().json["method"] == "sms")
  }

  @Test("Truecaller treats the country codes GB and UK as the same country")
  func unitedKingdom() async throws {
    let app = try TruecallerApp()
    _ = try await app.accessToken("7700900123", "GB", e164: "+447700900123")
    #expect(try await app.create("7700900123", "UK").json["status"] == 1)
  }
}
