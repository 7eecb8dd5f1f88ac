import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

extension SeededGenerator {
  fileprivate mutating func any<T>(of values: [T]) -> T {
    values[Int.random(in: 0..<values.count, using: &self)]
  }
}

/// Generates random events, and random replies of the members and values that BSA's replies have.
private struct Nonsense {
  var dice: SeededGenerator

  private static let names = [
    "result", "disposeToken", "secretKey", "authType", "isExist", "clientKey", "channelKey",
    "rtCode", "data",
  ]
  private static let texts = [
    "dispose-secret", BSAParts.secretKey, "GEZD", "3", "4", "", "a b", "\u{0}\u{1B}[2J", "482613",
  ]

  mutating func value(depth: Int = 2) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &dice) {
    case 0: return .null
    case 1, 2: return .bool(.random(using: &dice))
    case 3: return .integer(dice.any(of: [.min, -1, 0, 3, 4, 2000, .max]))
    case 4: return .string(dice.any(of: Self.texts))
    case 5: return .array([value(depth: depth - 1)])
    default:
      var members: [String: JSONValue] = [:]
      for _ in 0..<4 { members[dice.any(of: Self.names)] = value(depth: depth - 1) }
      return .object(members)
    }
  }

  /// Returns data that the flow accepts as a success, in most cases.
  private mutating func plausible(_ call: BSACall) -> JSONValue {
    switch call {
    case .generateNumber: return "482613"
    case .result: return "token-secret"
    case .exists:
      return ["isExist": .bool(.random(using: &dice)), "clientKey": "site-key-secret"]
    default:
      return [
        "result": .bool(dice.next() % 4 > 0), "disposeToken": "dispose-secret", "authType": 4,
        "secretKey": .string(BSAParts.secretKey), "channelKey": "channel-secret",
      ]
    }
  }

  mutating func outcome(of call: BSACall) -> CallOutcome {
    switch Int.random(in: 0..<16, using: &dice) {
    case 0: return .unreachable(message: "gone", sent: .random(using: &dice))
    case 1: return .unreadable(message: "x")
    case 2: return .reply(reply(text: "{", status: status()))
    case 3, 4: return BSAParts.said(value(), status: status())
    case 5: return BSAParts.failing(status(), after: dice.any(of: [nil, 0, 5, 100_000]))
    case 6, 7: return BSAParts.refusal(dice.any(of: RTCode.table).code.number)
    case 8: return BSAParts.refusal(dice.any(of: [2010, 3005, 3006, 5019, 5023]))
    default: return BSAParts.said(plausible(call))
    }
  }

  private mutating func status() -> Int {
    dice.any(of: [200, 200, 204, 302, 400, 401, 404, 408, 429, 500, 503])
  }

  mutating func event(_ pending: BSACall?, at now: Timestamp) -> FlowEvent<BSACall> {
    switch Int.random(in: 0..<20, using: &dice) {
    case 0, 1, 2: return .woken
    case 3: return .resumed
    case 4, 5: return .input(.code(BSAParts.number, fields: [:]))
    case 6: return .input(.resend)
    case 7: return .input(.form(["qrId": Secret(dice.any(of: Self.texts))]))
    case 8:
      return .answered(.localAuth(.availability(.init(biometric: .noReader, passcode: .ready))))
    case 9: return .input(.passcode(Secret("1234-passcode")))
    case 10, 11: return .answered(.localAuth(.checked(.accepted)))
    case 12:
      return .answered(
        .oneTimeCode(
          dice.any(of: [
            .code(Secret("482613"), until: now + .seconds(60)), .later(now - .seconds(1)),
            .noSecret, .unavailable("full"),
          ])))
    default: return pending.map { .called($0, outcome(of: $0)) } ?? .woken
    }
  }
}

@Suite("BSA flows under random events and replies")
struct BSAFuzzTests {
  /// Drives a flow with random events until it ends, and checks its invariants after every step.
  /// Returns the number of steps, at most 60.
  private func drive<Machine: FlowMachine>(
    _ driven: DrivenBSA<Machine>, seed: UInt64
  ) throws -> Int where Machine.Call == BSACall {
    var driven = driven
    var nonsense = Nonsense(dice: SeededGenerator(seed: seed))
    var clock = now
    var mayBeSignedUp = false
    for step in 1...60 {
      let before = driven.flow
      clock = clock + .seconds(Int(nonsense.dice.next() % 20))
      let event = nonsense.event(driven.pending, at: clock)
      switch driven.receive(event, at: clock) {
      case .finish(let completion):
        check(completion)
        return step
      case .fail(let failure, cleanUp: _):
        #expect(!failure.title.isEmpty)
        check(failure.message)
        return step
      case .refuse, .ignore: #expect(driven.flow == before)
      case .proceed:
        #expect(try storedAndRead(driven.flow).view == driven.flow.view)
        check(driven.problem?.message ?? "no problem")
        for case .signUp in driven.calls { #expect(!mayBeSignedUp, "the flow signs up twice") }
        if case .provider(.called(let call, let outcome)) = event, case .signUp = call {
          mayBeSignedUp = BSAReply(outcome, to: call).mayHaveTakenEffect
        }
      }
    }
    return 60
  }

  private func check(_ completion: Completion) {
    #expect(completion.grant == nil || completion.grant?.subject == "ada.1815")
    #expect(completion.grant != nil || completion.handoffSecret != nil)
    if let secret = completion.grant?.totpSecret {
      #expect(TOTPKey(base32: secret.unsealed()) != nil)
    }
    for secret in BSAParts.secrets { #expect(!"\(completion)".contains(secret)) }
  }

  private func check(_ text: String) {
    #expect(!text.isEmpty)
    #expect(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
    for secret in BSAParts.secrets { #expect(!text.contains(secret)) }
  }

  @Test("a BSA flow keeps its invariants under random events", arguments: 0..<12 as Range<UInt64>)
  func nonsense(seed: UInt64) throws {
    var steps = 0
    for round in 0..<8 as Range<UInt64> {
      let seed = seed << 8 | round
      steps += try drive(try DrivenContact(), seed: seed)
      steps += try drive(try DrivenRegister(), seed: seed)
      steps += try drive(try DrivenRegister.signingUp(), seed: seed)
      steps += try drive(try DrivenReregister(), seed: seed)
      for way in BSAAuthenticate.Way.allCases {
        steps += try drive(try DrivenSignIn(way), seed: seed)
        steps += try drive(try DrivenSignIn.starting(way), seed: seed)
      }
    }
    #expect(steps < 8 * 12 * 60)
  }
}

extension BSAReply {
  /// Whether the provider may have performed the call.
  fileprivate var mayHaveTakenEffect: Bool {
    switch self {
    case .success: true
    case .refused, .unreadable, .noToken: false
    case .failed(let fault): fault.mayHaveTakenEffect
    }
  }
}
