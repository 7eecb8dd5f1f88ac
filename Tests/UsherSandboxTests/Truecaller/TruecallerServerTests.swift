import Foundation
import Testing

@testable import UsherSandbox

@Suite("Truecaller: over HTTP")
struct TruecallerServerTests {
  private let headers = [
    "appKey: s3cret:app/key+=", "appLink: https://acme.example.com/truecaller",
    "sdkVersion: 0.2.3", "sdkVariant: native", "Content-Type: application/json",
  ]

  private func json(_ answer: String) throws -> JSON {
    try JSON(parsing: Array(answer.httpBody.utf8))
  }

  @Test("a number is verified from the first request to the profile, and the log tells no token")
  func whole() async throws {
    try await withSandbox { base in
      let otp = "/truecaller/v1/otp/installation"
      let request = String(
        decoding: JSON.object(TruecallerApp.createBody()).encoded(), as: UTF8.self)
      let created = try json(
        await Exchange.send(base, "POST", "\(otp)/create", headers: headers, request))
      let verification = try #require(created["verificationToken"]?.text)
      let outbox = try json(await Exchange.get(base, "/_control/outbox?to=%2B919876543210"))
      guard case .array(let messages)? = outbox["messages"] else {
        Issue.record("no messages: \(outbox)")
        return
      }
      let code = try #require(messages.first?["code"]?.text)
      let check: JSON = [
        "countryCodeName": "IN", "phoneNumber": "9876543210", "secretToken": .string(code),
        "verificationToken": .string(verification),
      ]
      let verified = try json(
        await Exchange.send(
          base, "POST", "\(otp)/verify", headers: headers,
          String(decoding: check.encoded(), as: UTF8.self)))
      let token = try #require(verified["accessToken"]?.text)
      let bearing = headers + ["Authorization: Bearer \(token)"]
      let profile = try await Exchange.send(
        base, "GET", "/truecaller/noneu/v1/profile", headers: bearing)
      #expect(try json(profile)["phoneNumber"] == "919876543210")
      let elsewhere = try await Exchange.send(
        base, "GET", "/truecaller/eu/v1/profile", headers: bearing)
      #expect(elsewhere.hasPrefix("HTTP/1.1 401"))
      let path = "/truecaller/validation/v1/otp/client/installation/phoneNumberDetail/"
      let detail = try await Exchange.send(
        base, "GET", path + token, headers: ["clientId: acme-oauth"])
      #expect(try json(detail)["phoneNumber"] == 919_876_543_210)
      let legacy = try await Exchange.send(
        base, "POST", "\(otp)/validate/\(token)", headers: headers, "")
      #expect(legacy.hasPrefix("HTTP/1.1 200"))
      let log = try await Exchange.get(base, "/_control/requests")
      #expect(log.contains("phoneNumberDetail/{accessToken}"))
      for secret in [token, verification, "s3cret"] { #expect(!log.contains(secret)) }
    }
  }

  @Test("the issuer of the OpenID provider cannot take Truecaller's path")
  func taken() {
    var configuration = Sandbox.Configuration()
    configuration.issuerPath = "/truecaller"
    #expect(throws: Sandbox.Objection.self) { try Sandbox(configuration) }
  }
}
