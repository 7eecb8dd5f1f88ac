import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The requests on the wire, call by call. `FreedomPartnerCallTests` covers how they are built.
@Suite("Requests of Freedom ID's partner API on the wire", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerTrapTests {
  @Test("each request to Freedom ID's partner API has the headers and members of the contract")
  func contract() throws {
    let wire = try PartnerWire()
    let fixture = try FreedomFixture.partner(wire: wire)
    func sent(_ method: String, _ path: String) throws -> PartnerWire.Request {
      try #require(wire.requests(method, path).last)
    }
    func members(_ method: String, _ path: String) throws -> JSONValue {
      try JSONValue(parsing: sent(method, path).body)
    }
    try fixture.signedIn(["read.data_of_birth", "read.profile"])
    let basic = "Basic " + Data("acme:\(FreedomFixture.clientSecret)".utf8).base64EncodedString()
    for path in ["/oauth/authorize", "/oauth/token"] {
      #expect(try sent("POST", path).credential == basic)
    }
    // The partner API spells this grant differently from the SDK (trap 10 of the contract).
    let link = try members("POST", "/oauth/authorize")
    #expect(link["grants"] == ["read.date_of_birth", "read.profile"], "\(link.text)")
    #expect(
      try members("POST", "/oauth/token").objectValue?.keys.sorted() == ["authorization_code"])
    let user = try sent("GET", "/oauth/user")
    #expect(user.body.isEmpty && user.credential.hasPrefix("Bearer "))
    // A renewal is PATCH with the refresh token as Bearer, and has no body (trap 10).
    let access = try fixture.token()["accessToken"]?.stringValue ?? ""
    _ = try fixture.token(["provider": "freedom", "forceRefresh": true])
    let renewal = try sent("PATCH", "/oauth/token")
    #expect(renewal.body.isEmpty && ["0", nil].contains(renewal.headers["content-length"]))
    #expect(renewal.headers["content-type"] == nil)
    #expect(renewal.headers["transfer-encoding"] == nil)
    #expect(renewal.credential.hasPrefix("Bearer ") && renewal.credential != "Bearer \(access)")
    // The status is requested by GET with a JSON body and no query (trap 10).
    try fixture.set(["profileAnswer": "accept"])
    let end = try fixture.perform(
      "requestProfile", ["phone": "+447700900456", "grants": ["read.firstname"]])
    let status = try sent("GET", "/get-profile/status")
    #expect(status.headers["content-type"]?.hasPrefix("application/json") == true)
    #expect(status.headers["content-length"] == String(status.body.count))
    #expect(status.headers["transfer-encoding"] == nil)
    #expect(
      try members("GET", "/get-profile/status")
        == ["request_id": end["result"]?["requestId"] ?? .null], "\(status.text)")
    _ = try fixture.perform("createUser", ["phone": "+77015550001", "dateOfBirth": "2000-02-29"])
    #expect(
      try members("POST", "/oauth/user") == [
        "phone": "+77015550001", "date_of_birth": "2000-02-29",
      ]
    )
    let id = try fixture.person("bob")["id"] ?? .null
    _ = try fixture.perform("updateUser", ["freedomId": id, "gender": "M"])
    #expect(try members("PUT", "/oauth/user") == ["freedom_id": id, "gender": "M"])
  }
}
