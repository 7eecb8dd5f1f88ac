import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherFlows
import UsherTestKit

/// Random events, with replies of the names and values that occur in a wallet's replies.
private struct Nonsense {
  var json: NonsenseJSON

  init(seed: UInt64) {
    json = NonsenseJSON(
      dice: SeededGenerator(seed: seed),
      names: [
        "eventId", "walletOperationId", "status", "statusReason", "verification", "method",
        "channel", "target", "action", "redirectUrl", "expirationTime", "digits",
        "currentChallenges", "currentAttempts", "allowableAttempts", "availableVerifications",
        "challenge", "scaDetails", "error", "code", "message",
      ],
      texts: [
        "evt-1", "wop-1", "VERIFIED", "FAILED", "REJECTED", "PENDING", "OTP", "SMS", "PIN",
        "REDIRECT", "PUSH_NOTIFICATION", "https://wallet.example.com/x", "javascript:x",
        "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "", "\u{0}\u{1B}[2J",
        "CHALLENGE_REQUIRED", "EVENT_COMPLETED", "2027-01-15T08:10:00Z",
      ],
      integers: [.min, -1, 0, 1, 2, 3, 6, 1 << 53, .max])
  }

  mutating func outcome() -> CallOutcome {
    switch Int.random(in: 0..<12, using: &json.dice) {
    case 0: return .unreachable(message: "gone", sent: .random(using: &json.dice))
    case 1: return .unreadable(message: "x")
    case 2: return .reply(reply(text: "{", status: status()))
    default:
      var body = json.value()
      // With the expected ids, some replies are accepted.
      if .random(using: &json.dice) {
        body["eventId"] = "evt-1"
        body["walletOperationId"] = "wop-1"
      }
      let headers = ["retry-after": "5", "www-authenticate": "SCA auth-param1=e30="]
      return .reply(
        reply(body, status: status(), headers: .random(using: &json.dice) ? headers : [:]))
    }
  }

  private mutating func status() -> Int {
    json.any(of: [200, 200, 200, 201, 201, 204, 302, 400, 401, 404, 409, 410, 422, 429, 500])
  }

  mutating func event(_ pending: PaysafeCall?) -> FlowEvent<PaysafeCall> {
    switch Int.random(in: 0..<8, using: &json.dice) {
    case 0: return .woken
    case 1: return .resumed
    case 2: return .input(.code(Secret("123456"), fields: [:]))
    case 3: return .input(json.any(of: [.resend, .password(Secret("1")), .choice("PIN")]))
    case 4: return .input(json.any(of: [.choice("OTP.SMS"), .alternative("OTP.SMS")]))
    default: return pending.map { .called($0, outcome()) } ?? .woken
    }
  }
}

@Suite("Random replies of a Paysafe wallet")
struct WalletFuzzTests {
  /// Drives a flow with random events until it ends, and checks it after every step. Returns the
  /// number of steps.
  private func drive<Machine: FlowMachine>(
    _ driven: DrivenWallet<Machine>, seed: UInt64
  ) throws -> Int where Machine.Call == PaysafeCall {
    var driven = driven
    var nonsense = Nonsense(seed: seed)
    for step in 1...40 {
      let before = driven.flow
      driven.clock = driven.clock + .seconds(Int(nonsense.json.dice.next() % 40))
      switch driven.receive(nonsense.event(driven.pending)) {
      case .finish: return step
      case .fail(let failure, cleanUp: _):
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

  @Test(
    "Paysafe wallet flows stay consistent under random replies, and most of them end",
    arguments: 0..<12 as Range<UInt64>)
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
