import Foundation
import Testing

@testable import UsherSandbox

@Suite("Token validation by the partner's server at the Truecaller fake")
struct TruecallerValidationTests {
  /// The method, path and credential header of one generation of the validation API.
  struct Way: Sendable, CustomTestStringConvertible {
    let method: Endpoint.Method
    let path: String
    let header: String
    let value: String
    var testDescription: String { path }
  }

  private static let legacy = Way(
    method: .post, path: "/v1/otp/installation/validate", header: "appkey",
    value: "s3cret:app/key+=")
  private static let byAppKey = Way(
    method: .get, path: "/validation/v1/otp/installation/phoneNumberDetail", header: "appkey",
    value: "s3cret:app/key+=")
  private static let byClientID = Way(
    method: .get, path: "/validation/v1/otp/client/installation/phoneNumberDetail",
    header: "clientid", value: "acme-oauth")
  private static let ways = [legacy, byAppKey, byClientID]

  private func validate(
    _ way: Way, _ token: String, _ app: TruecallerApp, headers: [String: String]? = nil
  ) async throws -> TruecallerApp.Answer {
    try await app.send(
      way.method, "/truecaller\(way.path)/\(token)", headers: headers ?? [way.header: way.value])
  }

  @Test(
    "Truecaller validation refuses wrong credentials with code 404 and unknown tokens with 1404",
    arguments: ways)
  func refusals(_ way: Way) async throws {
    let app = try TruecallerApp()
    let token = try await app.accessToken()
    for headers in [[:], [way.header: "wrong"], ["authorization": way.value]] {
      let stranger = try await validate(way, token, app, headers: headers)
      #expect([stranger.status, stranger.code] == [404, 404])
      #expect(try await validate(way, "tca_x", app, headers: headers).code == 404)
    }
    let unknown = try await validate(way, "tca_x", app)
    #expect([unknown.status, unknown.code] == [404, 1404])
    #expect(try await app.control(.post, "revokeAll").status == 200)
    #expect(try await validate(way, token, app).code == 1404)
  }

  @Test("Truecaller validation does not accept an app key as a client id, nor the reverse")
  func otherHeader() async throws {
    let app = try TruecallerApp()
    let token = try await app.accessToken()
    #expect(
      try await validate(Self.byClientID, token, app, headers: TruecallerApp.headers).code == 404)
    #expect(
      try await validate(Self.byAppKey, token, app, headers: ["clientid": "acme-oauth"]).code
        == 404)
  }

  @Test(
    "settings choose the format of the number in Truecaller validation, or another number",
    arguments: [
      ("number", 919_876_543_210, 919_876_543_211), ("string", "919876543210", "919876543211"),
      ("plus", "+919876543210", "+919876543211"), ("national", "9876543210", "9876543211"),
    ] as [(JSON, JSON, JSON)])
  func numbers(_ form: JSON, _ own: JSON, _ other: JSON) async throws {
    let app = try TruecallerApp()
    let token = try await app.accessToken()
    try await app.set(["validateNumber": form, "legacyNumber": true])
    for way in Self.ways {
      #expect(try await validate(way, token, app).json["phoneNumber"] == own)
    }
    try await app.set(["validateOtherNumber": true])
    for way in Self.ways {
      let answer = try await validate(way, token, app).json
      #expect(answer["phoneNumber"] == other)
      #expect(answer["countryCode"] == "IN")
    }
  }

  @Test("Truecaller's substitute number differs from the real number and has the same length")
  func otherNumbers() throws {
    for national in ["9876543210", "9876543219"] {
      let number = try TruecallerNumber(country: "IN", national: national)
      #expect(number.withOtherLastDigit.e164 != number.e164)
      #expect(number.withOtherLastDigit.e164.count == number.e164.count)
    }
  }
}
