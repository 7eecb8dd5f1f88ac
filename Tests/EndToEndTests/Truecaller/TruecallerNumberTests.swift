import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Phone numbers and countries: what cannot be is asked of nobody, and each country has its host.
@Suite("Truecaller: numbers, countries, hosts", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerNumberTests {
  private let scene: TruecallerScene

  init() throws { scene = try TruecallerScene() }

  @Test("a number or a country that cannot be fails with TCError 14, without any call")
  func impossible() throws {
    let cases: [(number: String, country: String)] = [
      ("987654321", "IN"), ("98765432101", "IN"), ("98765abc10", "IN"), ("", "IN"),
      ("1876543210", "IN"), ("09876543210", "IN"), ("९८७६५४३२१०", "IN"), ("+449876543210", "IN"),
      ("9876543210\n", "IN"), ("9876543210;ext=1", "IN"), (String(repeating: "9", count: 70), "IN"),
      ("9876543210", "XX"), ("9876543210", ""), ("9876543210", "IND"), ("9876543210", "I"),
      ("9876543210", "ıN"), ("9876543210", "91"),
    ]
    for (number, country) in cases {
      let end = try scene.verify(number, country)
      #expect(end["status"] == "failed", "\(number) \(country): \(end.text)")
      #expect(end.failure == ["invalid_request", "14", nil], "\(number) \(country)")
      #expect(end["state"] == "creating")
    }
    #expect(try scene.sandbox.control("GET", "requests")["count"] == 0)
    #expect(try scene.messages().isEmpty)
  }

  @Test("a number may be written as people write it; it goes out as bare digits")
  func written() throws {
    for number in ["98765 43210", "+91 98765-43210", "0091 (98765) 43210", "98765.43210"] {
      let flow = try scene.verify(number)
      #expect(flow["state"] == "otpInitiated", "\(number): \(flow.text)")
      #expect(flow["step"]?["maskedTarget"] == "+91 ••• 210")
    }
    #expect(try Set(scene.messages().map { $0["to"]?.stringValue }) == ["+919876543210"])
  }

  @Test("the country in lower case is the same country")
  func lowerCase() throws {
    let end = try scene.verified(TruecallerScene.number, "in")
    #expect(end["result"]?["profile"]?["countryCode"] == "IN")
    #expect(try scene.paths("profile") == ["/truecaller/noneu/v1/profile"])
  }

  @Test(
    "trap 2: the host of the profile is chosen by the country in upper case, UK as well as GB",
    arguments: [
      ("15123456789", "de", "eu"), ("15123456789", "DE", "eu"), ("7700900123", "UK", "eu"),
      ("7700900123", "uk", "eu"), ("7700900123", "GB", "eu"), ("612345678", "fr", "eu"),
      ("9876543210", "IN", "noneu"), ("2025550123", "US", "noneu"),
    ])
  func trap2(number: String, country: String, host: String) throws {
    let end = try scene.verified(number, country)
    #expect(end["status"] == "succeeded")
    let path = "/truecaller/\(host)/v1/profile"
    #expect(try scene.paths("update") == [path])
    #expect(try scene.paths("profile") == [path])
    #expect(
      try scene.account(of: end)["attributes"]?["countryCode"] == .string(country.uppercased()))
  }

  @Test("a number in no form but text, a member that is missing, one too many: invalid_params")
  func shape() throws {
    let cases: [(params: JSONValue, field: String)] = [
      (["phoneNumber": 9_876_543_210, "countryCode": "IN"], "params.phoneNumber"),
      (["countryCode": "IN"], "params.phoneNumber"),
      (["phoneNumber": "9876543210"], "params.countryCode"),
      (["phoneNumber": "9876543210", "countryCode": .null], "params.countryCode"),
      (TruecallerScene.params() + ["nonce": "1"], "params.nonce"),
    ]
    for (params, field) in cases {
      let error = try scene.app.error(
        of: "flow.start",
        ["provider": "truecaller", "kind": "verifyPhone", "params": params])
      #expect(error["data"]?["reason"] == "invalid_params", "\(error.text)")
      #expect(error["data"]?["field"] == .string(field), "\(error.text)")
    }
    #expect(try scene.requests("create") == 0)
  }

  @Test("another app's key is TCError 1, another link 2, without a call; the right ones pass")
  func otherApp() throws {
    let cases: [(more: JSONValue, error: String)] = [
      (["appKey": ""], "1"), (["appKey": "s3cret:app/key+"], "1"),
      (["appLink": ""], "2"), (["appLink": "https://other.example.com"], "2"),
    ]
    for (more, error) in cases {
      let end = try scene.verify(TruecallerScene.number, "IN", more)
      #expect(end.failure == ["invalid_request", error, nil], "\(more.text)")
    }
    #expect(try scene.requests("create") == 0)
    let right: JSONValue = [
      "appKey": .string(TruecallerScene.appKey), "appLink": .string(TruecallerScene.appLink),
    ]
    #expect(
      try scene.verify(TruecallerScene.number, "IN", right)["state"] == "otpInitiated")
  }

  @Test("the server's no to a number, a country, an app: TCError 14 and 12")
  func refusals() throws {
    try scene.set(["unservedCountries": ["IN"]])
    #expect(try scene.verify().failure == ["invalid_request", "14", "4002"])
    let stranger = try TruecallerScene(appKey: "another-key")
    #expect(try stranger.verify().failure == ["provider_rejected", "12", "4010"])
    let keyless = try TruecallerScene(appKey: nil)
    let end = try keyless.verify()
    #expect(end.failure[0] == "provider_rejected", "\(end.text)")
    #expect(end["failure"]?["message"]?.stringValue?.contains("truecaller-app-key") == true)
    #expect(try keyless.requests("create") == 0)
  }
}
