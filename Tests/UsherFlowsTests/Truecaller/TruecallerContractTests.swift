import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

private let secrets = [
  "123456", "verification-secret", "otp-access-secret", "app-key-secret", "Asha-secret",
]

@Suite("Flow contract of Truecaller verifyPhone")
struct TruecallerContractTests {
  private typealias Event = FlowEvent<TruecallerCall>

  private static let inputs: [Event] = [.input(.resend), DrivenVerification.code()]
  private static let verdicts: [Event] = [.idTokenVerified(.genuine(payload: []))]
  private static let gone = CallOutcome.unreachable(message: "gone", sent: false)

  /// Events that no state handles.
  private let foreign: [Event]
  /// Events that a state handles only if it waits for the user or for a signature check.
  private let busy: [Event]
  /// The outcome of the flow's first call.
  private let early: Event
  private var flows: [DrivenFlow<VerifyPhone>] = []

  init() throws {
    let other = try phone("9876543211")
    foreign = [
      .called(.keys, .reply(reply([]))), .input(.denied), .input(.password(Secret("p"))),
      .called(.create(other, installation: installation), .reply(reply(DrivenVerification.sent))),
      .called(
        .verify(try phone(), code: otp, token: Secret("other")),
        .reply(reply(["accessToken": "a"]))),
      .called(.profile(other, accessToken: otpToken), .reply(reply([:]))),
      .called(.profile(try phone(), accessToken: Secret("other")), .reply(reply([:]))),
      .discovered(.unreachable(message: "gone")), .listening(redirectURI: "http://127.0.0.1:1/"),
      .listenFailed("taken"), .redirected(AuthorizationResponse(code: Secret("c"))),
    ]
    busy = foreign + Self.inputs + Self.verdicts
    early = .called(
      .create(try phone(), installation: installation), .reply(reply(DrivenVerification.sent)))
  }

  @Test("Truecaller verifyPhone keeps the flow contract in every state of a verification")
  mutating func verification() throws {
    var driven = try DrivenVerification(provider: truecaller { $0.validation = .sdk28 })
    add("creating", driven, busy + [.woken])
    driven.answered(Self.gone)
    add("creation paused", driven, busy + [early])
    driven.receive(.woken)
    driven.toCode()
    add("otpInitiated", driven, foreign + Self.verdicts + [early, .woken, .resumed])
    driven.receive(DrivenVerification.code(first: "1"))
    add("a bad name", driven, foreign + [early, .woken])

    driven.receive(DrivenVerification.code(first: "Asha-secret"))
    let verify = try #require(driven.calls.first)
    add("verifying", driven, busy + [early, .woken])
    driven.answered(Self.gone)
    let late = Event.called(verify, .reply(reply(["accessToken": "otp-access-secret"])))
    add("check paused", driven, busy + [early, late])
    driven.receive(.woken)
    driven.receive(late)
    driven.keeps = false
    try addProfile(&driven, stale: [early, late])
    try check()
  }

  /// Adds the states after the code is accepted, which read the profile and check its signature.
  private mutating func addProfile(_ driven: inout DrivenVerification, stale: [Event]) throws {
    for name in ["validating", "updating", "reading"] {
      add(name, driven, busy + stale + [.woken])
      let call = try #require(driven.calls.first)
      driven.answered(.unreachable(message: "gone", sent: true))
      add("\(name) paused", driven, busy + stale + [.called(call, .reply(reply([:])))])
      driven.receive(.woken)
      if name != "reading" { driven.answered(["phoneNumber": 919_876_543_210]) }
      if name == "validating" {
        add("storing", driven, busy + stale + [.woken])
        driven.receive(.answered(.stored(AccountID("acc_1"))))
      }
    }
    let payload = Data(DrivenVerification.profile.encoded()).base64EncodedString()
    driven.answered(["payload": .string(payload), "signature": "AA=="])
    add("checking", driven, foreign + Self.inputs + stale + [.woken])
    #expect(driven.state == "verificationComplete")
  }

  @Test("Truecaller verifyPhone keeps the flow contract in the states that end it early")
  mutating func ends() throws {
    var refused = try Phase.update.driven()
    refused.answered(["code": 8], status: 422)
    add("reading after a refused name", refused, busy + [early, .woken])

    var before = try DrivenVerification()
    before.answered(["accessToken": "otp-access-secret", "status": 1])
    add("verifiedBefore", before, busy + [early, .woken])
    add("refused", try DrivenVerification("1"), busy + [early, .woken])
    try check()
  }

  private mutating func add(
    _ name: String, _ driven: DrivenVerification, _ unrelatedEvents: [Event]
  ) {
    flows.append(.init(name, driven.flow, unrelatedEvents: unrelatedEvents))
  }

  private func check() throws {
    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows, variant: "-3")
  }

  /// The forms of the versions that stored the account only at the end of a flow.
  private static let oldForms: [String: String] = [
    "creating": "creating", "creation paused": "creating", "otpInitiated": "otpInitiated",
    "a bad name": "otpInitiated", "otpReceived": "verifying", "check paused": "verifying",
    "validating": "otpReceived", "validating paused": "otpReceived",
    "updating": "verificationComplete", "updating paused": "verificationComplete",
    "reading": "verificationComplete", "reading paused": "verificationComplete",
    "checking": "verificationComplete", "keeping": "verificationComplete",
    "verifiedBefore": "verifiedBefore", "refused": "creating",
  ]

  @Test("a Truecaller verifyPhone that an earlier version stored goes on, and stores its account")
  func earlierForms() throws {
    let forms: [String: VerifyPhone] = try storedForms()
    #expect(forms.mapValues(\.view.state) == Self.oldForms)
    let unstored = ["updating", "reading", "checking", "verifiedBefore"]
    for (name, form) in forms where unstored.contains(String(name.prefix { $0 != " " })) {
      var flow = form
      var moment = moment()
      guard case .proceed(let effects) = flow.receive(.resumed, at: &moment),
        case .store(let grant)? = effects.first, effects.count == 1
      else {
        Issue.record("\(name) does not store its account")
        continue
      }
      #expect(grant.tokens?.accessToken.unsealed() == otpToken, "\(name)")
      let next = flow.receive(.answered(.stored(AccountID("acc_1"))), at: &moment)
      guard case .proceed(let calls) = next, case .call(let call)? = calls.first else {
        Issue.record("\(name) does not go on")
        continue
      }
      #expect(call.name == (name == "verifiedBefore" ? "profile" : "profile_update"), "\(name)")
    }
    var keeping = try #require(forms["keeping"])
    var moment = moment()
    guard case .proceed(let effects) = keeping.receive(.resumed, at: &moment),
      case .store? = effects.first
    else { return #expect(Bool(false), "the account is not stored") }
    guard case .fail = keeping.receive(.answered(.stored(AccountID("acc_1"))), at: &moment) else {
      return #expect(Bool(false), "the flow does not fail")
    }
  }

  @Test("Truecaller verifyPhone names the parameter that is missing, mistyped or unknown")
  func params() throws {
    let schema = StrictDecoding.schema(of: VerifyPhone.Params.self)
    let good: JSONValue = ["phoneNumber": "9876543210", "countryCode": "IN", "appKey": "k"]
    let params = try StrictDecoding.decode(VerifyPhone.Params.self, from: good, schema: schema)
    #expect(params.appKey?.secret == Secret("k"))
    let wrong: [(params: JSONValue, field: String)] = [
      (["phoneNumber": "9876543210"], "params.countryCode"),
      (["countryCode": "IN"], "params.phoneNumber"),
      (["phoneNumber": "9876543210", "countryCode": nil], "params.countryCode"),
      (["phoneNumber": 9_876_543_210, "countryCode": "IN"], "params.phoneNumber"),
      (["phoneNumber": "9876543210", "countryCode": "IN", "keepAlive": true], "params.keepAlive"),
    ]
    for (params, field) in wrong {
      let error = #expect(throws: UsherError.self) {
        try StrictDecoding.decode(
          VerifyPhone.Params.self, from: params, schema: schema, prefix: "params")
      }
      #expect(error?.detail.field == field, "\(params)")
    }
  }
}
