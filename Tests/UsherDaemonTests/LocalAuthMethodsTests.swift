import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

@Suite("localAuth.status and localAuth.setPasscode", .timeLimit(.minutes(10)))
struct LocalAuthMethodsTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  private func set(
    _ new: String, old: String? = nil, uid: UInt32? = nil, isAdmin: Bool = false
  ) async throws -> UsherError? {
    let caller = try Caller.anna(isAdmin: isAdmin)
    return await thrown {
      try await harness.localAuth.setPasscode(
        .init(old: old.map { WireSecret($0) }, new: WireSecret(new), uid: uid), caller)
    }
  }

  @Test("localAuth.status shows the caller's methods, reader state and passcode state")
  func status() async throws {
    #expect(
      await harness.localAuth.status(try .anna())
        == .init(
          methods: [], biometric: .init(state: .notEnrolled, fingers: 0),
          passcode: .init(state: .notEnrolled)))
    harness.reader.enrol("left-thumb")
    #expect(try await set("till-4711") == nil)
    #expect(
      await harness.localAuth.status(try .anna())
        == .init(
          methods: [.biometric, .passcode], biometric: .init(state: .ready, fingers: 1),
          passcode: .init(state: .ready)))
    harness.reader.fail(.inUse)
    let biometric = await harness.localAuth.status(try .anna()).biometric
    #expect(biometric.state == .unavailable)
    #expect(biometric.message == "the fingerprint reader is in use")
    harness.reader.fail(.noReader)
    #expect(await harness.localAuth.status(try .anna()).biometric == .init(state: .noReader))
  }

  @Test("a locked fingerprint reader has its end in localAuth.status and is not among the methods")
  func lockedReader() async throws {
    harness.reader.enrol("left-thumb")
    for _ in 1...5 {
      async let outcome = harness.localAuth.scan(.anna) { _ in }
      try await harness.reader.answer(.success(.noMatch))
      _ = await outcome
    }
    let status = await harness.localAuth.status(try .anna())
    #expect(status.methods == [])
    #expect(
      status.biometric
        == .init(
          state: .lockedOut, fingers: 1, lockedUntil: harness.clock.now() + .seconds(30)))
  }

  @Test("a client whose rule asks for confirmation or presence cannot set a first passcode")
  func firstByRule() async throws {
    for edit in [{ $0.confirm = true }, { $0.requireLocalAuthSeconds = 60 }]
      as [(inout ClientRule) -> Void]
    {
      var rule = ClientRule(
        name: "till", match: ClientMatch(user: .id(1000)),
        allow: [try AccessPattern(setting: "*")])
      edit(&rule)
      let till = Caller(
        PeerIdentity(identity: CallerIdentity(uid: 1000, gid: 1000), isAdmin: false, realm: "host"),
        policy: try Policy.of([rule], group: nil))
      let error = await #expect(throws: UsherError.self) {
        _ = try await harness.localAuth.setPasscode(
          .init(old: nil, new: WireSecret("till-4711")), till)
      }
      #expect(error?.reason == .permissionDenied)
    }
    #expect(await harness.localAuth.check(Secret("till-4711"), of: .anna) == .notEnrolled)
    #expect(try await set("till-4711") == nil, "no rule forbids this program to set one")
  }

  @Test("a locked passcode has its end in localAuth.status and is not among the methods")
  func locked() async throws {
    #expect(try await set("till-4711") == nil)
    for _ in 1...5 { _ = await harness.localAuth.check(Secret("wrong"), of: .anna) }
    let status = await harness.localAuth.status(try .anna())
    #expect(status.methods == [])
    #expect(
      status.passcode
        == .init(state: .lockedOut, lockedUntil: harness.clock.now() + .seconds(30)))
    harness.clock.advance(by: .seconds(1))
    let error = try await set("till-4712", old: "till-4711")
    #expect(error?.reason == .rateLimited && error?.detail.retryAfterMs == 29_000)
    #expect(error?.message.hasSuffix("for another 29 s") == true)
  }

  @Test(
    "localAuth.setPasscode refuses a passcode that is blank or not 4 to 128 characters long",
    arguments: [
      "", "123", "    ", "\t\t\n\n", String(repeating: "a", count: 129),
    ])
  func length(text: String) async throws {
    let error = try await set(text)
    #expect(error?.reason == .invalidParams && error?.detail.field == "new")
    #expect(error?.message.contains("4 to 128 characters") == true)
  }

  @Test(
    "localAuth.setPasscode accepts a passcode of 4 to 128 characters",
    arguments: ["1234", "a  b", "äöüß", String(repeating: "é", count: 128)])
  func good(text: String) async throws {
    #expect(try await set(text) == nil)
    #expect(await harness.localAuth.check(Secret(text), of: .anna) == .accepted)
  }

  @Test("localAuth.setPasscode needs the old passcode, and a wrong one gives the attempts left")
  func old() async throws {
    #expect(
      try await set("till-4711", old: "x")?.message
        == "no passcode is set, so \"old\" must be absent")
    #expect(try await set("till-4711") == nil)
    let missing = try await set("till-4712")
    #expect(missing?.reason == .invalidParams && missing?.detail.field == "old")
    let wrong = try await set("till-4712", old: "till-4710")
    #expect(wrong?.reason == .permissionDenied && wrong?.detail.field == "old")
    #expect(wrong?.message == "the old passcode is wrong; 4 attempts left")
    #expect(try await set("till-4712", old: "till-4711") == nil)
  }

  @Test("only the admin socket sets another user's passcode, with or without the old one")
  func admin() async throws {
    #expect(try await set("till-4711", uid: 1001)?.reason == .permissionDenied)
    #expect(try await set("till-4711", uid: 1000)?.reason == .permissionDenied)
    let nobody = try await set("till-4711", uid: 4_000_000, isAdmin: true)
    #expect(nobody?.reason == .notFound && nobody?.detail.field == "uid")
    #expect(nobody?.message == "user 4000000 does not exist")
    #expect(try await set("till-4711", uid: 1001, isAdmin: true) == nil)
    #expect(try await set("till-4712", uid: 1001, isAdmin: true) == nil)
    #expect(await harness.localAuth.check(Secret("till-4712"), of: .bert) == .accepted)
    #expect(await harness.localAuth.check(Secret("till-4712"), of: .anna) == .notEnrolled)
    let wrong = try await set("till-4713", old: "x", uid: 1001, isAdmin: true)
    #expect(wrong?.reason == .permissionDenied, "an old passcode is checked if it is given")
  }

  @Test("setting another user's passcode fails as overloaded while the user database hangs")
  func silentUserDatabase() async throws {
    let users = FakeUsers()
    users.set(1001, .named("bert"))
    let harness = try FlowHarness(users: users.database(nameHolds: .zero))
    let admin = try Caller.anna(isAdmin: true)
    let call = LocalAuthSetPasscode(new: WireSecret("till-4711"), uid: 1001)
    let letGo = users.hang()
    let refused = Task { await thrown { try await harness.localAuth.setPasscode(call, admin) } }
    try await harness.scheduler.isSet(.seconds(2))
    harness.scheduler.advance(by: .seconds(2))
    let error = await refused.value
    #expect(error?.reason == .overloaded && error?.message == UserLookups.noAnswer.message)
    #expect(error?.isRetryable == true && error?.detail.retryAfterMs == 2000)
    #expect(await harness.localAuth.check(Secret("till-4711"), of: .bert) == .notEnrolled)
    // Releases the hanging lookup and the one of the next call.
    for _ in 1...2 { letGo() }
    #expect(await thrown { try await harness.localAuth.setPasscode(call, admin) } == nil)
    #expect(await harness.localAuth.check(Secret("till-4711"), of: .bert) == .accepted)
  }
}

extension Caller {
  /// Anna, whom no rule restricts.
  fileprivate static func anna(isAdmin: Bool = false) throws -> Caller {
    let policy = try Policy.of([], daemonUser: 1000, group: nil)
    return Caller(
      owner: .anna, policy: policy.caller(CallerIdentity(uid: 1000, gid: 1000)),
      isAdmin: isAdmin, label: "uid 1000")
  }
}
