import JSONRPC
import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

@Suite("registration.checkDuplicate and registration.checkUserKey", .timeLimit(.minutes(10)))
struct RegistrationServiceTests {
  /// Services at a provider that gives the same reply to every call, and the calls it received.
  private final class Harness: Sendable {
    let clock = FakeClock()
    private let asked = Mutex<[BSACall]>([])
    private let outcome: Mutex<CallOutcome>
    let dependencies: Dependencies

    init(
      _ outcome: CallOutcome = .reply("{\"rtCode\":0}"), checks: Bool = true, perMinute: Int = 30
    ) throws {
      var settings = BSASettings(
        clientKeyCredential: "key", appPackage: "com.example.app", appVersion: "1")
      settings.registrationChecks = checks
      var config = Config()
      config.providers = [
        ProviderConfig(name: ProviderName("bsa"), settings: settings), try .sample(),
      ]
      config.limits.registrationChecksPerMinute = perMinute
      dependencies = Dependencies.fake(clock, FakeScheduler(clock), config: config)
      self.outcome = Mutex(outcome)
    }

    /// The calls so far.
    var calls: [BSACall] { asked.withLock { $0 } }

    func say(_ outcome: CallOutcome) { self.outcome.withLock { $0 = outcome } }

    /// Returns a new service with its own memory. Use one per test.
    func service() -> RegistrationService {
      RegistrationService(dependencies: dependencies) { call, provider in
        self.asked.withLock { $0.append(call) }
        return self.outcome.withLock { $0 }
      }
    }
  }

  private func isDuplicate(
    _ service: RegistrationService, _ data: String = "ada@example.com", at provider: String = "bsa",
    _ type: RegistrationCheckDuplicate.VerifyType = .email, of owner: Owner = .anna,
    isAdmin: Bool = false
  ) async throws -> Bool {
    try await service.isRegistered(
      service.admit(
        RegistrationCheckDuplicate(
          provider: ProviderName(provider), verifyType: type, verifyData: data),
        .program(of: owner, isAdmin: isAdmin)))
  }

  private func isAvailable(
    _ service: RegistrationService, _ userKey: String = "ada.1815", at provider: String = "bsa",
    of owner: Owner = .anna
  ) async throws -> Bool {
    try await !service.isRegistered(
      service.admit(
        RegistrationCheckUserKey(provider: ProviderName(provider), userKey: userKey),
        .program(of: owner)))
  }

  @Test(
    "BSA rtCode 0 means available, and each rtCode of a duplicate means taken, in both checks",
    arguments: [
      (0, false), (2019, true), (2009, true), (2015, true), (2016, true), (2017, true),
      (3202, true),
    ])
  func answers(code: Int, isTaken: Bool) async throws {
    for status in [200, 409] {
      let harness = try Harness(.reply("{\"rtCode\":\(code),\"rtMsg\":\"\"}", status: status))
      let service = harness.service()
      #expect(try await isDuplicate(service) == isTaken)
      #expect(try await isDuplicate(service, "07700900123", .phoneNumber) == isTaken)
      #expect(try await isAvailable(service) == !isTaken)
    }
  }

  @Test("each registration check calls the provider once, with a normalised phone number")
  func asked() async throws {
    let harness = try Harness()
    let service = harness.service()
    _ = try await isDuplicate(service)
    _ = try await isDuplicate(service, "+44 (7700) 900-123", .phoneNumber)
    _ = try await isAvailable(service)
    #expect(
      harness.calls == [
        .duplicateCheck(try BSAContact(.email, "ada@example.com")),
        .duplicateCheck(try BSAContact(.sms, "+447700900123")), .idCheck(userKey: "ada.1815"),
      ])
  }

  @Test("any other rtCode fails the check as provider_rejected with the provider's code")
  func rejected() async throws {
    let harness = try Harness(.reply("{\"rtCode\":2012,\"rtMsg\":\"back at noon\"}"))
    let known = await thrown { try await isDuplicate(harness.service()) }
    #expect(known?.reason == .providerRejected)
    #expect(
      known?.detail.provider
        == ProviderErrorCode(
          name: ProviderName("bsa"), code: "2012", title: "MAINTENANCE", message: "back at noon"))
    #expect(known?.message == "the server is being maintained")
    harness.say(.reply("{\"rtCode\":2012,\"rtMsg\":\"no ada.1815 here\"}"))
    let repeated = await thrown { try await isAvailable(harness.service()) }
    #expect(repeated?.detail.provider?.code == "2012")
    #expect(repeated?.detail.provider?.message == nil)
    harness.say(.reply("{\"rtCode\":4711}"))
    let unknown = await thrown { try await isAvailable(harness.service()) }
    #expect(unknown?.reason == .providerRejected)
    #expect(unknown?.detail.provider == ProviderErrorCode(name: ProviderName("bsa"), code: "4711"))
  }

  @Test("a missing, failed or malformed reply to a registration check carries no provider code")
  func unanswered() async throws {
    let cases: [(CallOutcome, UsherError.Reason, Int?)] = [
      (.unreachable(message: "no", sent: true), .providerUnreachable, nil),
      (.reply("Bad Gateway", status: 502), .providerUnreachable, nil),
      (.reply("{}", status: 503, after: "7"), .providerUnreachable, 7000),
      (.reply("<html>"), .providerProtocolError, nil),
      (.reply("{\"rtCode\":\"0\"}"), .providerProtocolError, nil),
      (.reply("[]", status: 404), .providerProtocolError, nil),
      (.unreadable(message: "no"), .providerProtocolError, nil),
    ]
    for (outcome, reason, retryAfterMs) in cases {
      let harness = try Harness(outcome)
      let error = await thrown { try await isDuplicate(harness.service()) }
      #expect(error?.reason == reason, "\(outcome)")
      #expect(error?.detail == UsherError.Detail(retryAfterMs: retryAfterMs), "\(outcome)")
    }
  }

  @Test("registration checks are refused if registration_checks is off, also for the admin")
  func off() async throws {
    let harness = try Harness(checks: false)
    let service = harness.service()
    for error in [
      await thrown { try await isDuplicate(service) },
      await thrown { try await isAvailable(service) },
      await thrown { try await isDuplicate(service, isAdmin: true) },
      // The value is not validated.
      await thrown { try await isDuplicate(service, "") },
    ] {
      #expect(error?.reason == .permissionDenied)
      #expect(error?.message.contains("registration_checks") == true)
    }
    #expect(harness.calls.isEmpty)
  }

  @Test("an unknown provider, or one of another type, is an error of the field provider")
  func provider() async throws {
    let harness = try Harness()
    let service = harness.service()
    for (name, reason) in [
      ("nobody", UsherError.Reason.notFound), ("work", .invalidParams), ("local", .invalidParams),
    ] {
      for error in [
        await thrown { try await isDuplicate(service, at: name) },
        await thrown { try await isAvailable(service, at: name) },
      ] {
        #expect(error?.reason == reason)
        #expect(error?.detail.field == "provider")
      }
    }
    #expect(harness.calls.isEmpty)
  }

  @Test(
    "an e-mail address, phone number or user key that cannot be sent is refused without a quote",
    arguments: [
      ("", RegistrationCheckDuplicate.VerifyType.email), ("ada\n@example.com", .email),
      ("- -", .phoneNumber), ("0770\u{7}0900", .phoneNumber),
    ])
  func impossible(data: String, type: RegistrationCheckDuplicate.VerifyType) async throws {
    let harness = try Harness()
    let error = await thrown { try await isDuplicate(harness.service(), data, type) }
    #expect(error?.reason == .invalidParams)
    #expect(error?.detail.field == "verifyData")
    #expect(error?.message.hasPrefix("verifyData must be ") == true)
    #expect(data.isEmpty || error?.message.contains(data) == false)
    let key = await thrown { try await isAvailable(harness.service(), "ada\n1815") }
    #expect(key?.reason == .invalidParams && key?.detail.field == "userKey")
    #expect(key?.message.hasPrefix("userKey must be ") == true)
    #expect(harness.calls.isEmpty)
  }

  @Test("both registration checks share one rate limit per user; refused values do not count")
  func budget() async throws {
    let harness = try Harness(perMinute: 2)
    harness.dependencies.subordinates.apply(SubordinateUsers("1000:300000:10"))
    let service = harness.service()
    for _ in 0..<5 { _ = await thrown { try await isDuplicate(service, "") } }
    _ = try await isDuplicate(service)
    _ = try await isAvailable(service)
    for error in [
      await thrown { try await isDuplicate(service) },
      await thrown { try await isAvailable(service) },
      await thrown { try await isDuplicate(service, isAdmin: true) },
      // By a subordinate id of the user.
      await thrown { try await isAvailable(service, of: Owner(realm: "host", uid: 300_001)) },
    ] {
      #expect(error?.reason == .rateLimited)
      #expect(error?.detail.limit == "registration_checks_per_minute")
      #expect(error?.detail.retryAfterMs == 30_000)
    }
    #expect(try await !isDuplicate(service, of: .bert))
    #expect(harness.calls.count == 3)
    harness.clock.advance(by: .seconds(30))
    #expect(try await isAvailable(service))
    #expect(await thrown { try await isAvailable(service) }?.reason == .rateLimited)
  }

  @Test("registration checks and the other methods of a user do not use up each other's limits")
  func separate() async throws {
    let harness = try LockControllerHarness { config in
      var settings = BSASettings(clientKeyCredential: "key", appPackage: "a", appVersion: "1")
      settings.registrationChecks = true
      config.providers.append(ProviderConfig(name: ProviderName("bsa"), settings: settings))
      config.limits.registrationChecksPerMinute = 1
      config.limits.flowStartsPerMinute = 2
    }
    let lockController = try await harness.begun()
    let service = RPCService(lockController)
    func error(_ method: String, _ params: JSONValue = [:]) async -> UsherError? {
      await thrown { try await service.respond(to: method, params, as: .program()).reply() }
    }
    func start() async -> UsherError? {
      await error(
        "flow.start",
        [
          "provider": "local", "kind": "authenticate",
          "params": ["localAuthType": "passcode", "reason": "open the till"],
        ])
    }
    func check() async -> UsherError? {
      await error("registration.checkUserKey", ["provider": "bsa", "userKey": "ada.1815"])
    }
    for method in ["account.list", "flow.list", "totp.list"] {
      for _ in 0..<3 { #expect(await error(method) == nil, "\(method)") }
    }
    for _ in 0..<2 { #expect(await start() == nil) }
    #expect(await start()?.detail.limit == "flow_starts_per_minute")
    // The check is admitted: it fails only because the provider's credential is not set.
    #expect(await check()?.reason == .providerRejected)
    #expect(await check()?.detail.limit == "registration_checks_per_minute")
    harness.clock.advance(by: .seconds(30))
    #expect(await start() == nil, "a flow may start again before a check is allowed again")
    #expect(await check()?.detail.limit == "registration_checks_per_minute")
    await lockController.end()
  }

  @Test("an error before a registration check is sent, such as a missing credential, is passed on")
  func credential() async throws {
    var settings = BSASettings(clientKeyCredential: "key", appPackage: "a", appVersion: "1")
    settings.registrationChecks = true
    var config = Config()
    config.providers = [ProviderConfig(name: ProviderName("bsa"), settings: settings)]
    let dependencies = Dependencies.fake(FakeClock(), FakeScheduler(FakeClock()), config: config)
    let service = RegistrationService(dependencies: dependencies) {
      _, _ throws(UsherError) in throw UsherError(.providerRejected, "the credential is not set")
    }
    let error = await thrown { try await isAvailable(service) }
    #expect(error?.reason == .providerRejected)
    #expect(error?.message == "the credential is not set")
    #expect(error?.detail == UsherError.Detail())
  }
}

extension CallOutcome {
  fileprivate static func reply(
    _ body: String, status: Int = 200, after seconds: String? = nil
  ) -> CallOutcome {
    .reply(
      HTTPReply(
        status: status, headers: seconds.map { ["retry-after": $0] } ?? [:],
        body: Array(body.utf8)))
  }
}
