import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherFlows

@Suite("Calls to Truecaller")
struct TruecallerCallTests {
  private func render(
    _ call: TruecallerCall, key: Secret? = appKey,
    _ change: (inout TruecallerSettings) -> Void = { _ in }
  ) throws -> HTTPRequest {
    try call.render(
      RenderContext(provider: Provider(truecaller(change))!, credential: key, transition: moment()))
  }

  private func headers(_ request: HTTPRequest) -> [String: String] {
    Dictionary(request.headers.map { ($0.name, $0.value.revealed()) }) { $0 + $1 }
  }

  private func body(_ request: HTTPRequest) throws -> JSONValue? {
    try request.body.map { try JSONValue(parsing: $0.revealed()) }
  }

  private let common = [
    "Accept": "application/json", "appKey": "app-key-secret",
    "appLink": "https://acme.example.com/truecaller", "sdkVersion": "0.2.3",
    "sdkVariant": "native",
  ]
  private let typed = ["Content-Type": "application/json"]

  /// Returns the call of a flow that writes the name.
  private func update(_ country: String = "IN", _ number: String = "9876543210") throws
    -> TruecallerCall
  {
    var driven = try DrivenVerification(number, country)
    driven.toToken()
    return try #require(driven.calls.first)
  }

  @Test("Truecaller's create call has the SDK's parameters and the installation's id")
  func create() throws {
    let request = try render(.create(phone("9876543210", "in"), installation: installation))
    #expect(request.method == .post)
    #expect(request.url == "https://api4.truecaller.com/v1/otp/installation/create")
    #expect(headers(request) == common.merging(typed) { $1 })
    #expect(
      try body(request) == [
        "countryCodeName": "IN", "phoneNumber": "9876543210", "clientId": 16,
        "phonePermission": false, "os": "ios", "version": "1.0", "sequence": 1,
        "deviceId": .string(installation), "simSerial": [.string(installation)],
      ])
  }

  @Test("Truecaller's verify call has the number, the code and the verification token")
  func verify() throws {
    let request = try render(.verify(phone(), code: otp, token: verificationToken))
    #expect(request.method == .post)
    #expect(request.url == "https://api4.truecaller.com/v1/otp/installation/verify")
    #expect(headers(request) == common.merging(typed) { $1 })
    #expect(
      try body(request) == [
        "countryCodeName": "IN", "phoneNumber": "9876543210", "secretToken": "123456",
        "verificationToken": "verification-secret",
      ])
  }

  @Test("the Truecaller calls that write the name and read the profile have the access token")
  func profile() throws {
    let bearer = ["Authorization": "Bearer otp-access-secret"]
    let update = try render(update())
    #expect(update.method == .post)
    #expect(update.url == "https://outline-noneu.truecaller.com/v1/profile")
    #expect(headers(update) == common.merging(typed) { $1 }.merging(bearer) { $1 })
    #expect(try body(update) == ["firstName": "Asha", "lastName": "Rao"])
    let read = try render(.profile(phone(), accessToken: otpToken))
    #expect(read.method == .get)
    #expect(read.url == update.url)
    #expect(headers(read) == common.merging(bearer) { $1 })
    #expect(read.body == nil)
  }

  @Test(
    "Truecaller's validation call has the method, URL and header of its generation",
    arguments: [
      (
        .legacy, .post, "https://api4.truecaller.com/v1/otp/installation/validate/a%2Fb",
        ["appKey": "app-key-secret"]
      ),
      (
        .sdk28, .get,
        "https://sdk-otp-verification-noneu.truecaller.com"
          + "/v1/otp/installation/phoneNumberDetail/a%2Fb", ["appKey": "app-key-secret"]
      ),
      (
        .oauth, .get,
        "https://sdk-otp-verification-noneu.truecaller.com"
          + "/v1/otp/client/installation/phoneNumberDetail/a%2Fb", ["clientId": "acme-oauth"]
      ),
    ] as [(TokenValidation, HTTPRequest.Method, String, [String: String])])
  func validate(
    generation: TokenValidation, method: HTTPRequest.Method, url: String, header: [String: String]
  ) throws {
    let request = try render(.validate(accessToken: Secret("a/b"))) {
      $0.validation = generation
      $0.clientID = "acme-oauth"
    }
    #expect(request.method == method)
    #expect(request.url == url)
    #expect(headers(request) == header.merging(["Accept": "application/json"]) { $1 })
    #expect(request.body == nil)
  }

  @Test("a Truecaller validation call is not rendered if no validation is configured")
  func noValidation() {
    #expect(throws: UsherError.self) { try render(.validate(accessToken: otpToken)) }
  }

  @Test("the call for Truecaller's signature keys needs no app key")
  func keys() throws {
    let request = try render(.keys, key: nil)
    #expect(request.url == "https://api4.truecaller.com/v1/key")
    #expect(headers(request) == ["Accept": "application/json"])
  }

  @Test("a Truecaller call without the app key fails and names the credential that is not set")
  func noKey() throws {
    let calls: [TruecallerCall] = [
      .create(try phone(), installation: installation),
      .verify(try phone(), code: otp, token: verificationToken), try update(),
      .profile(try phone(), accessToken: otpToken),
    ]
    for call in calls {
      for key in [nil, Secret("")] {
        let error = #expect(throws: UsherError.self) { try render(call, key: key) }
        #expect(error?.message == String.missing("app-key", of: ProviderName("truecaller")))
      }
    }
  }

  @Test("calls to Truecaller use the configured base URLs")
  func elsewhere() throws {
    let local = try ProviderURL(setting: "http://127.0.0.1:8080/tc")
    let change: (inout TruecallerSettings) -> Void = {
      $0.otpBaseURL = local
      $0.profileBaseURLEU = local
    }
    let create = try render(.create(phone(), installation: installation), change)
    #expect(create.url == "http://127.0.0.1:8080/tc/v1/otp/installation/create")
    #expect(try render(.keys, change).url == "http://127.0.0.1:8080/tc/v1/key")
    let german = try phone("15112345678", "de")
    let profile = try render(.profile(german, accessToken: otpToken), change)
    #expect(profile.url == "http://127.0.0.1:8080/tc/v1/profile")
  }

  @Test("secrets that a reply of Truecaller repeats are removed from it")
  func echoes() throws {
    let verify = try render(.verify(phone(), code: otp, token: verificationToken))
    let validate = try render(.validate(accessToken: otpToken)) { $0.validation = .legacy }
    let profile = try render(.profile(phone(), accessToken: otpToken))
    let create = try render(.create(phone(), installation: installation))
    let texts: [(HTTPRequest, String)] = [
      (create, "\(installation) is unknown"), (create, "app-key-secret is unknown"),
      (verify, "verification-secret is unknown"), (verify, "app-key-secret is unknown"),
      (validate, "otp-access-secret is unknown"), (profile, "otp-access-secret is unknown"),
    ]
    for (request, text) in texts {
      for status in [200, 404, 500] {
        let answer = reply(["code": .string(text), "message": .string(text)], status: status)
        let told = answer.withoutEchoes(of: request).jsonObject
        #expect(told == ["code": "… is unknown", "message": "… is unknown"])
      }
    }
  }

  @Test("a Truecaller call and its request print no secret")
  func secrecy() throws {
    let calls: [TruecallerCall] = [
      .verify(try phone(), code: otp, token: verificationToken), try update(),
      .profile(try phone(), accessToken: otpToken), .validate(accessToken: otpToken),
    ]
    for call in calls {
      var dumped = "\(call) \(String(reflecting: call))"
      dump(call, to: &dumped)
      if call.name != "validate" { dump(try render(call), to: &dumped) }
      let secrets = [otp, verificationToken, otpToken, appKey].map { $0.revealed() }
      for secret in secrets + ["Asha", "Rao"] {
        #expect(!dumped.contains(secret), "\(call.name)")
      }
    }
  }

  @Test("the probe of Truecaller succeeds if the reply has an RSA key")
  func probe() throws {
    let probe = try #require(truecaller().definition.probe)
    #expect(probe.call.name == "key")
    #expect(probe.evaluate(.reply(reply([["keyType": "RSA", "key": "AA=="]]))).fine)
    #expect(!probe.evaluate(.reply(reply([]))).fine)
    #expect(!probe.evaluate(.unreachable(message: "gone", sent: false)).fine)
  }

  @Test("an access token of Truecaller cannot be revoked")
  func tokens() throws {
    let handling = truecaller().definition.tokens(attributes: [:], installation: nil)
    guard case .known(let dialect) = handling else { return #expect(Bool(false)) }
    #expect(dialect.revocation(otpToken, .accessToken, bearer: nil) == nil)
    #expect(truecaller().credentialName == "app-key")
  }
}
