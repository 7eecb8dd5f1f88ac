import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

private typealias Driven = DeviceDriven
private typealias Event = DeviceDriven.Event

/// A state of the flow, and the events that have a meaning in it.
private struct Standing {
  let name: String
  let driven: Driven
  /// The names of the events that have a meaning in the state, as in `everything()`.
  let meant: Set<String>

  init(_ name: String, _ driven: Driven, _ meant: Set<String>) {
    self.name = name
    self.driven = driven
    self.meant = meant
  }

  private static let choice: Set<String> = ["choice", "way", "other", "back"]

  static func all() throws -> [Standing] {
    var keeping = try Driven.checking()
    keeping.answered(Driven.login())
    var paused = try Driven.knocking()
    paused.answered(Driven.gone)
    var checkPaused = try Driven()
    checkPaused.answered(Driven.gone)
    var donePaused = try Driven.completing()
    donePaused.answered(Driven.lost)
    var asking = try Driven.proving()
    asking.answer(.availability(.init(biometric: .noReader, passcode: .ready)))
    var scanning = try Driven.proving()
    scanning.answer(.availability(.init(biometric: .ready(hasChanged: false), passcode: .ready)))
    var passcode = asking
    passcode.say(.passcode(Secret("1234-passcode")))
    return [
      Standing("refused", try Driven(grants: []), ["resumed"]),
      Standing("account check", try Driven(), ["accounts", "resumed"]),
      Standing("account check paused", checkPaused, ["woken", "resumed"]),
      Standing("choosing a way", try .choosing(), choice),
      Standing("form", try .form(.phoneOTP), ["form", "back"]),
      Standing("sending", try .named(.phoneOTP), ["otp", "resumed"]),
      Standing("code", try .coded(), ["code", "resend", "back"]),
      Standing("checking the code", try .checking(), ["otpCheck", "resumed"]),
      Standing("resending", try .resending(), ["resent", "resumed"]),
      Standing("password", try .named(.emailPassword), ["password", "back"]),
      Standing("checking the password", try .knocking(), ["login", "resumed"]),
      Standing("password paused", paused, ["woken", "resumed"]),
      Standing("second factor", try .second(), ["code", "resend", "back"]),
      Standing("checking the second", try .checkingSecond(), ["twoFactor", "resumed"]),
      Standing("keeping", keeping, ["kept", "resumed"]),
      Standing("home", try .home(), choice),
      Standing("looking", try .proving(), ["standing", "resumed", "back"]),
      Standing(
        "scanning", scanning,
        ["passcode", "cancel", "fallback", "scanned", "hint", "resumed", "back"]),
      Standing("asking", asking, ["passcode", "cancel", "fallback", "back"]),
      Standing("checking the passcode", passcode, ["checked", "resumed", "back"]),
      Standing("recalling", try .recalling(), ["consents", "resumed"]),
      Standing(
        "permissions", try .permissions(remembered: ["read.firstname"]),
        ["granted", "denied", "back"]),
      Standing("completing", try .completing(), ["consent", "resumed"]),
      Standing("completion paused", donePaused, ["woken", "resumed"]),
    ]
  }
}

@Suite("Flow contract of the Freedom ID device flow")
struct DeviceContractTests {
  private static let secrets = [
    "739146", "Pass-word-secret", "access-secret", "refresh-secret", "api-key-secret",
    "77011234567", "aigerim@example.kz", "1234-passcode",
  ]

  /// Returns every event that can arrive, each with a name.
  private func everything() throws -> [(String, Event)] {
    let inputs: [(String, FlowInput)] = [
      ("code", .code(Driven.code, fields: [:])), ("password", .password(Driven.password)),
      ("choice", .choice("nobody")), ("way", .choice("phoneOTP")), ("other", .choice("other")),
      ("form", .form(["phone": Driven.phone])), ("granted", .granted(["read.phone"])),
      ("back", .back(.choose)),
    ]
    let daemonAnswers: [(String, DaemonAnswer)] = [
      ("kept", .stored(Driven.aigerim.id)),
      (
        "standing",
        .localAuth(.availability(.init(biometric: .ready(hasChanged: false), passcode: .ready)))
      ),
    ]
    let calls = try everyCall()
    return Event.common + inputs.map { ($0, .input($1)) }
      + calls.map { ($0, .called($1, .reply(reply($2)))) }
      + daemonAnswers.map { ($0, .answered($1)) }
  }

  /// Returns every call with a name and the provider's answer.
  private func everyCall() throws -> [(String, FreedomDeviceCall, JSONValue)] {
    let consent = try #require(Driven.completing().pending)
    return [
      ("accounts", .accounts(device: installation), Driven.list([])),
      ("accounts of another", .accounts(device: "other"), Driven.list([])),
      ("otp", .otp(phone: Driven.phone, device: installation), Driven.challenge()),
      ("another otp", .otp(phone: Secret("+1"), device: installation), Driven.challenge()),
      ("resent", .resend(challenge: "ch-1", device: installation), Driven.challenge()),
      ("other resent", .resend(challenge: "ch-0", device: installation), Driven.challenge()),
      (
        "otpCheck", .otpCheck(challenge: "ch-1", code: Driven.code, device: installation),
        Driven.login()
      ),
      (
        "otherCheck", .otpCheck(challenge: "ch-0", code: Driven.code, device: installation),
        Driven.login()
      ),
      (
        "twoFactor", .twoFactor(challenge: "ch-2", code: Driven.code, device: installation),
        Driven.login()
      ),
      (
        "login", .password(Driven.emailName, password: Driven.password, device: installation),
        Driven.login()
      ),
      (
        "other login",
        .password(Driven.phoneName, password: Driven.password, device: installation),
        Driven.login()
      ),
      ("consent", consent, Driven.profile()),
      ("renewal", .renewal(Secret("r")), Driven.login()),
      ("untying", .untying(Secret("r")), [:]),
    ]
  }

  @Test("every state of the Freedom ID device flow fulfils the contract and ignores stray events")
  func everyState() throws {
    let everything = try everything()
    let flows = try Standing.all().map { standing in
      DrivenFlow(
        standing.name, standing.driven.flow,
        unrelatedEvents: everything.filter { !standing.meant.contains($0.0) }.map(\.1))
    }
    #expect(checkProviderContract(flows, secrets: Self.secrets, at: moment()) == [])
    try checkStoredForms(flows)
  }

  @Test("no state of the Freedom ID device flow ignores an event that has a meaning in it")
  func everyEvent() throws {
    let everything = try everything()
    var met: Set<String> = []
    for standing in try Standing.all() {
      for (name, event) in everything where standing.meant.contains(name) {
        var driven = standing.driven
        driven.receive(event)
        #expect(driven.last != .ignore, "\(standing.name): \(name)")
        met.insert(name)
      }
    }
    let all = try Standing.all().reduce(into: Set<String>()) { $0.formUnion($1.meant) }
    #expect(met == all)
  }

  @Test(
    "a restored Freedom ID device flow keeps the step that asks the user, or repeats its request")
  func restarts() throws {
    for standing in try Standing.all() {
      var driven = standing.driven
      let view = driven.flow.view
      let isAsking = driven.isAsking
      try driven.restart()
      guard standing.meant.contains("resumed") else {
        #expect(driven.last == .ignore, "\(standing.name)")
        #expect(driven.flow.view == view)
        #expect(isAsking)
        continue
      }
      #expect(driven.last != .ignore, "\(standing.name)")
    }
  }

  @Test("the Freedom ID device flow refuses malformed or unknown parameters")
  func params() throws {
    let schema = StrictDecoding.schema(of: FreedomDeviceAuthorize.Params.self)
    let good: JSONValue = ["grants": ["read.phone"], "apiKey": "k", "account": "acc_1"]
    let params = try StrictDecoding.decode(
      FreedomDeviceAuthorize.Params.self, from: good, schema: schema)
    #expect(params.grants == ["read.phone"])
    #expect(params.apiKey?.secret == Secret("k"))
    #expect(params.account == AccountID("acc_1"))
    let wrong: [JSONValue] = [
      [:], ["grants": "read.phone"], ["grants": [1]], ["grants": [], "scope": "x"],
      ["grants": [], "apiKey": 7], ["grants": nil],
    ]
    for params in wrong {
      #expect(throws: UsherError.self) {
        try StrictDecoding.decode(
          FreedomDeviceAuthorize.Params.self, from: params, schema: schema)
      }
    }
    #expect(FreedomDeviceAuthorize.kind == "authorize")
    #expect(!FreedomDeviceAuthorize.needsAccount)
  }
}
