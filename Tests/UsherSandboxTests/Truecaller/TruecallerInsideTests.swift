import Foundation
import Testing

@testable import UsherSandbox

@Suite("Lists, request log and sample configuration of the Truecaller fake")
struct TruecallerInsideTests {
  private func list(_ app: TruecallerApp, _ name: String) async throws -> [JSON] {
    let answer = try await app.control(.get, name).json
    guard case .array(let list)? = answer[name] else {
      throw TruecallerApp.AppError(description: "no \(name): \(answer)")
    }
    return list
  }

  @Test("Truecaller verifications are listed with their state and without code and token")
  func verifications() async throws {
    let app = try TruecallerApp()
    #expect(try await list(app, "verifications").isEmpty)
    let created = try await app.create().json
    let code = try await app.code()
    #expect(
      try await list(app, "verifications") == [
        [
          "id": "ver_1", "phoneNumber": "+919876543210", "countryCode": "IN",
          "deviceId": .string(TruecallerApp.installation), "createdAt": 1_800_000_000,
          "expiresAt": 1_800_000_060, "wrongCodes": 0, "state": "waiting",
        ]
      ])
    _ = try await app.create("9876543211")
    _ = try await app.verify(code, created["verificationToken"])
    app.wait(60)
    #expect(
      try await list(app, "verifications").map { $0["state"] } == ["verified", "expired"])
  }

  @Test("Truecaller lists a verification as exhausted once it refuses the right code as well")
  func exhausted() async throws {
    let app = try TruecallerApp()
    try await app.set(["wrongCodeCap": 2])
    let token = try await app.create().json["verificationToken"]
    let code = try await app.code()
    for _ in 0..<2 { #expect(try await app.verify(TruecallerApp.wrong(code), token).code == 4220) }
    let refused = try await app.verify(code, token)
    #expect([refused.status, refused.code] == [429, 4293])
    let listed = try await list(app, "verifications")
    #expect(listed.map { $0["wrongCodes"] } == [2])
    #expect(listed.map { $0["state"] } == ["exhausted"])
  }

  @Test("Truecaller tokens are listed with number, host and state, also when expired or revoked")
  func tokens() async throws {
    let app = try TruecallerApp()
    try await app.set(["accessTokenSeconds": 10])
    _ = try await app.accessToken("7700900123", "GB", e164: "+447700900123")
    app.wait(10)
    _ = try await app.accessToken()
    _ = try await app.create()
    let tokens = try await list(app, "tokens")
    #expect(tokens.map { $0["state"] } == ["expired", "live", "live"])
    #expect(tokens.map { $0["host"] } == ["eu", "noneu", "noneu"])
    #expect(tokens.map { $0["verifiedBefore"] } == [false, false, true])
    #expect(tokens.map { $0["issuedAt"] } == [1_800_000_000, 1_800_000_010, 1_800_000_010])
    #expect(tokens.first?["phoneNumber"] == "+447700900123")
    #expect(tokens.first?["deviceId"] == .string(TruecallerApp.installation))
    _ = try await app.control(.post, "revokeAll")
    #expect(try await list(app, "tokens").map { $0["state"] } == ["revoked", "revoked", "revoked"])
  }

  @Test("no Truecaller control call reveals a code, a verification token or an access token")
  func secrecy() async throws {
    let app = try TruecallerApp()
    // A ten-digit code is unlikely to equal a part of another number in the answers.
    try await app.set(["otpDigits": 10])
    let created = try await app.create().json
    let code = try await app.code()
    let answer = try await app.verify(code, created["verificationToken"]).json
    let secrets = [
      code, try #require(created["verificationToken"]?.text),
      try #require(answer["accessToken"]?.text),
    ]
    for name in ["verifications", "tokens", "installations", "verified", "settings"] {
      let text = "\(try await app.control(.get, name).json)"
      for secret in secrets { #expect(!text.contains(secret), "\(name)") }
    }
  }

  @Test("the request log contains no Truecaller access token, not even one from a path")
  func log() async throws {
    let app = try TruecallerApp()
    let traffic = Traffic(clock: app.clock)
    let token = try await app.accessToken()
    let paths: [(Endpoint.Method, String)] = [
      (.post, "/truecaller/v1/otp/installation/validate/"),
      (.get, "/truecaller/validation/v1/otp/installation/phoneNumberDetail/"),
      (.get, "/truecaller/validation/v1/otp/client/installation/phoneNumberDetail/"),
    ]
    var headers = TruecallerApp.bearing(token)
    headers["clientid"] = "acme-oauth"
    for (method, path) in paths {
      let (row, call) = try app.call(method, path + token, headers: headers)
      #expect(await traffic.handle(call, to: row).status == 200)
    }
    let (row, call) = try app.call(.get, "/truecaller/eu/v1/profile", headers: headers)
    #expect(await traffic.handle(call, to: row).status == 401)
    let logged = await traffic.requests(endpoint: nil, grantType: nil)
    #expect(
      logged.map(\.path) == paths.map { $0.1 + "{accessToken}" } + ["/truecaller/eu/v1/profile"])
    #expect(logged.map(\.error) == [nil, nil, nil, "4011"])
    #expect(!"\(logged)".contains(token))
  }

  @Test(
    "an invalid number or installation in a Truecaller control call is refused and named",
    arguments: [
      (["countryCode": "IN"], "phoneNumber"), (["phoneNumber": "9876543210"], "countryCode"),
      (["phoneNumber": "9876543210", "countryCode": "in"], "countryCode"),
      (["phoneNumber": "98765", "countryCode": "IN"], "phone number"),
      (["phoneNumber": "x", "countryCode": "IN"], "phoneNumber"),
      (["phoneNumber": "9876543210", "countryCode": "XX"], "country"),
      (["phoneNumber": "9876543210", "countryCode": "IN", "deviceId": "x"], "deviceId"),
      (["phoneNumber": "9876543210", "countryCode": "IN", "nope": 1], "nope"), ([], "object"),
    ] as [(JSON, String)])
  func refusedNumbers(_ body: JSON, _ name: String) async throws {
    let app = try TruecallerApp()
    let answer = try await app.control(.post, "verified", body)
    #expect(answer.status == 400)
    #expect(answer.json["error"] == "invalid_request")
    #expect(answer.json["error_description"]?.text?.contains(name) == true, "\(answer.json)")
    #expect(try await list(app, "verified").isEmpty)
  }

  @Test("the Truecaller fake remembers at most 100 numbers of one installation")
  func bounds() throws {
    var ledger = TruecallerLedger(Users(), tokenGenerator: TokenGenerator())
    ledger.settings.installationDailyCap = 1000
    for number in 0..<150 {
      let national = "9000000\(100 + number)"
      let request = CreateRequest(
        number: try TruecallerNumber(country: "IN", national: national),
        deviceID: TruecallerApp.installation)
      _ = try ledger.create(request, now: start)
    }
    let installation = ledger.installations.value(TruecallerApp.installation, now: start)
    #expect(installation?.requests == 150)
    #expect(installation?.numbers.count == 100)
    #expect(installation?.numbers.last == "+919000000249")
  }

  @Test("Truecaller's sample configuration contains the address of every host and the app key")
  func sample() throws {
    let app = try TruecallerApp()
    let sample = app.truecaller.configurationSample(base: "http://127.0.0.1:1")
    let lines = [
      #"type = "truecaller""#, #"app_link = "https://acme.example.com/truecaller""#,
      #"otp_base_url = "http://127.0.0.1:1/truecaller""#,
      #"profile_base_url_eu = "http://127.0.0.1:1/truecaller/eu""#,
      #"profile_base_url_noneu = "http://127.0.0.1:1/truecaller/noneu""#,
      #"validation_base_url = "http://127.0.0.1:1/truecaller/validation""#,
    ]
    for line in lines { #expect(sample.contains(line + "\n")) }
    #expect(sample.contains("s3cret:app/key+="))
  }
}
