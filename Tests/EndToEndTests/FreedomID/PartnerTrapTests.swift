import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// What of Freedom's pages misleads (traps 10 and 11 of the contracts), as it goes over the wire.
@Suite("Freedom ID: traps", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerTrapTests {
  private let wire: PartnerWire
  private let scene: FreedomScene

  init() throws {
    wire = try PartnerWire()
    scene = try FreedomScene.partner(wire: wire)
  }

  private func sent(_ method: String, _ path: String) throws -> PartnerWire.Request {
    try #require(wire.requests(method, path).last)
  }

  private func members(_ request: PartnerWire.Request) throws -> JSONValue {
    try JSONValue(parsing: request.body)
  }

  @Test(
    "trap 10: data_of_birth is the SDK's, date_of_birth the partner API's; either is one grant",
    arguments: [
      ["read.data_of_birth"], ["read.date_of_birth"], ["read.date_of_birth", "read.data_of_birth"],
    ])
  func dateOfBirth(grants: [String]) throws {
    let end = try scene.signedIn(grants)
    #expect(end["result"]?["granted"] == ["read.data_of_birth"])
    #expect(end.profile == ["dateOfBirth": "1990-12-31"])
    #expect(try scene.consents().map { $0["grant"] } == ["read.data_of_birth"])
    #expect(try scene.token()["scope"] == "read.data_of_birth")
    let link = try members(sent("POST", "/oauth/authorize"))
    #expect(link["grants"] == ["read.date_of_birth"], "\(link.text)")
    #expect(Set(link.objectValue?.keys.map { $0 } ?? []) == ["redirect_uri", "grants"])
  }

  @Test("trap 10: a profile that is requested is asked for in the partner API's spelling too")
  func dateOfBirthOfOthers() throws {
    try scene.signedIn(["read.profile"])
    try scene.set(["profileAnswer": "accept"])
    for grant in ["read.data_of_birth", "read.date_of_birth"] {
      let end = try scene.perform(
        "requestProfile", ["phone": "+447700900456", "grants": [.string(grant)]])
      #expect(end["result"]?["granted"] == ["read.data_of_birth"], "\(end.text)")
      #expect(end.profile["dateOfBirth"] != nil)
      #expect(try members(sent("POST", "/get-profile"))["grants"] == ["read.date_of_birth"])
    }
  }

  @Test("trap 10: a renewal is PATCH with the refresh token as Bearer, and has no body")
  func renewal() throws {
    try scene.signedIn()
    let access = try scene.token()["accessToken"]?.stringValue ?? ""
    _ = try scene.token(["provider": "freedom", "forceRefresh": true])
    let request = try sent("PATCH", "/oauth/token")
    #expect(request.body.isEmpty)
    #expect(["0", nil].contains(request.headers["content-length"]))
    #expect(request.headers["content-type"] == nil)
    #expect(request.headers["transfer-encoding"] == nil)
    #expect(request.credential.hasPrefix("Bearer ") && request.credential.count == 7 + 128)
    #expect(request.credential != "Bearer \(access)", "it is the refresh token")
    // The next renewal goes with what this one has brought.
    _ = try eventually("it may be forced again") {
      try scene.app.reply(
        to: "token.get", ["provider": "freedom", "forceRefresh": true])["result"] != nil
        && wire.requests("PATCH", "/oauth/token").count == 2
    }
    #expect(try sent("PATCH", "/oauth/token").credential != request.credential)
  }

  @Test("trap 10: the status is asked for by GET with a JSON body, and no query")
  func bodyOnGet() throws {
    try scene.signedIn(["read.profile"])
    try scene.set(["profileAnswer": "accept"])
    let end = try scene.perform(
      "requestProfile", ["phone": "+447700900456", "grants": ["read.firstname"]])
    let request = try sent("GET", "/get-profile/status")
    #expect(request.headers["content-type"]?.hasPrefix("application/json") == true)
    #expect(request.headers["content-length"] == String(request.body.count))
    #expect(request.headers["transfer-encoding"] == nil)
    #expect(
      try members(request) == ["request_id": end["result"]?["requestId"] ?? .null],
      "\(request.text)")
    let asked = try members(sent("POST", "/get-profile"))
    #expect(
      Set(asked.objectValue?.keys.map { $0 } ?? [])
        == ["request_id", "created_at", "phone", "grants"])
    let token = try scene.token()["accessToken"]?.stringValue ?? ""
    #expect(request.credential == "Bearer \(token)")
  }

  @Test("trap 10: errors sit in HTTP 200: of the link, the code, the data, a renewal, a profile")
  func errorsInside200() throws {
    let error: JSONValue = ["error": ["message": "no", "code": 777]]
    for endpoint in ["link", "token", "user"] {
      try scene.spoil(endpoint, ["status": 200, "body": error], times: 1)
      let end = try scene.attempt(["read.firstname"])
      #expect(
        end.failure == ["provider_rejected", "unknownError", "777"], "\(endpoint): \(end.text)")
    }
    try scene.signedIn(["read.profile"])
    let ask: JSONValue = ["phone": "+447700900456", "grants": ["read.firstname"]]
    for endpoint in ["profile", "status"] {
      try scene.set(["profileAnswer": "accept"])
      try scene.spoil(endpoint, ["status": 200, "body": error], times: 1)
      let end = try scene.perform("requestProfile", ask)
      #expect(
        end.failure == ["provider_rejected", "unknownError", "777"], "\(endpoint): \(end.text)")
    }
    // The doc's other shape: what is wrong, member by member.
    let members: JSONValue = ["error": ["message": "no", "errors": ["grants.3": ["unknown"]]]]
    try scene.spoil("link", ["status": 200, "body": members], times: 1)
    // Other grants: for those above the tokens are kept, and no link is asked for.
    let end = try scene.attempt(["read.lastname"])
    #expect(end.failure[1] == "transmissionError.incorrectRequestStructure", "\(end.text)")
    #expect(end["failure"]?["message"]?.stringValue?.contains("grants.3") == true)
    try scene.spoil("refresh", ["status": 200, "body": error], times: 1)
    let refusal = try scene.tokenError(["provider": "freedom", "forceRefresh": true])
    #expect(refusal["data"]?["provider"]?["error"] == "777", "\(refusal.text)")
  }

  @Test("trap 10: an error that is null is none")
  func noError() throws {
    try scene.set([
      "linkReply": ["error": .null], "tokenReply": ["error": .null], "userReply": ["error": .null],
    ])
    #expect(try scene.signedIn().profile == ["firstname": "Alice"])
  }

  @Test("trap 11: times are absolute here; what a token says in seconds is not looked at")
  func absolute() throws {
    try scene.set([
      "tokenReply": ["expires_in": 1, "access_expire_at": "2099-03-04T05:06:07.123456Z"]
    ])
    try scene.signedIn()
    let token = try scene.token()
    #expect(token["expiresAt"]?.stringValue?.hasPrefix("2099-03-04T05:06:07") == true)
    try scene.set(["tokenReply": ["expires_in": 604_800, "access_expire_at": .null]])
    try scene.signedIn(as: "bob")
    let bob = try scene.accounts().first { $0["tokens"]?[0]?["expiresAt"] == .null }
    #expect(bob != nil, "without an absolute time nothing is known of its end")
    #expect(try scene.requests("refresh") == 0)
  }

  @Test("trap 11: where a refresh token is over by its own time the provider decides")
  func refreshTokenOver() throws {
    try scene.set([
      "tokenReply": [
        "access_expire_at": "2020-01-01T00:00:00Z", "refresh_expire_at": "2020-01-02T00:00:00Z",
      ]
    ])
    try scene.signedIn()
    _ = try scene.token()
    #expect(wire.requests("PATCH", "/oauth/token").count == 1)
  }

  @Test("what goes to the provider is the contract's, header by header and member by member")
  func contract() throws {
    try scene.signedIn()
    let basic = "Basic " + Data("acme:\(FreedomScene.clientSecret)".utf8).base64EncodedString()
    let link = try sent("POST", "/oauth/authorize")
    let token = try sent("POST", "/oauth/token")
    #expect(link.credential == basic && token.credential == basic)
    #expect(
      Set(try members(token).objectValue?.keys.map { $0 } ?? []) == ["authorization_code"])
    let user = try sent("GET", "/oauth/user")
    #expect(user.body.isEmpty && user.credential.hasPrefix("Bearer "))
    _ = try scene.perform("createUser", ["phone": "+77015550001", "dateOfBirth": "2000-02-29"])
    let create = try sent("POST", "/oauth/user")
    #expect(
      try members(create) == ["phone": "+77015550001", "date_of_birth": "2000-02-29"],
      "\(create.text)")
    let id = try scene.person("bob")["id"] ?? .null
    _ = try scene.perform("updateUser", ["freedomId": id, "gender": "M"])
    #expect(try members(sent("PUT", "/oauth/user")) == ["freedom_id": id, "gender": "M"])
  }
}

/// The same of mode `oidc`.
@Suite("Freedom ID's OpenID: traps", .mayBlock, .timeLimit(.minutes(10)))
struct OpenIDTrapTests {
  private let wire: PartnerWire
  private let scene: FreedomScene

  init() throws {
    wire = try PartnerWire()
    scene = try FreedomScene.openID(wire: wire)
  }

  private func signedIn() throws {
    let flow = try scene.app.startFlow("freedom")
    try scene.visit(flow)
    let end = try scene.app.finished(flow)
    guard end["status"] == "succeeded" else { throw TestTrouble("not signed in: \(end.text)") }
  }

  @Test("trap 11: expires_in is relative in OpenID, and an absolute time there is not looked at")
  func relative() throws {
    try scene.set([
      "openIDReply": ["expires_in": 1800, "access_expire_at": "2099-03-04T05:06:07Z"]
    ])
    try signedIn()
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    let text = try scene.token()["expiresAt"]?.stringValue ?? ""
    let end = try (try? style.parse(text)) ?? Date.ISO8601FormatStyle().parse(text)
    #expect((1700...1800).contains(end.timeIntervalSinceNow), "\(text)")
  }

  @Test("the code and a refresh token are redeemed by JSON with Basic")
  func json() throws {
    try signedIn()
    _ = try scene.token(["provider": "freedom", "forceRefresh": true])
    let requests = wire.requests("POST", "/oidc/token")
    #expect(requests.count == 2)
    let basic = "Basic " + Data("acme:\(FreedomScene.clientSecret)".utf8).base64EncodedString()
    let bodies = try requests.map { try JSONValue(parsing: $0.body) }
    for request in requests {
      #expect(request.headers["content-type"]?.hasPrefix("application/json") == true)
      // RFC 6749 §2.3.1 has id and secret form-encoded; the vendor shows them as they are.
      let pair = request.credential.dropFirst("Basic ".count)
      let text = Data(base64Encoded: String(pair)).map { String(decoding: $0, as: UTF8.self) }
      #expect(
        request.credential == basic
          || text?.removingPercentEncoding == "acme:\(FreedomScene.clientSecret)")
    }
    #expect(
      Set(bodies[0].objectValue?.keys.map { $0 } ?? []) == ["grant_type", "code", "redirect_uri"])
    #expect(bodies[0]["grant_type"] == "authorization_code")
    #expect(bodies[1]["grant_type"] == "refresh_token" && bodies[1]["refresh_token"] != nil)
    #expect(bodies[1]["code"] == nil)
  }
}
