import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("The client token of SNAP")
struct SNAPTokenTests {
  private func read(
    _ changes: [String: JSONValue?] = [:], status: Int = 200
  ) -> ClientTokenReply {
    var members: [String: JSONValue] = [
      "responseCode": "2007300", "responseMessage": "Successful", "accessToken": "b2b-secret",
      "tokenType": "Bearer", "expiresIn": "900",
    ]
    for (name, value) in changes { members[name] = value }
    return SNAPToken().read(reply(.object(members), status: status))
  }

  private let unreadable = ClientTokenReply.unreadable(
    "the provider's client token cannot be read")

  @Test("the lifetime of SNAP's client token is a number of seconds, also as a string (trap 6)")
  func lifetime() {
    #expect(read() == .granted(Secret("b2b-secret"), lifetime: .seconds(900)))
    #expect(read(["expiresIn": 1]) == .granted(Secret("b2b-secret"), lifetime: .seconds(1)))
    #expect(
      read(["expiresIn": "86400"]) == .granted(Secret("b2b-secret"), lifetime: .seconds(86_400)))
  }

  @Test(
    "a SNAP client token without a plausible lifetime is unreadable",
    arguments: [
      "", "0", "-900", "+900", "900.0", " 900", "86401", "99999999999999999999", 0, -1, 900.5,
      86_401, true, nil, [900], ["s": 900],
    ] as [JSONValue?])
  func lifetimes(value: JSONValue?) {
    #expect(read(["expiresIn": value]) == unreadable)
  }

  @Test(
    "a SNAP client token that no header can carry is unreadable",
    arguments: ["", "a b", "a\n", "ä", nil, 7, .string(String(repeating: "x", count: 65_537))]
      as [JSONValue?])
  func tokens(value: JSONValue?) {
    #expect(read(["accessToken": value]) == unreadable)
  }

  @Test("a SNAP client token is a bearer token, also without a tokenType; others are unreadable")
  func types() {
    for type in ["Bearer", "bearer", nil] as [JSONValue?] {
      #expect(read(["tokenType": type]) == .granted(Secret("b2b-secret"), lifetime: .seconds(900)))
    }
    #expect(read(["tokenType": "MAC"]) == unreadable)
  }

  @Test("SNAP's refusal of a client token is recognized by the HTTP status or the responseCode")
  func refused() {
    #expect(read(["responseCode": "4017300"], status: 401) == .refused)
    #expect(read(["responseCode": "4007300"]) == .refused)
    #expect(read(["responseCode": "5007300"], status: 500) == .refused)
    #expect(read(status: 401) == .refused)
    #expect(SNAPToken().read(reply(text: "", status: 503)) == .refused)
  }

  @Test(
    "an HTTP 200 reply of SNAP without a client token is unreadable",
    arguments: ["", "null", "[]", "{}", "\"b2b\"", "<html>", "{\"accessToken\":"])
  func garbage(text: String) {
    #expect(SNAPToken().read(reply(text: text)) == unreadable)
  }

  @Test("the probe of a SNAP provider requests a client token, and other modes have no probe")
  func probe() throws {
    let probe = try #require(gopay(.snap).definition.probe)
    #expect(probe.call.name == "b2b_token")
    #expect(probe.subject == "client token")
    let good: JSONValue = ["accessToken": "b2b-secret", "expiresIn": "900"]
    #expect(probe.evaluate(.reply(reply(good))) == (true, "it was issued"))
    let refused = reply(["responseCode": "4017300"], status: 401)
    #expect(probe.evaluate(.reply(refused)) == (false, "it answers HTTP 401, responseCode 4017300"))
    #expect(probe.evaluate(.reply(reply(text: "", status: 502))) == (false, "it answers HTTP 502"))
    #expect(!probe.evaluate(.reply(reply(text: "{}"))).fine)
    #expect(probe.evaluate(.unreachable(message: "gone", sent: false)) == (false, "gone"))
    #expect(try gopay(.app).definition.probe == nil)
    #expect(try gopay(.backend).definition.probe == nil)
  }
}

@Suite("Linking tokens of GoPay")
struct GoPayTokensTests {
  private func dialect(
    _ exchange: GoPayExchange = .snap, _ attributes: [String: JSONValue] = ["deviceId": "dev-1"]
  ) throws -> any TokenDialect {
    guard
      case .known(let dialect) = try gopay(exchange).definition.tokens(
        attributes: attributes, installation: nil)
    else { throw UsherError(.internalError, "not known") }
    return dialect
  }

  @Test("a GoPay linking token is revoked by unbinding only if the daemon bound the account")
  func revocation() throws {
    let link = Secret("linking-secret")
    let call = try dialect().revocation(link, .accessToken, bearer: nil)
    #expect(
      call as? GoPayCall == .unbinding(token: link, device: "dev-1", externalID: nil))
    #expect(try dialect(.app).revocation(link, .accessToken, bearer: nil) == nil)
    #expect(try dialect(.backend).revocation(link, .accessToken, bearer: nil) == nil)
    #expect(try dialect(.snap, [:]).revocation(link, .accessToken, bearer: nil) == nil)
    #expect(
      try dialect(.snap, ["deviceId": 7]).revocation(link, .accessToken, bearer: nil) == nil)
  }

  @Test(
    "a linking token is revoked if SNAP confirms it, or no longer knows it",
    arguments: [
      (200, "2000900", true), (404, "4040905", true), (401, "4010902", true),
      (409, "4090900", true), (200, "4040905", true), (200, "4010900", false),
      (401, "4010901", false), (401, "4010900", false), (400, "4000902", false),
      (404, "4040900", false), (200, "5000901", false), (429, "4290900", false),
      (500, "2000900", false),
    ])
  func gone(status: Int, code: String, isGone: Bool) throws {
    let answer = reply(["responseCode": .string(code)], status: status)
    #expect(try dialect().hasRevoked(answer) == isGone)
  }

  @Test("an unreadable reply does not confirm the revocation of a GoPay linking token")
  func garbage() throws {
    #expect(try !dialect().hasRevoked(reply(text: "<html>")))
    #expect(try !dialect().hasRevoked(reply(text: "", status: 401)))
  }

  @Test("a GoPay provider names all its credentials and checks its RSA key")
  func credentials() throws {
    let provider = try gopay(.snap) {
      $0.exchangeCredential = "backend"
      $0.callbackCredential = "callback"
    }
    #expect(Set(provider.definition.credentialNames) == ["backend", "key", "secret", "callback"])
    #expect(provider.credentialName == nil)
    #expect(provider.definition.flaw(of: PartnerKeys.good, named: "key") == nil)
    #expect(provider.definition.flaw(of: PartnerKeys.short, named: "key") == UnusableKey.sentence)
    #expect(provider.definition.flaw(of: Secret("x"), named: "key") == UnusableKey.sentence)
    #expect(provider.definition.flaw(of: Secret("x"), named: "secret") == nil)
  }
}
