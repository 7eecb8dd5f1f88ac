import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

/// A call, and the request that BSA's contract requires for it.
private struct Expected: Sendable, CustomTestStringConvertible {
  var call: BSACall
  var name: String
  var method: HTTPRequest.Method
  /// The path under the base URL.
  var path: String
  /// The query after `lang` and `clientKey`; nil for a call with a body.
  var query: String?
  /// The members of the body besides `lang` and `clientKey`.
  var body: [String: JSONValue]?
  /// The client key of the call: the configured one, or the waiting site's.
  var clientKey = BSAParts.clientKey
  /// The secrets of the request besides the client key.
  var secrets: [Secret] = []

  var testDescription: String { "\(method.rawValue) \(path) \(query ?? "")" }
}

private let site = Sealed(Secret("site-key-secret"))
private let member = BSAMember(userKey: "ada.1815", name: "Ada Lovelace")
private let plain = BSASignInSession(device: "dev-1")
private let scanned = BSASignInSession(device: "dev-1", qrID: "qr/1&x")
private let pushed = BSASignInSession(device: "dev-1", site: site)

private func enrolment(
  _ contact: BSAContact = BSAParts.contact(), authType: BSAAuthType = .biometric,
  userKey: String = "ada.1815", pushToken: String? = nil, isKnown: Bool = false
) -> BSAEnrolment {
  BSAEnrolment(
    userKey: userKey, name: "Ada Lovelace", contact: contact,
    email: isKnown ? nil : BSAParts.email, phoneNumber: isKnown ? nil : BSAParts.phone,
    authType: authType, pushToken: pushToken, appVersion: "2.1", device: "dev-1")
}

/// Returns the body members that a sign-up and a device replacement share, with `changes`.
private func device(_ changes: [String: JSONValue]) -> [String: JSONValue] {
  let members: [String: JSONValue] = [
    "name": "Ada Lovelace", "disposeToken": "dispose-secret", "otpType": "CMMDUP001",
    "authType": 3, "deviceId": "dev-1", "appPackage": "com.example.app", "os": "CMMDOS002",
    "osVersion": "Linux", "appVersion": "2.1", "deviceManufacturer": "Linux",
    "deviceName": "usherd",
  ]
  return members.merging(changes) { $1 }
}

private let person: [String: JSONValue] = [
  "userKey": "ada.1815", "email": "ada@example.com", "phoneNum": "+447700900123",
  "agreeGccs": true, "agreePerson": true, "agreeDevice": true,
]
private let email = BSAParts.contact()
private let sms = BSAParts.contact(.sms)
private let dispose = BSAParts.dispose.unsealed()

private let contacts: [Expected] = [
  Expected(
    call: .duplicateCheck(email), name: "duplicate_check", method: .get,
    path: "/users/common/duplicate-check",
    query: "verifyType=CMMDUP001&verifyData=ada%40example.com"),
  Expected(
    call: .duplicateCheck(sms), name: "duplicate_check", method: .get,
    path: "/users/common/duplicate-check",
    query: "verifyType=CMMDUP002&verifyData=%2B447700900123"),
  Expected(
    call: .idCheck(userKey: "ada@1815"), name: "id_check", method: .get, path: "/idcheck",
    query: "userKey=ada%401815"),
  Expected(
    call: .send(email), name: "mail", method: .post, path: "/mail",
    body: ["email": "ada@example.com", "emailType": "HTML"]),
  Expected(
    call: .send(sms), name: "sms", method: .post, path: "/sms",
    body: ["phoneNum": "+447700900123"]),
  Expected(
    call: .sendToMember(member, email), name: "send_otp", method: .post, path: "/users/send-otp",
    body: [
      "userKey": "ada.1815", "name": "Ada Lovelace", "verifyType": "CMMDUP001",
      "verifyData": "ada@example.com",
    ]),
  Expected(
    call: .sendToMember(member, sms), name: "send_otp", method: .post, path: "/users/send-otp",
    body: [
      "userKey": "ada.1815", "name": "Ada Lovelace", "verifyType": "CMMDUP002",
      "verifyData": "+447700900123",
    ]),
  Expected(
    call: .verify(email, number: BSAParts.number), name: "mail_verify", method: .post,
    path: "/mail/verify", body: ["email": "ada@example.com", "authNum": "739146"],
    secrets: [BSAParts.number]),
  Expected(
    call: .verify(sms, number: BSAParts.number), name: "sms_verify", method: .post,
    path: "/sms/verify", body: ["phoneNum": "+447700900123", "authNum": "739146"],
    secrets: [BSAParts.number]),
]

private let registrations: [Expected] = [
  Expected(
    call: .signUp(enrolment(pushToken: "fcm:1"), disposeToken: dispose), name: "users",
    method: .post, path: "/users", body: device(person.merging(["token": "fcm:1"]) { $1 }),
    secrets: [dispose]),
  Expected(
    call: .signUp(enrolment(sms, authType: .passcode), disposeToken: dispose), name: "users",
    method: .post, path: "/users",
    body: device(person.merging(["otpType": "CMMDUP002", "authType": 4]) { $1 }),
    secrets: [dispose]),
  Expected(
    call: .signUp(enrolment(authType: .none), disposeToken: dispose), name: "users",
    method: .post, path: "/users", body: device(person.merging(["authType": 0]) { $1 }),
    secrets: [dispose]),
  Expected(
    call: .replaceDevice(
      enrolment(userKey: "ada@x.1815", pushToken: "fcm:1", isKnown: true), disposeToken: dispose),
    name: "device", method: .put, path: "/users/ada%40x.1815/device",
    body: device([
      "verifyType": "CMMDUP001", "verifyData": "ada@example.com", "token": "fcm:1",
    ]), secrets: [dispose]),
  Expected(
    call: .replaceDevice(enrolment(sms, isKnown: true), disposeToken: dispose), name: "device",
    method: .put, path: "/users/ada.1815/device",
    body: device([
      "verifyType": "CMMDUP002", "verifyData": "+447700900123", "otpType": "CMMDUP002",
    ]), secrets: [dispose]),
]

private let signIns: [Expected] = [
  Expected(
    call: .deviceCheck(device: "dev-1"), name: "device_check", method: .get,
    path: "/device/check", query: "deviceId=dev-1"),
  Expected(
    call: .exists(device: "dev-1", userKey: "ada@1815"), name: "auth_exist", method: .get,
    path: "/auth/exist", query: "deviceId=dev-1&userKey=ada%401815"),
  Expected(
    call: .start(pushed, userKey: "ada.1815"), name: "auth", method: .post, path: "/auth",
    body: ["deviceId": "dev-1", "userKey": "ada.1815", "authPlatform": "CMMAPF002"],
    clientKey: site.unsealed()),
  Expected(
    call: .start(scanned, userKey: "ada.1815"), name: "auth", method: .post, path: "/auth",
    body: [
      "deviceId": "dev-1", "userKey": "ada.1815", "authPlatform": "CMMAPF002", "qrId": "qr/1&x",
    ]),
  Expected(
    call: .complete(pushed, isProved: true), name: "auth_complete", method: .post,
    path: "/auth/complete", body: ["deviceId": "dev-1", "isSecondaryCertification": true]),
  Expected(
    call: .complete(scanned, isProved: false), name: "auth_complete", method: .post,
    path: "/auth/complete",
    body: ["deviceId": "dev-1", "isSecondaryCertification": false, "qrId": "qr/1&x"]),
  Expected(
    call: .result(pushed, channel: Secret("channel+secret")), name: "auth", method: .get,
    path: "/auth", query: "deviceId=dev-1&channelKey=channel%2Bsecret",
    clientKey: site.unsealed(), secrets: [Secret("channel+secret")]),
  Expected(
    call: .result(plain, channel: Secret("c")), name: "auth", method: .get, path: "/auth",
    query: "deviceId=dev-1&channelKey=c", secrets: [Secret("c")]),
  Expected(
    call: .cancel(pushed), name: "auth", method: .delete, path: "/auth", query: "deviceId=dev-1"),
  Expected(
    call: .cancel(scanned), name: "auth", method: .delete, path: "/auth",
    query: "deviceId=dev-1&qrId=qr%2F1%26x"),
  Expected(
    call: .generateNumber(userKey: "ada.1815", device: "dev-1"), name: "otp_generate",
    method: .post, path: "/otp/generate", body: ["userKey": "ada.1815", "deviceId": "dev-1"]),
  Expected(
    call: .dropNumber(Secret("48/26?13")), name: "otp", method: .delete,
    path: "/otp/48%2F26%3F13", query: "", secrets: [Secret("48/26?13")]),
]

@Suite("Calls to BSA")
struct BSACallTests {
  private func render(
    _ call: BSACall, _ change: (inout BSASettings) -> Void = { _ in }
  ) throws -> HTTPRequest {
    try call.render(
      RenderContext(
        provider: Provider(BSAParts.provider(change))!, credential: BSAParts.clientKey,
        transition: moment()))
  }

  @Test(
    "each BSA call renders the request that the provider contract describes",
    arguments: contacts + registrations + signIns)
  fileprivate func requests(_ expected: Expected) throws {
    let request = try render(expected.call)
    #expect(expected.call.name == expected.name)
    #expect(expected.call.account == nil && expected.call.clientToken == nil)
    #expect(request.method == expected.method)
    var headers = ["Accept": "application/json"]
    var url = "https://api.fnsbsa.com/api/v3" + expected.path
    if let body = expected.body {
      headers["Content-Type"] = "application/json"
      let common: [String: JSONValue] = [
        "lang": "en", "clientKey": .string(expected.clientKey.revealed()),
      ]
      let sent = try JSONValue(parsing: #require(request.body).revealed())
      #expect(sent == .object(body.merging(common) { $1 }))
    } else {
      let query = try #require(expected.query)
      url += "?lang=en&clientKey=\(expected.clientKey.revealed())"
      url += query.isEmpty ? "" : "&\(query)"
      #expect(request.body == nil)
    }
    #expect(request.url == url)
    #expect(
      Dictionary(request.headers.map { ($0.name, $0.value.revealed()) }) { $0 + $1 } == headers)
    #expect(request.secrets == [expected.clientKey] + expected.secrets)
  }

  @Test("a BSA call and its request print no secret", arguments: contacts + registrations + signIns)
  fileprivate func secrecy(_ expected: Expected) throws {
    var dumped = "\(expected.call) \(String(reflecting: expected.call))"
    dump(expected.call, to: &dumped)
    // The query contains the client key. The URL of a request is never logged.
    var request = try render(expected.call)
    request.url = ""
    dump(request, to: &dumped)
    for secret in BSAParts.secrets + expected.secrets.map({ $0.revealed() }) where secret != "c" {
      #expect(!dumped.contains(secret))
    }
  }

  @Test("secrets that a reply of BSA repeats are removed from it")
  func echoes() throws {
    for expected in contacts + registrations + signIns {
      let request = try render(expected.call)
      for secret in request.secrets.map({ $0.revealed() }) where secret.count >= 8 {
        for status in [200, 400, 500] {
          let answer = reply(["rtCode": 2001, "rtMsg": .string("not \(secret)")], status: status)
          let told = String(decoding: answer.withoutEchoes(of: request).body, as: UTF8.self)
          #expect(!told.contains(secret), "\(expected.testDescription)")
        }
      }
    }
  }

  @Test("a BSA call has the configured language, app and device description")
  func settings() throws {
    let change: (inout BSASettings) -> Void = {
      $0.lang = "ko-KR"
      $0.appPackage = "org.example.till"
      $0.deviceName = "till 7"
      $0.deviceManufacturer = "Acme & Co"
      $0.osVersion = "Debian 13"
    }
    let body = try render(.signUp(enrolment(), disposeToken: dispose), change).body
    let members = try JSONValue(parsing: #require(body).revealed())
    #expect(members["lang"] == "ko-KR" && members["appPackage"] == "org.example.till")
    #expect(members["deviceName"] == "till 7" && members["osVersion"] == "Debian 13")
    #expect(members["deviceManufacturer"] == "Acme & Co" && members["os"] == "CMMDOS002")
    let url = try render(.idCheck(userKey: "ada1"), change).url
    #expect(url.hasSuffix("/idcheck?lang=ko-KR&clientKey=client-key-secret&userKey=ada1"))
  }

  @Test("the BSA client key is escaped in a query")
  func escaping() throws {
    let context = RenderContext<BSASettings>(
      provider: Provider(BSAParts.provider())!, credential: Secret("a+b/c=&d e"),
      transition: moment())
    let url = try BSACall.idCheck(userKey: "ada1").render(context).url
    #expect(url.contains("clientKey=a%2Bb%2Fc%3D%26d+e&userKey=ada1"))
  }

  @Test("a BSA call without a client key is not rendered")
  func withoutKey() throws {
    let context = RenderContext<BSASettings>(
      provider: Provider(BSAParts.provider())!, credential: nil, transition: moment())
    for expected in contacts + registrations + signIns {
      let error = #expect(throws: UsherError.self) { try expected.call.render(context) }
      #expect(error?.reason == .internalError)
      #expect(error?.message == String.missing("bsa-client-key", of: ProviderName("bsa")))
    }
  }
}

@Suite("Configured paths of BSA")
struct BSAPathTests {
  private struct Case {
    var path: WritableKeyPath<BSAPaths, ProviderPath>
    var calls: [BSACall]
    var placeholder = ""
    var value = ""
  }

  private static var cases: [Case] {
    [
      Case(path: \.duplicateCheck, calls: [.duplicateCheck(email)]),
      Case(path: \.idCheck, calls: [.idCheck(userKey: "ada1")]),
      Case(path: \.mail, calls: [.send(email)]),
      Case(path: \.sms, calls: [.send(sms)]),
      Case(path: \.mailVerify, calls: [.verify(email, number: BSAParts.number)]),
      Case(path: \.smsVerify, calls: [.verify(sms, number: BSAParts.number)]),
      Case(path: \.users, calls: [.signUp(enrolment(), disposeToken: dispose)]),
      Case(path: \.sendOTP, calls: [.sendToMember(member, email), .sendToMember(member, sms)]),
      Case(
        path: \.device, calls: [.replaceDevice(enrolment(), disposeToken: dispose)],
        placeholder: "{userKey}", value: "ada.1815"),
      Case(path: \.deviceCheck, calls: [.deviceCheck(device: "dev-1")]),
      Case(path: \.authExist, calls: [.exists(device: "dev-1", userKey: "ada1")]),
      Case(
        path: \.auth,
        calls: [
          .start(plain, userKey: "ada1"), .result(plain, channel: Secret("c")), .cancel(plain),
        ]),
      Case(path: \.authComplete, calls: [.complete(plain, isProved: true)]),
      Case(path: \.otpGenerate, calls: [.generateNumber(userKey: "ada1", device: "dev-1")]),
      Case(
        path: \.otp, calls: [.dropNumber(BSAParts.number)], placeholder: "{code}", value: "739146"),
    ]
  }

  @Test("each BSA call uses its configured path, under the base URL or as a whole URL")
  func settings() throws {
    let base = try ProviderURL(setting: "https://bsa.example.com/v9")
    for (written, under) in [
      ("/elsewhere/", "https://bsa.example.com/v9/elsewhere/"),
      ("https://other.example.org/x/", "https://other.example.org/x/"),
    ] {
      for paths in Self.cases {
        let path = try ProviderPath(setting: "\(written)\(paths.placeholder)")
        let provider = BSAParts.provider {
          $0.baseURL = base
          $0.paths[keyPath: paths.path] = path
        }
        for call in paths.calls {
          let request = try call.render(
            RenderContext(
              provider: Provider(provider)!, credential: BSAParts.clientKey, transition: moment()))
          #expect(request.url.split(separator: "?").first ?? "" == under + paths.value)
        }
      }
    }
  }
}
