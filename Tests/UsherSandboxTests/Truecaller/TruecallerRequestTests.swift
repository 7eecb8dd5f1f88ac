import Foundation
import Testing

@testable import UsherSandbox

@Suite("Request validation of the Truecaller fake")
struct TruecallerRequestTests {
  private static let createPath = "/truecaller/v1/otp/installation/create"
  private static let verifyPath = "/truecaller/v1/otp/installation/verify"

  @Test(
    "a Truecaller code request with an invalid member is refused with the member's name",
    arguments: [
      ("countryCodeName", nil), ("countryCodeName", "in"), ("countryCodeName", "India"),
      ("countryCodeName", "ÅÄ"), ("countryCodeName", 91), ("phoneNumber", nil),
      ("phoneNumber", ""), ("phoneNumber", "98765 43210"), ("phoneNumber", "+919876543210"),
      ("phoneNumber", "९८७६५४३२१०"), ("phoneNumber", "98765432a0"), ("phoneNumber", 9_876_543_210),
      ("clientId", nil), ("clientId", 17), ("clientId", "16"), ("phonePermission", nil),
      ("phonePermission", true), ("os", nil), ("os", "linux"), ("version", nil), ("version", ""),
      ("version", 1), ("sequence", nil), ("sequence", 0), ("sequence", "1"), ("deviceId", nil),
      ("deviceId", "machine"), ("deviceId", 1), ("simSerial", nil), ("simSerial", []),
      ("simSerial", .string(TruecallerApp.installation)),
      ("simSerial", [.string(TruecallerApp.otherInstallation)]), ("extra", 1),
    ] as [(String, JSON?)])
  func createMembers(_ name: String, _ value: JSON?) async throws {
    let app = try TruecallerApp()
    var body = TruecallerApp.createBody()
    body[name] = value
    let answer = try await app.send(.post, Self.createPath, .object(body))
    #expect([answer.status, answer.code] == [400, 4000])
    #expect(answer.json["message"]?.text?.contains(name) == true, "\(answer.json)")
    #expect(await app.context.outbox.messages().isEmpty)
  }

  @Test("a Truecaller code request with a deviceId that is not a UUID is refused")
  func installation() async throws {
    let app = try TruecallerApp()
    var body = TruecallerApp.createBody()
    body["deviceId"] = "machine"
    body["simSerial"] = ["machine"]
    let answer = try await app.send(.post, Self.createPath, .object(body))
    #expect([answer.status, answer.code] == [400, 4000])
    #expect(await app.context.outbox.messages().isEmpty)
  }

  @Test(
    "a Truecaller verify request with an invalid member is refused with the member's name",
    arguments: [
      ("countryCodeName", nil), ("countryCodeName", "in"), ("phoneNumber", nil),
      ("secretToken", nil), ("secretToken", ""), ("secretToken", 123_456),
      ("verificationToken", nil), ("verificationToken", .null), ("deviceId", "x"),
    ] as [(String, JSON?)])
  func verifyMembers(_ name: String, _ value: JSON?) async throws {
    let app = try TruecallerApp()
    var body: [String: JSON] = [
      "countryCodeName": "IN", "phoneNumber": "9876543210", "secretToken": "123456",
      "verificationToken": "tcv_x",
    ]
    body[name] = value
    let answer = try await app.send(.post, Self.verifyPath, .object(body))
    #expect([answer.status, answer.code] == [400, 4000])
    #expect(answer.json["message"]?.text?.contains(name) == true, "\(answer.json)")
  }

  @Test("a Truecaller request body that is not a JSON object or not declared as JSON is refused")
  func bodies() async throws {
    let app = try TruecallerApp()
    for body in [[], "x", 1, .null] as [JSON] {
      #expect(try await app.send(.post, Self.createPath, body).code == 4000)
    }
    var (row, call) = try app.call(.post, Self.createPath, .object(TruecallerApp.createBody()))
    call.headers["content-type"] = "text/plain"
    #expect(await row.handle(call).status == 400)
    call.headers["content-type"] = "application/json; charset=utf-8"
    #expect(await row.handle(call).status == 200)
    call.body = Array("{\"phoneNumber\"".utf8)
    #expect(await row.handle(call).error == "4000")
  }

  @Test(
    "every Truecaller app call without valid app key, app link and SDK headers is refused",
    arguments: [
      ("appkey", nil, 401, 4010), ("appkey", "wrong", 401, 4010), ("appkey", "", 401, 4010),
      ("applink", nil, 401, 4010),
      ("applink", "https://acme.example.com/truecaller/", 401, 4010),
      ("sdkversion", nil, 400, 4000), ("sdkversion", "", 400, 4000),
      ("sdkvariant", nil, 400, 4000), ("sdkvariant", "web", 400, 4000),
    ] as [(String, String?, Int, Int)])
  func appHeaders(_ name: String, _ value: String?, _ status: Int, _ code: Int) async throws {
    let app = try TruecallerApp()
    let token = try await app.accessToken()
    var headers = TruecallerApp.bearing(token)
    headers[name] = value
    let calls: [(Endpoint.Method, String, JSON?)] = [
      (.post, Self.createPath, .object(TruecallerApp.createBody())),
      (.post, Self.verifyPath, [:]),
      (.post, "/truecaller/noneu/v1/profile", ["firstName": "Asha", "lastName": ""]),
      (.get, "/truecaller/noneu/v1/profile", nil),
    ]
    for (method, path, body) in calls {
      let answer = try await app.send(method, path, body, headers: headers)
      #expect([answer.status, answer.code] == [status, code], "\(path)")
      #expect(answer.json["message"]?.text?.lowercased().contains(name) == true)
    }
  }

  @Test("a Truecaller refusal repeats no value of a request header")
  func silentRefusals() async throws {
    let app = try TruecallerApp()
    var headers = TruecallerApp.bearing("canary-token")
    headers["appkey"] = "canary-key"
    let (row, call) = try app.call(.get, "/truecaller/eu/v1/profile", headers: headers)
    #expect(!String(decoding: await row.handle(call).body, as: UTF8.self).contains("canary"))
  }
}
