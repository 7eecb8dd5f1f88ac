import Foundation
import Testing

@testable import UsherSandbox

@Suite("GoPay partner backend and control API in the sandbox")
struct GoPayControlTests {
  private static let credential = ["authorization": "Bearer s3cret:exchange/key+="]

  private func exchange(
    _ app: GoPayApp, _ code: String, requestID: String = "req-1",
    headers: [String: String] = credential
  ) async throws -> GoPayApp.Answer {
    let body: JSON = [
      "authCode": .string(code), "requestId": .string(requestID), "userCorrelationId": "corr-5678",
    ]
    return try await app.send(
      .post, "/gopay/partner/exchange", headers: headers, body: body.encoded())
  }

  private func code(_ app: GoPayApp) async throws -> String {
    try #require(try await app.authCode().data?["authCode"]?.text)
  }

  private func list(_ app: GoPayApp, _ name: String) async throws -> [JSON] {
    guard case .array(let list)? = try await app.control(.get, name).json[name] else {
      throw GoPayApp.AppError(description: "no \(name)")
    }
    return list
  }

  @Test("GoPay's partner backend redeems a code and repeats its reply for the same request")
  func exchanged() async throws {
    let app = try GoPayApp()
    let code = try await code(app)
    let first = try await exchange(app, code)
    #expect(first.status == 200)
    #expect(first.json["userCorrelationId"] == "corr-5678")
    let token = try #require(first.json["token"]?.text)
    #expect(try await app.temporaryToken(token).status == 200)
    #expect(try await exchange(app, code).json == first.json)
    #expect(try await app.sessionToken(code).status == 200)
    let spent = try await exchange(app, code, requestID: "req-2")
    #expect(spent.status == 404)
    #expect(spent.json["reason"]?.text?.contains("auth code") == true)
  }

  @Test("GoPay's partner backend refuses a call without its credential and redeems nothing")
  func credential() async throws {
    let app = try GoPayApp()
    let code = try await code(app)
    for value in [nil, "Bearer nope", "s3cret:exchange/key+="] {
      var headers: [String: String] = [:]
      headers["authorization"] = value
      let answer = try await exchange(app, code, headers: headers)
      #expect(answer.status == 401)
      #expect(answer.json["reason"]?.text != nil)
    }
    #expect(try await app.sessionToken(code).status == 409)
    let wrong = try await app.send(
      .post, "/gopay/partner/exchange", headers: Self.credential, body: Array("{}".utf8))
    #expect(wrong.status == 400)
    #expect(wrong.json["reason"]?.text?.contains("authCode") == true)
  }

  @Test("a setting makes GoPay's partner backend return another user id or no token")
  func bent() async throws {
    let app = try GoPayApp()
    try await app.set(["exchangeReply": ["userCorrelationId": "other", "token": .null]])
    let answer = try await exchange(app, code(app)).json
    #expect(answer == ["userCorrelationId": "other"])
  }

  @Test("GoPay codes, tokens and submissions are listed with their state and without secrets")
  func lists() async throws {
    let app = try GoPayApp()
    let (first, second) = (try await code(app), try await code(app))
    let redeemed = try await app.control(.post, "redeem", ["authCode": .string(first)]).json
    let opened = try await app.handedIn()
    app.wait(360)
    let login = try #require(try await app.login().parameter("authCode"))
    let codes = try await list(app, "codes")
    #expect(codes.map { $0["state"] } == ["redeemed", "expired", "waiting"])
    #expect(codes.map { $0["source"] } == ["token", "token", "login"])
    #expect(codes.first?["userCorrelationId"] == "corr-5678")
    let tokens = try await list(app, "tokens")
    #expect(tokens.filter { $0["state"] == "expired" }.count == 1)
    #expect(tokens.last?["term"] == "long")
    let submissions = try await list(app, "submissions")
    #expect(submissions.map { $0["submissionId"] } == [.string(opened.id)])
    #expect(submissions.first?["partnerSessionId"] == "req-1")
    #expect(submissions.first?["kyc"] == ["status": "INITIATED"])
    let secrets = [first, second, login, try #require(redeemed["token"]?.text)]
    for name in ["codes", "tokens", "submissions", "pushes", "settings", "people"] {
      let text = "\(try await app.control(.get, name).json)"
      for secret in secrets + ["long-term-token"] { #expect(!text.contains(secret), "\(name)") }
    }
  }

  @Test("GoPay's sample configuration contains the address of every host and the secrets")
  func sample() throws {
    let app = try GoPayApp()
    let sample = app.gopay.configurationSample(base: "http://127.0.0.1:1")
    for line in [
      #"type = "gopay""#, #"client_id = "acme-sdk""#, #"exchange = "app""#,
      #"merchant_id = "8f0c7a52-7a5e-4e61-9a77-0d9f1f6f1c11""#,
      #"snap_base_url = "http://127.0.0.1:1/gopay/snap""#,
      #"identity_base_url = "http://127.0.0.1:1/gopay/identity""#,
      #"capture_base_url = "http://127.0.0.1:1/gopay/capture""#,
      #"# exchange_url = "http://127.0.0.1:1/gopay/partner/exchange""#,
    ] { #expect(sample.contains(line + "\n"), "\(line)") }
    for secret in ["s3cret:snap/key+=", "s3cret:exchange/key+=", "s3cret:callback/key+="] {
      #expect(sample.contains(secret))
    }
  }

  /// Invalid control calls. `OPEN` is replaced by the id of an open submission, `DONE` by the id of
  /// one that was handed in.
  private static let misfits: [(path: String, body: JSON, status: Int)] = [
    ("codes", ["username": "mallory"], 400), ("tokens", ["username": "mallory"], 400),
    ("tokens", ["term": "eternal"], 400), ("redeem", ["authCode": "gac_nope"], 404),
    ("settings", ["nope": 1], 400), ("settings", ["authCodeSeconds": -1], 400),
    ("settings", ["authCodeSeconds": "360"], 400), ("settings", ["callbackTimes": 11], 400),
    ("settings", ["verdict": "MAYBE"], 400), ("settings", ["callbackAuthorization": "none"], 400),
    ("settings", ["closedAccounts": "alice"], 400), ("settings", ["b2bReply": 1], 400),
    ("submissions/OPEN/push", [:], 400), ("submissions/OPEN", ["status": "ERROR"], 409),
    ("submissions/OPEN/capture", ["outcome": "NOPE"], 400),
    ("submissions/DONE/capture", [:], 409), ("submissions/sub_nope/capture", [:], 404),
    ("submissions/DONE", [:], 400), ("submissions/DONE", ["status": "DONE"], 400),
    ("submissions/DONE", ["status": "COMPLETED"], 400),
    ("submissions/DONE", ["status": "ERROR", "result": "VALID"], 400),
    ("submissions/DONE", ["status": "COMPLETED", "result": "MAYBE"], 400),
    ("submissions/DONE", ["status": "INITIATED", "nope": 1], 400),
  ]

  @Test("an invalid GoPay control call is refused and changes no setting")
  func misfits() async throws {
    let app = try GoPayApp()
    let before = try await app.control(.get, "settings").json
    let done = try await app.handedIn()
    let open = try await app.open(requestID: "two")
    for (path, body, status) in Self.misfits {
      let path = path.replacing("OPEN", with: open.id).replacing("DONE", with: done.id)
      #expect(try await app.control(.post, path, body).status == status, "\(path) \(body)")
    }
    #expect(try await app.control(.get, "settings").json == before)
    try await app.set(["skewSeconds": 1, "verdict": "VALID"])
    try await app.set(["skewSeconds": .null])
    #expect(try await app.control(.get, "settings").json["verdict"] == "VALID")
    #expect(try await app.control(.delete, "settings").json == before)
  }

  @Test("only the paths of GoPay capture pages are marked as hidden from the request log")
  func hiddenPaths() throws {
    #expect(
      try GoPayApp().gopay.endpoints.filter(\.hidesPath).map(\.name) == [
        "gopay.capturePage", "gopay.capturePage",
      ])
  }
}
