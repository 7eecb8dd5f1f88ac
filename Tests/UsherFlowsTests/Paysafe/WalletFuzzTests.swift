import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherFlows

/// Numbers that look random and are the same in every run (SplitMix64).
private struct Dice: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func any<T>(of values: [T]) -> T {
    values[Int.random(in: 0..<values.count, using: &self)]
  }
}

/// Answers made of what a wallet's answers are made of, put together without sense.
private struct Nonsense {
  var dice: Dice

  private static let names = [
    "eventId", "walletOperationId", "status", "statusReason", "verification", "method", "channel",
    "target", "action", "redirectUrl", "expirationTime", "digits", "currentChallenges",
    "currentAttempts", "allowableAttempts", "availableVerifications", "challenge", "scaDetails",
    "error", "code", "message",
  ]
  private static let texts = [
    "evt-1", "wop-1", "VERIFIED", "FAILED", "REJECTED", "PENDING", "OTP", "SMS", "PIN", "REDIRECT",
    "PUSH_NOTIFICATION", "https://wallet.example.com/x", "javascript:x", "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z", "", "\u{0}\u{1B}[2J", "CHALLENGE_REQUIRED", "EVENT_COMPLETED",
    "2027-01-15T08:10:00Z",
  ]

  mutating func value(depth: Int = 4) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &dice) {
    case 0: return .null
    case 1: return .bool(.random(using: &dice))
    case 2: return .integer(dice.any(of: [.min, -1, 0, 1, 2, 3, 6, 1 << 53, .max]))
    case 3: return .number(dice.any(of: [-1.5, 0.5, 3.0, 1e300]))
    case 4, 5: return .string(dice.any(of: Self.texts))
    case 6: return .array((0..<3).map { _ in value(depth: depth - 1) })
    default: return object(depth: depth)
    }
  }

  private mutating func object(depth: Int) -> JSONValue {
    var members: [String: JSONValue] = [:]
    for _ in 0..<6 { members[dice.any(of: Self.names)] = value(depth: depth - 1) }
    return .object(members)
  }

  mutating func outcome() -> CallOutcome {
    switch Int.random(in: 0..<12, using: &dice) {
    case 0: return .unreachable(message: "gone", sent: .random(using: &dice))
    case 1: return .unreadable(message: "x")
    case 2: return .reply(reply(text: "{", status: status()))
    default:
      var body = value()
      // So that it is sometimes taken for an answer.
      if .random(using: &dice) {
        body["eventId"] = "evt-1"
        body["walletOperationId"] = "wop-1"
      }
      let headers = ["retry-after": "5", "www-authenticate": "SCA auth-param1=e30="]
      return .reply(reply(body, status: status(), headers: .random(using: &dice) ? headers : [:]))
    }
  }

  private mutating func status() -> Int {
    dice.any(of: [200, 200, 200, 201, 201, 204, 302, 400, 401, 404, 409, 410, 422, 429, 500])
  }

  mutating func event(_ pending: PaysafeCall?) -> FlowEvent<PaysafeCall> {
    switch Int.random(in: 0..<8, using: &dice) {
    case 0: return .woken
    case 1: return .resumed
    case 2: return .input(.code(Secret("123456"), fields: [:]))
    case 3: return .input(dice.any(of: [.resend, .password(Secret("1")), .choice("PIN")]))
    case 4: return .input(dice.any(of: [.choice("OTP.SMS"), .alternative("OTP.SMS")]))
    default: return pending.map { .called($0, outcome()) } ?? .woken
    }
  }
}

@Suite("Whatever a wallet answers")
struct WalletFuzzTests {
  /// Drives a flow with nonsense until it ends, and checks that it is whole after every step.
  private func drive<Machine: FlowMachine>(
    _ driven: DrivenWallet<Machine>, seed: UInt64
  ) throws -> Int where Machine.Call == PaysafeCall {
    var driven = driven
    var nonsense = Nonsense(dice: Dice(state: seed))
    for step in 1...40 {
      let before = driven.flow
      driven.clock = driven.clock + .seconds(Int(nonsense.dice.next() % 40))
      switch driven.receive(nonsense.event(driven.pending)) {
      case .finish: return step
      case .fail(let failure, clearUp: _):
        #expect(!failure.title.isEmpty && !failure.message.isEmpty)
        return step
      case .refuse, .ignore: #expect(driven.flow == before)
      case .proceed:
        #expect(try storedAndRead(driven.flow) == driven.flow)
        let text = [driven.problem?.message, driven.code?.maskedTarget].compactMap(\.self).joined()
        #expect(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
      }
    }
    return 40
  }

  @Test("a flow stays whole, and most come to an end", arguments: 0..<12 as Range<UInt64>)
  func nonsense(seed: UInt64) throws {
    var steps = 0
    for round in 0..<8 as Range<UInt64> {
      let seed = seed << 8 | round
      steps += try drive(try DrivenSCA(wanting: nil), seed: seed)
      steps += try drive(try DrivenSCA.challenged(), seed: seed)
      steps += try drive(try DrivenSCA.redirected(), seed: seed)
      steps += try drive(try DrivenOperation.payment(), seed: seed)
      steps += try drive(try DrivenOperation.get(), seed: seed)
    }
    #expect(steps < 40 * 40)
  }
}
