import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DeviceDriven

@Suite("Requests of the Freedom ID device flow")
struct DeviceCallTests {
  private func render(
    _ call: FreedomDeviceCall, key: Secret? = Driven.key, token: Secret? = Secret("access-secret"),
    _ change: (inout FreedomIDSettings) -> Void = { _ in }
  ) throws -> HTTPRequest {
    try call.render(
      RenderContext(
        provider: Provider(Driven.provider(change))!, credential: key, accessToken: token,
        transition: moment()))
  }

  private struct Expected {
    var call: FreedomDeviceCall
    var name: String
    var method: HTTPRequest.Method
    var path: String
    var body: JSONValue?
    var bearer: String?
    var hasDevice = true
  }

  private static let all: [Expected] = [
    Expected(
      call: .accounts(device: installation), name: "accounts", method: .get, path: "accounts"),
    Expected(
      call: .otp(phone: Driven.phone, device: installation), name: "login_otp", method: .post,
      path: "login/otp", body: ["phone": "+77011234567"]),
    Expected(
      call: .otpCheck(challenge: "ch-1", code: Driven.code, device: installation),
      name: "login_otp_verify", method: .post, path: "login/otp/verify",
      body: ["challenge_id": "ch-1", "code": "739146"]),
    Expected(
      call: .password(Driven.emailName, password: Driven.password, device: installation),
      name: "login_password", method: .post, path: "login/password",
      body: ["email": "aigerim@example.kz", "password": "Pass-word-secret"]),
    Expected(
      call: .password(Driven.phoneName, password: Driven.password, device: installation),
      name: "login_password", method: .post, path: "login/password",
      body: ["phone": "+77011234567", "password": "Pass-word-secret"]),
    Expected(
      call: .twoFactor(challenge: "ch-2", code: Driven.code, device: installation),
      name: "login_two_factor", method: .post, path: "login/two-factor",
      body: ["challenge_id": "ch-2", "code": "739146"]),
    Expected(
      call: .resend(challenge: "ch-1", device: installation), name: "login_resend",
      method: .post, path: "login/resend", body: ["challenge_id": "ch-1"]),
    Expected(
      call: .consent(
        AccountID("acc_1"), [.dateOfBirth, .phone], request: "req-uuid", device: installation),
      name: "device_consent", method: .post, path: "consent",
      body: ["request_id": "req-uuid", "grants": ["read.date_of_birth", "read.phone"]],
      bearer: "access-secret"),
    Expected(
      call: .renewal(Secret("refresh-secret"), device: installation), name: "device_token",
      method: .patch, path: "token", bearer: "refresh-secret"),
    Expected(
      call: .untying(Secret("refresh-secret"), device: installation), name: "device_token",
      method: .delete, path: "token", bearer: "refresh-secret"),
  ]

  @Test("every Freedom ID device request has the method, URL, headers and body of the contract")
  func requests() throws {
    for expected in Self.all {
      let request = try render(expected.call)
      #expect(expected.call.name == expected.name)
      #expect(request.method == expected.method)
      #expect(
        request.url == "https://passport.freedompay.kz/api/v1/device/\(expected.path)")
      let body = try request.body.map { try JSONValue(parsing: $0.revealed()) }
      #expect(body == expected.body)
      var headers = ["Accept": "application/json", "X-API-Key": "api-key-secret"]
      if expected.hasDevice { headers["X-Device-Id"] = installation }
      if expected.body != nil { headers["Content-Type"] = "application/json" }
      headers["Authorization"] = expected.bearer.map { "Bearer \($0)" }
      #expect(
        Dictionary(request.headers.map { ($0.name, $0.value.revealed()) }) { $0 + $1 }
          == headers)
    }
  }

  @Test("no Freedom ID device call has a secret in its URL, its name or its description")
  func secrecy() throws {
    for expected in Self.all {
      let request = try render(expected.call)
      var dumped = "\(request.url) \(expected.call.name) \(expected.call) \(request)"
      dump(request, to: &dumped)
      dump(expected.call, to: &dumped)
      for secret in [
        "api-key-secret", "access-secret", "refresh-secret", "739146", "Pass-word-secret",
        "77011234567", "aigerim@",
      ] {
        #expect(!dumped.contains(secret), "\(expected.name)")
      }
    }
  }

  @Test("an echoed API key or token is removed from the reply to every Freedom ID device request")
  func echoes() throws {
    for expected in Self.all {
      let request = try render(expected.call)
      for secret in ["api-key-secret"] + [expected.bearer].compactMap(\.self) {
        for status in [200, 401, 500] {
          let answer = Driven.refusal(status, 7, "bad \(secret)")
          let told = String(decoding: answer.withoutEchoes(of: request).body, as: UTF8.self)
          #expect(!told.contains(secret))
          #expect(told.contains("bad …"))
        }
      }
    }
  }

  @Test("a Freedom ID device request needs the API key, and a consent also the account's token")
  func missing() throws {
    for expected in Self.all {
      #expect(throws: UsherError.self) { try render(expected.call, key: nil) }
    }
    #expect(throws: UsherError.self) { try render(Self.all[7].call, token: nil) }
  }

  @Test("of all Freedom ID device calls, only the consent carries an account's token")
  func accounts() {
    for expected in Self.all {
      #expect(
        expected.call.account == (expected.name == "device_consent" ? AccountID("acc_1") : nil))
    }
  }

  @Test("only error 100004 in the reply to a Freedom ID consent means that the token is refused")
  func refusesToken() {
    let consent = Self.all[7].call
    #expect(consent.refusesToken(Driven.refusal(401, 100_004)))
    #expect(consent.refusesToken(Driven.refusal(200, 100_004)))
    for (status, code) in [
      (401, 100_001), (401, 100_002), (403, 100_003), (401, nil), (500, 100_004),
    ] {
      #expect(!consent.refusesToken(Driven.refusal(status, code)))
    }
    #expect(!consent.refusesToken(reply(Driven.profile())))
    #expect(!Self.all[0].call.refusesToken(Driven.refusal(401, 100_004)))
    #expect(!Self.all[8].call.refusesToken(Driven.refusal(401, 100_004)))
  }

  @Test("every Freedom ID device request uses the configured base URL and path")
  func paths() throws {
    let base = try ProviderURL(setting: "https://passport.example.kz")
    let elsewhere = try ProviderPath(setting: "https://other.example.kz/a")
    let paths = try (0...8).map { try ProviderPath(setting: "/\($0)") }
    let change: (inout FreedomIDSettings) -> Void = {
      $0.baseURL = base
      $0.paths.accounts = elsewhere
      $0.paths.loginOTP = paths[1]
      $0.paths.loginOTPVerify = paths[2]
      $0.paths.loginPassword = paths[3]
      $0.paths.loginTwoFactor = paths[5]
      $0.paths.loginResend = paths[6]
      $0.paths.deviceConsent = paths[7]
      $0.paths.deviceToken = paths[8]
    }
    let urls = try Self.all.map { try render($0.call, change).url }
    #expect(
      urls == ["https://other.example.kz/a"]
        + [1, 2, 3, 3, 5, 6, 7, 8, 8].map { "\(base.text)/\($0)" })
  }
}
