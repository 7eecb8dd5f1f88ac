import Foundation
import Testing

@testable import UsherSandbox

@Suite("One-time codes of the Truecaller fake")
struct TruecallerCodeTests {
  @Test("a Truecaller code is accepted for 60 seconds, and a repeated verify gets the same answer")
  func timeToLive() async throws {
    let app = try TruecallerApp()
    let token = try await app.create().json["verificationToken"]
    let code = try await app.code()
    app.wait(30)
    let first = try await app.verify(code, token)
    app.wait(29)
    #expect(try await app.verify(code, token) == first)
    #expect(try await app.verify(TruecallerApp.wrong(code), token).code == 4220)
    app.wait(1)
    let late = try await app.verify(code, token)
    #expect([late.status, late.code] == [410, 4100])
  }

  @Test("any other text is a wrong Truecaller code, and leaves the right one valid")
  func wrongCodes() async throws {
    let app = try TruecallerApp()
    try await app.set(["wrongCodeCap": 10])
    let token = try await app.create().json["verificationToken"]
    let code = try await app.code()
    let others = [TruecallerApp.wrong(code), "12345", "1234567", "12 456", "٠٠٠٠٠٠", "abcdef"]
    for text in others { #expect(try await app.verify(text, token).code == 4220, "\(text)") }
    #expect(try await app.verify(code, token).status == 200)
  }

  @Test("a Truecaller verification is valid only for its number, country and token")
  func otherNumber() async throws {
    let app = try TruecallerApp()
    let token = try await app.create().json["verificationToken"]
    let code = try await app.code()
    #expect(try await app.verify(code, token, "9876543211").code == 4100)
    #expect(try await app.verify(code, token, "9876543210", "NP").code == 4100)
    #expect(try await app.verify(code, "tcv_unknown").code == 4100)
    #expect(try await app.verify(code, token).status == 200)
  }

  @Test("a number gets a limited number of Truecaller SMS in 24 hours, from all installations")
  func numberCap() async throws {
    let app = try TruecallerApp()
    try await app.set(["numberDailyCap": 2])
    #expect(try await app.create().status == 200)
    app.wait(86_000)
    #expect(try await app.create(installation: TruecallerApp.otherInstallation).status == 200)
    let capped = try await app.create()
    #expect([capped.status, capped.code] == [429, 4291])
    #expect(try await app.create("9876543211").status == 200)
    #expect(await app.context.outbox.messages(to: "+919876543210").count == 2)
    app.wait(400)
    #expect(try await app.create().status == 200)
    #expect(try await app.create().code == 4291)
  }

  @Test("an installation gets a limited number of Truecaller SMS until the caps are reset")
  func installationCap() async throws {
    let app = try TruecallerApp()
    try await app.set(["installationDailyCap": 2])
    #expect(try await app.create("9876543210").status == 200)
    #expect(try await app.create("9876543211").status == 200)
    let capped = try await app.create("9876543212")
    #expect([capped.status, capped.code] == [429, 4292])
    let other = try await app.create("9876543212", installation: TruecallerApp.otherInstallation)
    #expect(other.status == 200)
    #expect(try await app.control(.delete, "caps").status == 200)
    #expect(try await app.create("9876543212").status == 200)
  }

  @Test("a refused Truecaller request, or one that needs no SMS, does not count towards the caps")
  func uncounted() async throws {
    let app = try TruecallerApp()
    try await app.set(["numberDailyCap": 1, "uncallable": ["+919876543211"]])
    #expect(try await app.create("9876543211").code == 4001)
    try await app.set(["uncallable": []])
    #expect(try await app.create("9876543211").status == 200)
    _ = try await app.accessToken()
    for _ in 0..<3 { #expect(try await app.create().json["status"] == 1) }
  }

  @Test("an impossible or uncallable number and an unserved country get no Truecaller SMS")
  func unserved() async throws {
    let app = try TruecallerApp()
    try await app.set(["uncallable": ["+919999999999"], "unservedCountries": ["NP"]])
    let impossible = [
      "987654321", "98765432100", "5876543210", "0987654321", "9999999999",
    ]
    for number in impossible {
      let answer = try await app.create(number)
      #expect([answer.status, answer.code] == [400, 4001], "\(number)")
    }
    #expect(try await app.create("123", "DE").code == 4001)
    #expect(try await app.create("12345678901234", "DE").code == 4001)
    for country in ["NP", "XX", "AQ"] {
      let answer = try await app.create("9876543210", country)
      #expect([answer.status, answer.code] == [400, 4002], "\(country)")
    }
    #expect(await app.context.outbox.messages().isEmpty)
  }

  @Test(
    "Truecaller's two country tables do not overlap, and UK and GB give the same number and host")
  func countries() throws {
    #expect(CallingCodes.europe.count == 44)
    #expect(CallingCodes.europe.keys.filter { CallingCodes.elsewhere[$0] != nil }.isEmpty)
    for country in ["UK", "GB"] {
      let number = try TruecallerNumber(country: country, national: "7700900123")
      #expect(number.e164 == "+447700900123")
      #expect(number.host == .eu)
    }
  }
}
