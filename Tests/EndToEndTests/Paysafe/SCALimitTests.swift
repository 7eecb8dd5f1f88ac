import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Attempts, challenges, cool-down and expiry: the counters are the server's.
@Suite("The limits of SCA", .mayBlock)
struct SCALimitTests {
  private static let sms: JSONValue = ["verification": ["method": "OTP", "channel": "SMS"]]

  private let scene: PaysafeScene

  init() throws { scene = try PaysafeScene(signedIn: "alice") }

  @Test("a wrong code leaves the flow at its step, with the attempts left by the server's count")
  func wrongCode() throws {
    let event = try scene.event()
    let flow = try scene.sca(event, Self.sms)
    let again = try scene.enter(scene.wrongCode(), to: flow)
    #expect(again["status"] == "active")
    #expect(again.problem == "wrong_code")
    #expect(again["step"]?["attemptsLeft"] == 2)
    let end = try scene.enter(scene.code(), to: again)
    #expect(end["status"] == "succeeded")
  }

  @Test("the attempts limit ends the flow with the SDK's dataError")
  func attemptsLimit() throws {
    let event = try scene.event(["allowableAttempts": 2])
    let flow = try scene.sca(event, Self.sms)
    let again = try scene.enter(scene.wrongCode(), to: flow)
    let end = try scene.enter(scene.wrongCode(), to: again)
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "attempts_exhausted")
    #expect(end.failure["provider"]?["code"] == "dataError")
    #expect(try scene.requests("attempt") == 2)
  }

  @Test("asking again sends another code; the first one is no good any more")
  func resend() throws {
    let event = try scene.event()
    let flow = try scene.sca(event, Self.sms)
    let first = try scene.code()
    let resent = try scene.resend(flow)
    #expect(resent["status"] == "active")
    #expect(resent.stepType == "enterCode")
    #expect(try scene.messages("sms") == 2)
    #expect(try scene.event(event.id)["currentChallenges"] == 2)
    if try scene.code() != first {
      #expect(try scene.enter(first, to: resent).problem == "wrong_code")
    }
  }

  @Test("past the challenge limit there is a cool-down; asking meanwhile costs no call")
  func coolDown() throws {
    let event = try scene.event(["allowableChallenges": 1, "coolDownSeconds": 2])
    let flow = try scene.sca(event, Self.sms)
    let limited = try scene.resend(flow)
    #expect(limited["status"] == "active")
    #expect(limited.problem == "rate_limited")
    let pause = try #require(limited["problem"]?["retryAfterMs"]?.integerValue)
    #expect((1...2000).contains(pause))
    let calls = try scene.requests("challenge")
    let stillLimited = try scene.resend(limited)
    #expect(stillLimited.problem == "rate_limited")
    #expect(try scene.requests("challenge") == calls)
    // The code there is goes on being good.
    #expect(try scene.enter(scene.code(), to: stillLimited)["status"] == "succeeded")
  }

  @Test("after the cool-down it goes on")
  func afterCoolDown() throws {
    let event = try scene.event(["allowableChallenges": 1, "coolDownSeconds": 1])
    let flow = try scene.sca(event, Self.sms)
    var seen = try scene.resend(flow)
    #expect(seen.problem == "rate_limited")
    try eventually("another code is sent: \(seen.text)") {
      seen = try scene.resend(seen)
      return seen["problem"] == .null
    }
    #expect(try scene.messages("sms") == 2)
    #expect(try scene.enter(scene.code(), to: seen)["status"] == "succeeded")
  }

  @Test("a challenge that has expired is asked for again, and a code for it costs no call")
  func challengeExpiry() throws {
    let event = try scene.event(["challengeSeconds": 1])
    let flow = try scene.sca(event, Self.sms)
    let expired = try scene.moved(flow, "has a problem") { $0.problem == "challenge_expired" }
    #expect(expired.stepType == "enterCode")
    let late = try scene.enter(scene.code(), to: expired)
    #expect(late.problem == "challenge_expired")
    #expect(try scene.requests("attempt") == 0)
  }

  @Test("an event that has expired ends the flow")
  func eventExpiry() throws {
    let event = try scene.event()
    let flow = try scene.sca(event, Self.sms)
    _ = try scene.event(event.id, change: ["expire": "event"])
    let end = try scene.enter(scene.code(), to: flow)
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "expired")
  }

  @Test("an event's time that is known ends the flow though nobody does anything")
  func knownExpiry() throws {
    let event = try scene.event(["eventSeconds": 3])
    let flow = try scene.sca(event)
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "expired")
  }

  @Test("counters that jump are taken as they come")
  func jumpingCounters() throws {
    let event = try scene.event()
    let flow = try scene.sca(event, Self.sms)
    try scene.set(["nextCounters": ["currentAttempts": 1, "allowableAttempts": 9]])
    let again = try scene.enter(scene.wrongCode(), to: flow)
    #expect(again["step"]?["attemptsLeft"] == 8)
    let third = try scene.enter(scene.wrongCode(), to: again)
    #expect(third["step"]?["attemptsLeft"] == 1)
  }

  @Test("without counters nothing is said of attempts, and the limit is still the server's")
  func noCounters() throws {
    try scene.set(["omitCounters": true])
    let event = try scene.event(["allowableAttempts": 2])
    var flow = try scene.sca(event, Self.sms)
    #expect(flow["step"]?["attemptsLeft"] == nil)
    for _ in 0..<3 where flow["status"] == "active" {
      flow = try scene.enter(scene.wrongCode(), to: flow)
    }
    #expect(flow.failure["provider"]?["code"] == "dataError", "\(flow.text)")
  }

  @Test("trap 4: after VERIFIED nothing is submitted any more")
  func verified() throws {
    let event = try scene.event()
    let flow = try scene.sca(event, Self.sms)
    let end = try scene.enter(scene.code(), to: flow)
    #expect(end["status"] == "succeeded")
    let refused = try scene.refusal(["type": "enterCode", "code": "123456"], to: end)
    #expect(refused.0 == "flow_finished")
    #expect(try scene.requests("attempt") == 1)
    // Nor by another flow about the same event: it is settled.
    let second = try scene.app.finished(try scene.start("sca", event, Self.sms))
    #expect(second["status"] == "succeeded", "\(second.text)")
    #expect(try scene.requests("attempt") == 1)
  }

  @Test("429 with Retry-After at an attempt is a problem; the code may be entered again")
  func tooMany() throws {
    let event = try scene.event()
    let flow = try scene.sca(event, Self.sms)
    try scene.spoil(
      "attempt", ["status": 429, "headers": ["Retry-After": "7"], "body": [:]], times: 1)
    let limited = try scene.enter(scene.code(), to: flow)
    #expect(limited.problem == "rate_limited")
    let pause = try #require(limited["problem"]?["retryAfterMs"]?.integerValue)
    #expect((5000...7000).contains(pause))
    #expect(try scene.enter(scene.code(), to: limited)["status"] == "succeeded")
  }

  @Test("two flows about two events of one account do not disturb each other")
  func twoAtOnce() throws {
    let (first, second) = (try scene.event(), try scene.event())
    let one = try scene.sca(first, Self.sms)
    let oneCode = try scene.code()
    let two = try scene.sca(second, ["verification": ["method": "OTP", "channel": "EMAIL"]])
    #expect(try scene.enter(scene.code("email"), to: two)["status"] == "succeeded")
    #expect(try scene.enter(oneCode, to: one)["status"] == "succeeded")
  }
}
