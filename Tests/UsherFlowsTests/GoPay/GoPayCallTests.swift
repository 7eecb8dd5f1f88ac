import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Calls to GoPay")
struct GoPayCallTests {
  private static let link = Secret("linking-secret")
  private static let code = Secret("auth-code-secret")
  private static let account = LinkingToken.account(AccountID("acc_1"))
  private static let session = CaptureSession(
    id: "0d2c1f7e-0000-4000-8000-000000000001", requestID: "req-1", locale: .id)
  private let credentials = [
    "key": PartnerKeys.good, "secret": Secret("client-secret"), "backend": Secret("backend-secret"),
  ]

  private func render(
    _ call: any ProviderCall, accessToken: Secret? = nil,
    clientToken: Secret? = Secret("client-token"), credentials: [String: Secret]? = nil,
    _ change: (inout GoPaySettings) throws -> Void = { _ in }
  ) throws -> HTTPRequest {
    try call.rendered(
      at: try gopay(.snap, change), credentials: credentials ?? self.credentials,
      accessToken: accessToken, clientToken: clientToken)
  }

  private func headers(_ request: HTTPRequest) -> [String: String] {
    Dictionary(request.headers.map { ($0.name, $0.value.revealed()) }) { "\($0) and \($1)" }
  }

  private func body(_ request: HTTPRequest) throws -> JSONValue? {
    try request.body.map { try JSONValue(parsing: $0.revealed()) }
  }

  private let accept = ["Accept": "application/json"]
  private let typed = ["Content-Type": "application/json"]
  private let identity = [
    "Accept": "application/json", "x-merchant-id": "merchant-1", "request-id": "req-1",
    "correlation-id": "req-1",
  ]
  private let authorized = ["authorization": "linking-secret"]

  @Test("the GoPay auth-code call has the linking token without Bearer (traps 6 and 7)")
  func authCode() throws {
    let calls: [(LinkingToken, Secret?)] = [
      (.token(Sealed(Self.link)), nil), (Self.account, Self.link),
    ]
    for (link, held) in calls {
      let request = try render(
        GoPayCall.authCode(link, correlationID: "corr-1", requestID: "req-1"), accessToken: held)
      #expect(request.method == .post)
      #expect(request.url == "https://identity.midtrans.com/gopay-id/sdk/v1/auth-code")
      #expect(headers(request) == identity.merging(typed) { $1 }.merging(authorized) { $1 })
      #expect(try body(request) == ["clientId": "acme-sdk", "userCorrelationId": "corr-1"])
    }
  }

  @Test("a requestId goes into GoPay's headers with all but visible ASCII percent-encoded")
  func encodedRequestID() throws {
    let ids = [
      ("req-1", "req-1"), ("Müller 42", "M%C3%BCller%2042"), ("50%", "50%25"),
      ("a%20b", "a%2520b"), ("a b", "a%20b"), ("~!\u{7E}\u{A0}", "~!~%C2%A0"),
    ]
    for (id, encoded) in ids {
      let link = LinkingToken.token(Sealed(Self.link))
      for call in [
        GoPayCall.temporaryToken(link, requestID: id), .currentSubmission(link, requestID: id),
        .authCode(link, correlationID: "corr-1", requestID: id),
        .sessionToken(code: Self.code, requestID: id),
      ] {
        let sent = headers(try render(call))
        #expect(sent["request-id"] == encoded && sent["correlation-id"] == encoded)
      }
      let session = copy(Self.session) { $0.requestID = id }
      for call in [
        GoPayCall.capture(session, token: Self.code),
        .submission(id: "sub-1", session, token: Self.code),
      ] {
        #expect(headers(try render(call))["x-partner-session-id"] == encoded)
      }
    }
  }

  @Test("the GoPay capture token is requested with a log-in's auth code or a linking token")
  func captureToken() throws {
    let session = try render(GoPayCall.sessionToken(code: Self.code, requestID: "req-1"))
    #expect(session.method == .post)
    #expect(session.url == "https://identity.midtrans.com/gopay-id/sdk/v1/token")
    #expect(headers(session) == identity.merging(typed) { $1 })
    #expect(try body(session) == ["clientId": "acme-sdk", "authCode": "auth-code-secret"])
    for (link, held) in [(LinkingToken.token(Sealed(Self.link)), nil), (Self.account, Self.link)] {
      let request = try render(
        GoPayCall.temporaryToken(link, requestID: "req-1"), accessToken: held)
      #expect(request.method == .get)
      #expect(
        request.url
          == "https://identity.midtrans.com/forward/gopay-id/identity/v1/gopay-id/token")
      #expect(headers(request) == identity.merging(authorized) { $1 })
      #expect(request.body == nil)
    }
  }

  @Test("GoPay's call for the current submission has the linking token, given or the account's")
  func current() throws {
    for (link, held) in [(LinkingToken.token(Sealed(Self.link)), nil), (Self.account, Self.link)] {
      let request = try render(
        GoPayCall.currentSubmission(link, requestID: "req-1"), accessToken: held)
      #expect(request.method == .get)
      #expect(
        request.url == "https://identity.midtrans.com/forward/gopay-id/kyc/inbound/v1"
          + "/users/submissions/current")
      #expect(headers(request) == identity.merging(authorized) { $1 })
      #expect(request.body == nil)
    }
  }

  @Test("a GoPay call that uses an account's linking token is not rendered without that token")
  func account() {
    let calls: [GoPayCall] = [
      .authCode(Self.account, correlationID: "corr-1", requestID: "req-1"),
      .temporaryToken(Self.account, requestID: "req-1"),
      .currentSubmission(Self.account, requestID: "req-1"),
    ]
    for call in calls {
      #expect(call.account == AccountID("acc_1"))
      #expect(throws: UsherError.self) { try render(call) }
    }
    #expect(GoPayCall.temporaryToken(.token(Sealed(Self.link)), requestID: "req-1").account == nil)
  }

  @Test("GoPay's capture calls have the session's headers, language, return URL and escaped ids")
  func capture() throws {
    let own = [
      "x-merchant-id": "merchant-1", "x-onekyc-token": "capture-secret",
      "x-sdk-session-id": "0d2c1f7e-0000-4000-8000-000000000001", "x-partner-session-id": "req-1",
    ]
    let token = Secret("capture-secret")
    let page = try render(GoPayCall.capture(Self.session, token: token))
    #expect(page.method == .get)
    #expect(
      page.url == "https://onekyc.ky.id.gopayapi.com/coe/v1/submissions/urls"
        + "?submissionType=FULL_KYC&lang=id")
    #expect(headers(page) == accept.merging(own) { $1 })
    var session = Self.session
    session.returnURL = "https://app.example.com/done?x=1&y"
    session.locale = .en
    #expect(
      try render(GoPayCall.capture(session, token: token)).url
        == "https://onekyc.ky.id.gopayapi.com/coe/v1/submissions/urls?submissionType=FULL_KYC"
        + "&lang=en&returnUrl=https%3A%2F%2Fapp.example.com%2Fdone%3Fx%3D1%26y")
    let standing = try render(GoPayCall.submission(id: "a/../b?c", session, token: token))
    #expect(standing.method == .get)
    #expect(
      standing.url == "https://onekyc.ky.id.gopayapi.com/coe/v1/submissions/a%2F..%2Fb%3Fc")
    #expect(headers(standing) == accept.merging(own) { $1 })
    #expect(page.body == nil && standing.body == nil)
  }

  @Test("the GoPay exchange call posts the auth code to the partner's backend")
  func exchange() throws {
    let call = GoPayCall.exchange(code: Self.code, correlationID: "corr-1", requestID: "req-1")
    let plain = try render(call)
    #expect(plain.method == .post)
    #expect(plain.url == "https://backend.acme.example.com/exchange")
    #expect(headers(plain) == accept.merging(typed) { $1 })
    #expect(
      try body(plain) == [
        "authCode": "auth-code-secret", "requestId": "req-1", "userCorrelationId": "corr-1",
      ])
    let proved = try render(call) { $0.exchangeCredential = "backend" }
    let proof = ["Authorization": "Bearer backend-secret"]
    #expect(headers(proved) == accept.merging(typed) { $1 }.merging(proof) { $1 })
    let unset = #expect(throws: UsherError.self) {
      try render(call) { $0.exchangeCredential = "other" }
    }
    #expect(
      unset?.message
        == "credential other of provider gopay is not set; run: usherctl credential set other")
    #expect(throws: UsherError.self) { try render(call) { $0.exchangeURL = nil } }
  }

  @Test("the call for SNAP's client token is signed with the RSA key")
  func clientToken() throws {
    let request = try render(SNAPToken())
    #expect(request.method == .post)
    #expect(request.url == "https://merchants.midtrans.com/v1.0/access-token/b2b")
    #expect(request.body?.revealed() == #"{"grantType":"client_credentials"}"#)
    #expect(
      headers(request)
        == accept.merging(typed) { $1 }.merging([
          "X-CLIENT-KEY": "acme-sdk", "X-TIMESTAMP": "2027-01-15T15:00:00+07:00",
          "X-SIGNATURE": OpenSSL.signature,
        ]) { $1 })
    let short = #expect(throws: UsherError.self) {
      try render(SNAPToken(), credentials: ["key": PartnerKeys.short])
    }
    #expect(
      short?.message
        == "credential key is not a PEM text with an RSA key of 2048 bits or more")
    let unset = #expect(throws: UsherError.self) { try render(SNAPToken(), credentials: [:]) }
    #expect(unset?.message.contains("usherctl credential set key") == true)
  }

  private func snap(_ request: HTTPRequest, path: String, externalID: String) -> [String: String] {
    let signature = SNAPSignature.symmetric(
      method: "POST", path: path, accessToken: Secret("client-token"),
      body: request.body ?? Secret(""), timestamp: "2027-01-15T15:00:00+07:00",
      clientSecret: Secret("client-secret"))
    return accept.merging(typed) { $1 }.merging([
      "Authorization": "Bearer client-token", "X-TIMESTAMP": "2027-01-15T15:00:00+07:00",
      "X-SIGNATURE": signature, "X-PARTNER-ID": "acme-sdk", "X-EXTERNAL-ID": externalID,
      "CHANNEL-ID": "95221",
    ]) { $1 }
  }

  @Test("the SNAP binding call signs the same minified body that it sends")
  func binding() throws {
    let call = GoPayCall.binding(code: Self.code, device: device, externalID: "0123")
    let path = "/v1.0/registration-account-binding"
    let request = try render(call)
    #expect(request.method == .post)
    #expect(request.url == "https://merchants.midtrans.com" + path)
    #expect(headers(request) == snap(request, path: path, externalID: "0123"))
    #expect(
      try body(request) == [
        "merchantId": "merchant-1", "authCode": "auth-code-secret",
        "grantType": "AUTHORIZATION_CODE",
      ])
    #expect(request.body?.revealed().contains { $0.isWhitespace } == false)
    #expect(call.clientToken is SNAPToken)
  }

  @Test("SNAP's signature covers the path of the request line, whatever the base URL")
  func path() throws {
    let call = GoPayCall.binding(code: Self.code, device: device, externalID: "1")
    let base = try ProviderURL(setting: "http://127.0.0.1:8080/gopay")
    let local = try render(call) { $0.snapBaseURL = base }
    #expect(
      headers(local)
        == snap(local, path: "/gopay/v1.0/registration-account-binding", externalID: "1"))
    let whole = try render(call) {
      $0.paths.binding = try ProviderPath(setting: "https://x.example/bind")
    }
    #expect(whole.url == "https://x.example/bind")
    #expect(headers(whole) == snap(whole, path: "/bind", externalID: "1"))
  }

  @Test("the SNAP unbinding call has the linking token with Bearer (trap 6)")
  func unbinding() throws {
    let path = "/v1.0/registration-account-unbinding"
    let own = [
      "Authorization-Customer": "Bearer linking-secret", "X-DEVICE-ID": device,
    ]
    let call = GoPayCall.unbinding(token: Self.link, device: device, externalID: "0123")
    let request = try render(call)
    #expect(request.method == .post)
    #expect(request.url == "https://merchants.midtrans.com" + path)
    #expect(request.body?.revealed() == #"{"merchantId":"merchant-1"}"#)
    #expect(
      headers(request) == snap(request, path: path, externalID: "0123").merging(own) { $1 })
    // The signature as another program computes it.
    #expect(
      headers(request)["X-SIGNATURE"] == "Pt/1MUJKVS9ddfsCsfOmyasE0FEw045ZWtamPX8rZrV8Js3/4oIn"
        + "G5VcA/Nr70xQQ+xOZjAOBz7YhstV2aWu9w==")
    #expect(call.clientToken is SNAPToken)
    let drawn = try render(GoPayCall.unbinding(token: Self.link, device: device))
    // Drawn from the bytes 1, 2, … 16 of the context's entropy.
    #expect(headers(drawn)["X-EXTERNAL-ID"] == "73755198158349044581307228491536")
  }

  @Test("a SNAP call without a client token or a client secret is not rendered")
  func noToken() {
    let call = GoPayCall.binding(code: Self.code, device: device, externalID: "1")
    #expect(throws: UsherError.self) { try render(call, clientToken: nil) }
    let unset = #expect(throws: UsherError.self) { try render(call, credentials: [:]) }
    #expect(unset?.message.contains("usherctl credential set secret") == true)
  }

  /// One call of each kind, with the secrets that it contains.
  private static let all: [GoPayCall] = [
    .authCode(.token(Sealed(link)), correlationID: "corr-1", requestID: "req-1"),
    .exchange(code: code, correlationID: "corr-1", requestID: "req-1"),
    .binding(code: code, device: device, externalID: "1"),
    .unbinding(token: link, device: device), .sessionToken(code: code, requestID: "req-1"),
    .temporaryToken(.token(Sealed(link)), requestID: "req-1"),
    .capture(session, token: Secret("capture-secret")),
    .submission(id: "sub-1", session, token: Secret("capture-secret")),
    .currentSubmission(.token(Sealed(link)), requestID: "req-1"),
  ]

  @Test(
    "only SNAP's binding and unbinding need a client token, and GoPay call names are unique",
    arguments: all)
  func names(call: GoPayCall) {
    #expect((call.clientToken != nil) == ["binding", "unbinding"].contains(call.name))
    #expect(Set(Self.all.map(\.name)).count == Self.all.count)
  }

  @Test("a GoPay call and its request print no secret", arguments: all)
  func secrecy(call: GoPayCall) throws {
    var dumped = "\(call) \(String(reflecting: call))"
    dump(call, to: &dumped)
    dump(try render(call) { $0.exchangeCredential = "backend" }, to: &dumped)
    let own = ["linking-secret", "auth-code-secret", "capture-secret", "backend-secret"]
    for secret in own + ["client-token", "client-secret"] { #expect(!dumped.contains(secret)) }
  }

  @Test("the signature of the client token call is removed from SNAP's refusal")
  func signatureEcho() throws {
    let request = try render(SNAPToken())
    let header = try #require(request.headers.first { $0.name == "X-SIGNATURE" })
    let message = "\(header.value.revealed()) is wrong"
    for (code, status) in [("4017300", 401), ("4007300", 200)] {
      let refusal = reply(
        ["responseCode": .string(code), "responseMessage": .string(message)], status: status)
      let told = refusal.withoutEchoes(of: request).jsonObject
      #expect(told?["responseMessage"] == "… is wrong")
    }
  }

  @Test("secrets that a reply of GoPay repeats are removed from it", arguments: all)
  func echoes(call: GoPayCall) throws {
    let request = try render(call) { $0.exchangeCredential = "backend" }
    let own = ["linking-secret", "auth-code-secret", "capture-secret", "backend-secret"]
    let sent = (own + ["client-token"]).filter { secret in
      request.headers.contains { $0.value.revealed().hasSuffix(secret) }
        || request.body?.revealed().contains(secret) == true
    }
    #expect(!sent.isEmpty)
    let signature = request.headers.first { $0.name == "X-SIGNATURE" }?.value.revealed()
    // The client secret makes the signature, and is not sent.
    let signing = signature.map { [$0, "client-secret"] } ?? []
    #expect(signing.isEmpty == (call.clientToken == nil))
    for secret in sent + signing {
      let said = JSONValue.string("\(secret) is unknown")
      let refusals: [(JSONValue, Int)] = [
        (["responseMessage": said], 401),
        (["responseCode": "4010700", "responseMessage": said], 200),
        (["success": false, "errors": [["code": 1401, "cause": said]]], 200),
        (["success": true, "data": ["status": "FAILED", "error": "API", "message": said]], 200),
        (["reason": said], 200), (["reason": said], 500),
      ]
      for (refusal, status) in refusals {
        let told = reply(refusal, status: status).withoutEchoes(of: request)
        #expect(!String(decoding: told.body, as: UTF8.self).contains(secret))
      }
    }
  }
}
