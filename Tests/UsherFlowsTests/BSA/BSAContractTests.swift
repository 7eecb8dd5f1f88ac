import Foundation
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

/// A flow in one state, and the events that this state handles.
private struct Standing<Machine: FlowMachine> where Machine.Call == BSACall {
  let name: String
  let driven: DrivenBSA<Machine>
  /// The names of the events that the state handles, as in `everything()`.
  let meant: Set<String>

  init(_ name: String, _ driven: DrivenBSA<Machine>, _ meant: Set<String>) {
    self.name = name
    self.driven = driven
    self.meant = meant
  }

  func after(_ name: String, _ outcome: CallOutcome) -> Standing {
    var driven = driven
    driven.answered(outcome)
    return Standing("\(self.name), \(name)", driven, ["woken", "resumed"])
  }
}

extension Standing where Machine == BSAVerifyContact {
  static func all() throws -> [Self] {
    let sending = Self("sending", try .init(), ["send", "resumed"])
    let verifying = Self("verifying", try .verifying(), ["verify", "resumed"])
    return [
      Self(
        "refused",
        try .init(.init(sendType: .email, sendTarget: ""), BSAParts.origin()), ["resumed"]),
      sending, sending.after("gone", BSAParts.gone),
      Self("otpSent", try .sent(), ["code", "resend", "back"]),
      verifying, verifying.after("gone", BSAParts.gone),
    ]
  }
}

extension Standing where Machine == BSARegister {
  static func all() throws -> [Self] {
    var scanning = try DrivenRegister.handled { $0.authType = .biometric }
    scanning.answer(.availability(.init(biometric: .ready(hasChanged: false), passcode: .ready)))
    var asking = try DrivenRegister.handled()
    asking.look()
    var checking = asking
    checking.say(.passcode(Secret("1234-passcode")))
    var over = try DrivenRegister.signingUp()
    over.refused(2009)
    var verifying = try DrivenRegister()
    verifying.said()
    let sent = verifying
    verifying.type()
    let signingUp = Self("signingUp", try .signingUp(), ["signUp", "resumed"])
    return [
      Self("refused", try .init { $0.agreeGccs = false }, ["resumed"]),
      Self("sending", try .init(), ["send", "resumed"]),
      Self("otpSent", sent, ["code", "resend", "back"]),
      Self("verifying", verifying, ["verify", "resumed"]),
      Self("looking", try .handled(), ["standing", "resumed"]),
      Self("scanning", scanning, ["cancel", "fallback", "scanned", "hint", "resumed"]),
      Self("asking", asking, ["passcode", "cancel", "fallback"]),
      Self("checking", checking, ["checked", "resumed"]),
      signingUp, signingUp.after("gone", BSAParts.gone),
      Self("over, with BSA's message", over, ["resumed"]),
    ]
  }
}

extension Standing where Machine == BSAReregisterDevice {
  static func all() throws -> [Self] {
    let sending = Self("sending", try .init(), ["sendToMember", "resumed"])
    let replacing = Self("signingUp", try .replacing(), ["replace", "resumed"])
    return [
      Self("blank key", try .init { $0.userKey = "" }, ["resumed"]),
      sending, sending.after("gone", BSAParts.gone),
      Self("otpSent", try .sent(), ["code", "resend", "back"]),
      replacing, replacing.after("lost", BSAParts.lost),
    ]
  }
}

extension Standing where Machine == BSAAuthenticate {
  static func all() throws -> [Self] {
    var wished = try DrivenSignIn()
    wished.said(DrivenSignIn.wish)
    var asking = wished
    asking.look()
    let otp = Self("otp", try .init(.otp, knownBy: "NONE"), ["generate", "resumed"])
    let totp = Self("totp", try .init(.totp, knownBy: "NONE"), ["oneTimeCode", "resumed"])
    var later = totp.driven
    later.answer(.later(soon))
    let pending = Self("pending", try .init(), ["exists", "resumed"])
    let starting = Self("starting", try .starting(.push), ["start", "resumed"])
    let completing = Self("completing", try .completing(), ["complete", "resumed"])
    let fetching = Self("fetching", try .fetching(), ["result", "resumed"])
    return [
      Self("refused", try .init(.qr, qrID: ""), ["resumed"]),
      Self("scan", try .init(.qr), ["form", "back"]),
      Self("looking", wished, ["standing", "resumed"]),
      Self("asking", asking, ["passcode", "cancel", "fallback"]),
      otp, otp.after("lost", BSAParts.lost), totp, Self("totp later", later, ["woken", "resumed"]),
      Self("otp shown", try .showing(.otp), ["exists", "resumed"]),
      Self("totp shown", try .showing(.totp), ["exists", "resumed"]),
      pending, pending.after("not yet", BSAParts.said(["isExist": false])),
      pending.after("gone", BSAParts.gone),
      starting, starting.after("gone", BSAParts.gone),
      starting.after("not yet", BSAParts.refusal(2010)), completing,
      completing.after("not yet", BSAParts.refusal(2010)),
      completing.after("lost", BSAParts.lost), fetching,
      fetching.after("lost", BSAParts.lost),
      fetching.after("not yet", BSAParts.refusal(2010)),
    ]
  }
}

/// The error for a fixture that does not have the expected form.
private struct Impossible: Error {}

/// Returns every event with a name, also outcomes of calls that another flow made.
private func everything() throws -> [(String, FlowEvent<BSACall>)] {
  let inputs: [(String, FlowInput)] = [
    ("code", .code(BSAParts.number, fields: [:])), ("password", .password(Secret("p"))),
    ("choice", .choice("x")), ("form", .form(["qrId": Secret("qr-1")])), ("granted", .granted([])),
    ("back", .back(.enterCode)),
  ]
  let daemonAnswers: [(String, DaemonAnswer)] = [
    ("kept", .stored(BSAParts.account)),
    ("oneTimeCode", .oneTimeCode(.code(DrivenSignIn.shown, until: soon))),
    ("standing", .localAuth(.availability(.init(biometric: .noReader, passcode: .ready)))),
  ]
  let calls = try everyCall()
  return FlowEvent.common + inputs.map { ($0, .input($1)) }
    + calls.map { ($0, .called($1, BSAParts.said($2))) }
    + daemonAnswers.map { ($0, .answered($1)) }
}

/// Returns every call with a name and the provider's answer.
private func everyCall() throws -> [(String, BSACall, JSONValue?)] {
  let contact = BSAParts.contact()
  let member = BSAMember(userKey: BSAParts.userKey, name: "Ada Lovelace")
  let visit = DrivenSignIn.visit(.push)
  let otherVisit = BSASignInSession(device: BSAParts.device, site: Sealed(Secret("other-site")))
  let channelKey: JSONValue = ["channelKey": "channel-secret"]
  let signUp = try #require(DrivenRegister.signingUp().pending)
  guard case .signUp(let enrolment, _) = signUp else { throw Impossible() }
  let secret: JSONValue = ["secretKey": .string(BSAParts.secretKey)]
  let token: JSONValue = ["result": true, "disposeToken": "dispose-secret"]
  return [
    ("send", .send(contact), nil), ("other send", .send(BSAParts.contact(.sms)), nil),
    ("sendToMember", .sendToMember(member, contact), ["result": true, "authType": 4]),
    ("verify", .verify(contact, number: BSAParts.number), token),
    ("other verify", .verify(BSAParts.contact(.sms), number: BSAParts.number), token),
    ("signUp", signUp, secret),
    ("other signUp", .signUp(enrolment, disposeToken: Secret("other")), secret),
    ("replace", try #require(DrivenReregister.replacing().pending), secret),
    ("duplicateCheck", .duplicateCheck(contact), nil),
    ("idCheck", .idCheck(userKey: BSAParts.userKey), nil),
    ("deviceCheck", .deviceCheck(device: BSAParts.device), nil),
    ("exists", DrivenSignIn.exists, DrivenSignIn.wish),
    ("other exists", .exists(device: "dev-2", userKey: BSAParts.userKey), DrivenSignIn.wish),
    ("eve's exists", .exists(device: BSAParts.device, userKey: "eve"), DrivenSignIn.wish),
    ("start", .start(visit, userKey: BSAParts.userKey), channelKey),
    ("other start", .start(otherVisit, userKey: BSAParts.userKey), channelKey),
    ("eve's start", .start(visit, userKey: "eve"), channelKey),
    ("complete", .complete(visit, isProved: true), nil),
    ("other complete", .complete(otherVisit, isProved: true), nil),
    ("unproved complete", .complete(visit, isProved: false), nil),
    ("result", .result(visit, channel: DrivenSignIn.channel), "token-secret"),
    ("other result", .result(otherVisit, channel: DrivenSignIn.channel), "token-secret"),
    ("other channel", .result(visit, channel: Secret("other")), "token-secret"),
    ("cancelled", .cancel(visit), nil), ("generate", DrivenSignIn.generate, "482613"),
    ("other generate", .generateNumber(userKey: BSAParts.userKey, device: "dev-2"), "482613"),
    ("dropped", .dropNumber(DrivenSignIn.shown), nil),
  ]
}

@Suite("The contract of BSA's flows")
struct BSAContractTests {
  /// - Parameter name: The name of the file of stored forms.
  private func check<Machine: FlowMachine>(
    _ standings: [Standing<Machine>], storedIn name: String
  ) throws {
    let everything = try everything()
    let flows = standings.map { standing in
      DrivenFlow(
        standing.name, standing.driven.flow,
        unrelatedEvents: everything.filter { !standing.meant.contains($0.0) }.map(\.1))
    }
    // The step contains the one-time code that the user is to type.
    let secrets = BSAParts.secrets.filter { $0 != "482613" }
    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows, in: name)
    for standing in standings {
      let flow = standing.driven.flow
      var dumped = "\(flow) \(String(reflecting: flow))"
      dump(flow, to: &dumped)
      #expect(!dumped.contains("482613"), "\(standing.name)")
      for (name, event) in everything where standing.meant.contains(name) {
        var driven = standing.driven
        driven.receive(event)
        #expect(driven.last != .ignore, "\(standing.name): \(name)")
      }
    }
  }

  @Test("every state of a BSA flow handles its own events and ignores or refuses all others")
  func everyState() throws {
    try check(Standing<BSAVerifyContact>.all(), storedIn: "BSAVerifyContact")
    try check(Standing<BSARegister>.all(), storedIn: "BSARegister")
    try check(Standing<BSAReregisterDevice>.all(), storedIn: "BSAReregisterDevice")
    try check(Standing<BSAAuthenticate>.all(), storedIn: "BSAAuthenticate")
  }

  @Test("a BSA flow that an earlier version refused is read back with its failure")
  func earlierRefusal() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Fixtures/StoredFlows/BSAReregisterDevice.json")
    let forms = try JSONDecoder().decode([String: String].self, from: Data(contentsOf: file))
    let decoder = JSONDecoder()
    decoder.userInfo[.sealedStorage] = true
    let form = try #require(forms["refused"])
    var flow = try decoder.decode(BSAReregisterDevice.self, from: Data(form.utf8))
    var context = moment()
    let answer = flow.receive(.resumed, at: &context)
    guard case .fail(let failure, _) = answer else {
      Issue.record("the flow does not fail: \(answer)")
      return
    }
    #expect(failure.message.hasPrefix("userKey must be 4 to 64"))
  }

  private func restart<Machine: FlowMachine>(_ standings: [Standing<Machine>]) throws {
    for standing in standings {
      var driven = standing.driven
      let flow = try storedAndRead(driven.flow)
      #expect(flow.view == driven.flow.view, "\(standing.name)")
      #expect(flow.callsIfAbandoned == driven.flow.callsIfAbandoned, "\(standing.name)")
      try driven.restart()
      #expect((driven.last == .ignore) == !standing.meant.contains("resumed"), "\(standing.name)")
    }
  }

  @Test("a stored BSA flow is read back unchanged and repeats its call or question")
  func restarts() throws {
    try restart(Standing<BSAVerifyContact>.all())
    try restart(Standing<BSARegister>.all())
    try restart(Standing<BSAReregisterDevice>.all())
    try restart(Standing<BSAAuthenticate>.all())
  }

  @Test("a typed BSA verification code is never part of the stored flow")
  func numbers() throws {
    var paused = try DrivenContact.verifying()
    paused.answered(BSAParts.gone)
    for driven in [try DrivenContact.verifying(), paused] {
      #expect(try !stored(driven.flow).contains("739146"))
    }
  }

  @Test("BSA has four flow kinds, each of which validates its parameters strictly")
  func kinds() throws {
    #expect(
      ProviderRegistry.flows(of: .bsa).map { $0.kind }.sorted()
        == ["authenticate", "register", "reregisterDevice", "verifyContact"])
    try params(BSAVerifyContact.self, ["sendType": "sms", "sendTarget": "1234567"])
    try params(
      BSARegister.self,
      [
        "email": "a@b", "phoneNumber": "1234567", "userKey": "ada1", "name": "Ada",
        "authType": "none", "agreeGccs": true, "agreePerson": true, "agreeDevice": true,
      ])
    try params(
      BSAReregisterDevice.self,
      ["userKey": "ada1", "name": "Ada", "verifyBy": "email", "verifyData": "a@b"])
    try params(BSAAuthenticate.self, [:])
    #expect(!BSARegister.needsAccount && !BSAReregisterDevice.needsAccount)
  }

  /// Checks that each member is required and of its type, and that unknown members are refused.
  /// The agreements may be absent: the flow itself reports a missing one.
  private func params<Machine: FlowMachine>(
    _ type: Machine.Type, _ good: [String: JSONValue]
  ) throws {
    let schema = StrictDecoding.schema(of: Machine.Params.self)
    _ = try StrictDecoding.decode(Machine.Params.self, from: .object(good), schema: schema)
    var wrong = good.keys.flatMap { name -> [[String: JSONValue]] in
      var without = good
      without[name] = nil
      let isOptional = name.hasPrefix("agree")
      return (isOptional ? [] : [without]) + [good.merging([name: 7]) { $1 }]
    }
    for stray in ["scope", "authtype"] { wrong.append(good.merging([stray: "x"]) { $1 }) }
    wrong.append(good.merging(["clientKey": 7]) { $1 })
    for params in wrong {
      #expect(throws: UsherError.self, "\(params)") {
        try StrictDecoding.decode(Machine.Params.self, from: .object(params), schema: schema)
      }
    }
  }
}
