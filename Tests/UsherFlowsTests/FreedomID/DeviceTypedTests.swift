import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DeviceDriven

/// A sign-in with a call in progress, the secret that was typed last, and the step before.
private struct Errand {
  let name: String
  let driven: Driven
  let typed: Secret?
  let origin: Step

  /// Whether the call makes the provider send a code.
  var sends: Bool { typed == nil }

  static func all() throws -> [Errand] {
    [
      Errand(
        name: "send", driven: try .named(.phoneOTP), typed: nil,
        origin: try Driven.form(.phoneOTP).step),
      Errand(
        name: "resend", driven: try .resending(), typed: nil, origin: try Driven.coded().step),
      Errand(
        name: "code", driven: try .checking(), typed: Driven.code,
        origin: try Driven.coded().step),
      Errand(
        name: "password", driven: try .knocking(), typed: Driven.password,
        origin: try Driven.named(.emailPassword).step),
      Errand(
        name: "phone and password", driven: try .knocking(.phonePassword),
        typed: Driven.password, origin: try Driven.named(.phonePassword).step),
      Errand(
        name: "second factor", driven: try .checkingSecond(), typed: Driven.code,
        origin: try Driven.second().step),
    ]
  }
}

@Suite("User input of a Freedom ID sign-in")
struct DeviceTypedTests {
  @Test("a Freedom ID sign-in call that was not sent is repeated after 1, 2, 4, 8 and 16 seconds")
  func unsent() throws {
    for errand in try Errand.all() {
      var driven = errand.driven
      let call = try #require(driven.pending)
      let step = driven.step
      for pause in [1, 2, 4, 8, 16] {
        #expect(driven.answered(Driven.gone) == .proceed([.wake(after: .seconds(pause))]))
        #expect(driven.step == step, "\(errand.name)")
        #expect(driven.problem?.reason == "provider_unreachable")
        #expect(driven.problem?.provider?.code == "networkError.connectionError")
        #expect(driven.answered(Driven.login()) == .ignore, "no call is in progress")
        #expect(driven.receive(.woken) == .proceed([.call(call)]), "\(errand.name)")
        #expect(driven.problem == nil)
        #expect(driven.receive(.woken) == .ignore)
      }
      driven.answered(Driven.gone)
      // A resend that fails does not end the flow: the code that was sent before is still valid.
      let isEnd = errand.name != "resend"
      #expect((driven.failure?.reason == .providerUnreachable) == isEnd)
      let word = isEnd ? driven.failure?.provider : driven.problem?.provider
      #expect(word?.code == "networkError.connectionError")
    }
  }

  @Test("a Freedom ID sign-in call with a lost reply is left to the user to repeat")
  func sent() throws {
    let outcomes: [(CallOutcome, String)] = [
      (Driven.lost, "networkError.streamError"),
      (.reply(reply([:], status: 500)), "networkError.codeError"),
      (.reply(reply([:], status: 503)), "networkError.codeError"),
      (.reply(reply([:], status: 408)), "networkError.codeError"),
    ]
    for errand in try Errand.all() where !errand.sends {
      for (outcome, word) in outcomes {
        var driven = errand.driven
        #expect(driven.answered(outcome) == .proceed([]), "\(errand.name)")
        #expect(driven.step == errand.origin)
        #expect(driven.problem?.reason == "provider_unreachable")
        #expect(driven.problem?.provider?.code == word)
        #expect(driven.receive(.woken) == .ignore)
      }
    }
  }

  @Test(
    "a restored Freedom ID sign-in asks again for the typed secret, at the step before the call")
  func restart() throws {
    for errand in try Errand.all() {
      for isPaused in [false, true] {
        var driven = errand.driven
        if isPaused { driven.answered(Driven.gone) }
        try driven.restart()
        #expect(driven.last == .proceed([]), "\(errand.name)")
        if errand.sends, !isPaused {
          #expect(driven.problem?.reason == "may_have_been_sent")
        } else {
          #expect(driven.step == errand.origin)
          #expect(driven.problem == .interrupted)
        }
        #expect(driven.receive(.woken) == .ignore)
        #expect(driven.answered(Driven.login()) == .ignore)
      }
    }
  }

  @Test("a Freedom ID sign-in that lost the typed secret asks for it instead of repeating the call")
  func gone() throws {
    for errand in try Errand.all() {
      var driven = errand.driven
      driven.answered(Driven.gone)
      driven.flow = try storedAndRead(driven.flow)
      driven.receive(.woken)
      if errand.typed == nil {
        #expect(driven.calls.count == 1)
      } else {
        #expect(driven.last == .proceed([]))
        #expect(driven.step == errand.origin)
        #expect(driven.problem == .interrupted)
      }
    }
  }

  @Test("a Freedom ID password or code is never stored, neither during a call nor afterwards")
  func neverStored() throws {
    for errand in try Errand.all() {
      guard let typed = errand.typed?.revealed() else { continue }
      var driven = errand.driven
      for event in [nil, .called(try #require(driven.pending), Driven.gone), .woken]
        as [Driven.Event?]
      {
        if let event { driven.receive(event) }
        let stored = try stored(driven.flow)
        #expect(!stored.contains(typed), "\(errand.name)")
        #expect(stored.contains("ch-") || stored.contains("example.kz") || stored.contains("+77"))
      }
      for outcome in [Driven.lost, .reply(Driven.refusal(401, 100_201))] {
        var driven = driven
        driven.answered(outcome)
        #expect(try !stored(driven.flow).contains(typed), "\(errand.name)")
      }
      driven.answered(Driven.login())
      #expect(driven.kept != nil)
      #expect(try !stored(driven.flow).contains(typed))
    }
  }

  @Test("a Freedom ID phone number or email address is stored sealed, and only during the sign-in")
  func sealed() throws {
    var states = try Errand.all().map(\.driven)
    states += [try .coded(), try .second(), try .named(.emailPassword), try .resending()]
    for driven in states {
      #expect(throws: EncodingError.self) { try JSONEncoder().encode(driven.flow) }
      var dumped = "\(driven.flow) \(String(reflecting: driven.flow))"
      dump(driven.flow, to: &dumped)
      for secret in [Driven.phone, Driven.email, Driven.password, Driven.code] {
        #expect(!dumped.contains(secret.revealed()))
      }
    }
    for driven in [try Driven.choosing(), try Driven.form(.phoneOTP), try Driven.home()] {
      #expect(throws: Never.self) { try JSONEncoder().encode(driven.flow) }
    }
  }

  /// Everything that the flow shows: its view and its last answer.
  private func told(_ driven: Driven) -> String {
    let view = driven.flow.view
    return "\(String(describing: view)) \(String(describing: driven.last))"
  }

  @Test("a typed Freedom ID secret is in no message, even if the provider repeats it differently")
  func echoes() throws {
    let texts: [(Driven, [String])] = [
      (try .knocking(), ["no Pass-word-secret", "PASS-WORD-SECRET!", "no aigerim@example.kz"]),
      (try .knocking(), ["Aigerim@Example.kz is barred"]),
      (
        try .knocking(.phonePassword),
        ["+77011234567 is barred", "8 +7 (701) 123-45-67", "Pass-word-secret"]
      ),
      (try .named(.phoneOTP), ["no SMS to +7 701 123 45 67", "77011234567"]),
      (try .checking(), ["739146 is wrong", "7-3-9-1-4-6", "for +77011234567"]),
      (try .resending(), ["no SMS to +7 701 123 45 67"]),
      (try .checkingSecond(), ["739 146 is wrong", "not for aigerim@example.kz"]),
    ]
    for (start, sentences) in texts {
      for sentence in sentences {
        for (status, code) in [(400, 7), (200, 7), (423, 100_204), (422, 100_202), (503, 7)] {
          var driven = start
          driven.refused(status, code, sentence)
          #expect(!told(driven).contains(sentence), "\(status) \(code)")
          var named = start
          named.answered(
            ["error": ["code": .string(sentence), "message": "no"]], status: status)
          #expect(!told(named).contains(sentence), "\(status)")
          var member = start
          member.answered(["error": ["errors": [sentence: ["no"]]]], status: status)
          #expect(!told(member).contains(sentence), "\(status)")
        }
      }
    }
  }

  @Test("a Freedom ID message that does not repeat the typed secret is shown unchanged")
  func otherSentences() throws {
    for errand in try Errand.all() {
      var driven = errand.driven
      driven.refused(400, 7, "closed from 22 to 6 o'clock")
      // A refused resend does not end the flow: the code that was sent before is still valid.
      let isEnd = errand.name != "resend"
      #expect((driven.failure == nil) != isEnd)
      let message = isEnd ? driven.failure?.message : driven.problem?.message
      let word = isEnd ? driven.failure?.provider : driven.problem?.provider
      #expect(message == "closed from 22 to 6 o'clock")
      #expect(word?.message == "closed from 22 to 6 o'clock")
      #expect(word?.error == "7")
    }
  }
}
