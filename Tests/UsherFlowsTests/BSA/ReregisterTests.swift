import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Params = BSAReregisterDevice.Params

private let member = BSAMember(userKey: "ada.1815", name: "Ada Lovelace")

@Suite("What a new device is begun with")
struct ReregisterBeginTests {
  private static let faults: [(String, String, @Sendable (inout Params) -> Void)] = [
    ("2000", "the clientKey is not", { $0.clientKey = WireSecret("other-key") }),
    ("2000", "the appPackage is not", { $0.appPackage = "com.example" }),
    ("2002", "verifyData must be an e-mail address", { $0.verifyData = "ada" }),
    ("2002", "userKey must be 4 to 64", { $0.userKey = "..." }),
    ("2002", "name must be a name", { $0.name = "" }),
    ("2002", "pushToken must be 1 to 4096", { $0.pushToken = "" }),
    ("2002", "appVersion must be 1 to 4096", { $0.appVersion = "2 1" }),
    ("3000", "authType must not be none", { $0.authType = BSAAuthType.none }),
  ]

  @Test("what is wrong with it ends it before anything is asked, the first thing first")
  func faulty() throws {
    for index in Self.faults.indices {
      let (code, message, change) = Self.faults[index]
      let only = try DrivenReregister { change(&$0) }
      let rest = try DrivenReregister { params in
        for fault in Self.faults[index...] { fault.2(&params) }
      }
      for driven in [only, rest] {
        #expect(driven.end == End(.invalidRequest, code))
        #expect(driven.failure?.message.hasPrefix(message) == true)
      }
    }
    var driven = try DrivenReregister { $0.userKey = "" }
    let failure = try #require(driven.failure)
    #expect(driven.receive(.woken) == .ignore && driven.isWaiting)
    try driven.restart()
    #expect(driven.failure == failure)
  }

  @Test("a number goes to a contact that must be the person's")
  func begins() throws {
    for channel in BSAContact.Channel.allCases {
      let driven = try DrivenReregister(channel) {
        $0.clientKey = WireSecret("client-key-secret")
        $0.appPackage = "com.example.app"
      }
      #expect(driven.calls == [.sendToMember(member, BSAParts.contact(channel))])
      #expect(driven.state == "sending")
    }
  }

  @Test("with a handle no number is sent, and authType must be given")
  func handle() throws {
    let origin = BSAParts.origin(handoffSecrets: [BSAParts.kept()])
    let without = try DrivenReregister(origin: origin) {
      $0.disposeToken = WireSecret(BSAParts.handle)
    }
    #expect(without.end == End(.invalidRequest, "2002"))
    #expect(without.failure?.message.hasPrefix("authType is needed") == true)
    var driven = try DrivenReregister(origin: origin) {
      $0.disposeToken = WireSecret(BSAParts.handle)
      $0.authType = .biometric
    }
    #expect(driven.state == "localAuth" && driven.questions == [.localAuth(.standing)])
    driven.tell(.standing(.init(biometric: .ready(hasChanged: true), passcode: .ready)))
    driven.tell(.scanned(.matched))
    guard case .replaceDevice(let enrolment, let token) = driven.calls.first else {
      Issue.record("no device is replaced")
      return
    }
    #expect(enrolment.authType == .biometric && token == BSAParts.dispose.unsealed())
  }

  @Test("a handle that is unknown or another contact's is refused")
  func otherHandle() throws {
    for (channel, handle) in [(BSAContact.Channel.email, "dsp_other"), (.sms, BSAParts.handle)] {
      let driven = try DrivenReregister(
        channel, origin: BSAParts.origin(handoffSecrets: [BSAParts.kept()])
      ) {
        $0.disposeToken = WireSecret(handle)
        $0.authType = .passcode
      }
      #expect(driven.end == End(.invalidRequest, "3006"))
    }
  }
}

@Suite("A person who has another device")
struct ReregisterPersonTests {
  @Test("is shown the step only where key, name and contact belong together")
  func others() throws {
    var driven = try DrivenReregister()
    driven.said(["result": false, "authType": 4])
    #expect(driven.end == End(.providerRejected, "2008"))
    #expect(driven.failure?.retryable == false)
    for code: Int64 in [2007, 2008, 5008] {
      var driven = try DrivenReregister()
      driven.refused(code)
      #expect(driven.end == End(.providerRejected, String(code)))
    }
    for data: JSONValue? in [nil, [:], "x", ["authType": 4], ["result": "true", "authType": 4]] {
      var driven = try DrivenReregister()
      driven.said(data)
      #expect(driven.end == End(.providerProtocolError))
      #expect(driven.failure?.message.contains("data.result") == true)
    }
  }

  @Test("proves to be there as it is registered, whether a number or a text says so")
  func registered() throws {
    for (said, question) in [
      (3, LocalAuthQuestion.standing), ("3", .standing), (4, .passcodeStanding),
      ("4", .passcodeStanding),
    ] as [(JSONValue, LocalAuthQuestion)] {
      var driven = try DrivenReregister.sent(said)
      #expect(driven.enterCode?.maskedTarget == "a•••@e•••")
      driven.type()
      #expect(driven.calls == [.verify(BSAParts.contact(), number: BSAParts.number)])
      driven.verified()
      #expect(driven.state == "localAuth" && driven.questions == [.localAuth(question)])
    }
  }

  @Test("who is registered without is let through where that is allowed")
  func none() throws {
    for isAllowed in [true, false] {
      var driven = try DrivenReregister.sent(0) { $0.allowNoLocalAuth = isAllowed }
      if isAllowed {
        driven.type()
        driven.verified()
        #expect(driven.state == "signingUp" && driven.calls.map(\.name) == ["device"])
      } else {
        #expect(driven.end == End(.invalidRequest, "3000"))
      }
    }
  }

  @Test("of whom the provider does not say how is not registered anew")
  func unsaid() throws {
    for type: JSONValue in [.null, 5, 1, "x", "", 3.5, true, [3]] {
      let driven = try DrivenReregister.sent(type)
      #expect(driven.end == End(.providerProtocolError), "before anything is typed in vain")
      #expect(driven.failure?.message.contains("data.authType") == true)
    }
  }

  @Test("may choose another way than the registered one")
  func chosen() throws {
    for said: JSONValue in [["result": true, "authType": 3], ["result": true]] {
      var driven = try DrivenReregister { $0.authType = .passcode }
      driven.said(said)
      driven.type()
      driven.verified()
      #expect(driven.questions == [.localAuth(.passcodeStanding)])
    }
  }

  @Test("proves to be there as the provider said last")
  func registeredLast() throws {
    var driven = try DrivenReregister.sent(4)
    driven.say(.resend, at: now + .seconds(30))
    driven.said(["result": true, "authType": 3], at: now + .seconds(30))
    driven.type()
    driven.verified()
    #expect(driven.questions == [.localAuth(.standing)])
  }

  @Test("is asked for again when another number is wanted")
  func resend() throws {
    var driven = try DrivenReregister.sent()
    driven.say(.resend, at: now + .seconds(30))
    #expect(driven.calls == [.sendToMember(member, BSAParts.contact())])
    driven.said(["result": false])
    #expect(driven.end == End(.providerRejected, "2008"))
  }

  @Test("has five guesses as anybody")
  func guesses() throws {
    var driven = try DrivenReregister.sent()
    for _ in 1...5 {
      driven.type()
      driven.wrong()
    }
    #expect(driven.end == End(.attemptsExhausted, "3005"))
    #expect(driven.receive(.woken) == .ignore)
  }
}

@Suite("A device in place of another")
struct ReplacementTests {
  @Test("says who and how, but neither address nor number beside the one that was verified")
  func enrolled() throws {
    let driven = try DrivenReregister.replacing()
    #expect(driven.state == "signingUp" && driven.flow.isOutcomeUnknown)
    #expect(
      driven.calls == [
        .replaceDevice(
          BSAEnrolment(
            userKey: "ada.1815", name: "Ada Lovelace", contact: BSAParts.contact(), email: nil,
            phoneNumber: nil, authType: .passcode, pushToken: nil, appVersion: "1.0.0",
            device: BSAParts.registeredDevice), disposeToken: BSAParts.dispose.unsealed())
      ])
  }

  @Test("gives the account the new secret")
  func succeeds() throws {
    var driven = try DrivenReregister.replacing()
    driven.said(["secretKey": .string(BSAParts.secretKey)])
    let completion = try #require(driven.completion)
    #expect(
      completion.result == ["userKey": "ada.1815", "deviceId": .string(BSAParts.registeredDevice)])
    #expect(completion.grant?.subject == "ada.1815" && completion.grant?.tokens == nil)
    #expect(completion.grant?.attributes["localAuthType"] == "PASSCODE")
    #expect(completion.grant?.totpSecret == Sealed(Secret(BSAParts.secretKey)))
  }

  @Test("is asked for again after a lost answer, five times")
  func lost() throws {
    for outcome in [BSAParts.lost, BSAParts.gone, BSAParts.failing(500)] {
      var driven = try DrivenReregister.replacing()
      let call = try #require(driven.calls.first)
      for pause in [1, 2, 4, 8, 16] {
        driven.answered(outcome)
        #expect(driven.pause == .seconds(pause))
        #expect(driven.problem?.reason == "provider_unreachable")
        driven.receive(.woken)
        #expect(driven.calls == [call])
      }
      driven.answered(outcome)
      #expect(driven.end == End(.providerUnreachable))
      #expect(driven.failure?.retryable == true)
    }
  }

  @Test("is asked for again after a restart, with a proof that is young enough")
  func restart() throws {
    var driven = try DrivenReregister.replacing()
    let call = try #require(driven.calls.first)
    try driven.restart(at: now + .seconds(300))
    #expect(driven.calls == [call])
    try driven.restart(at: now + .milliseconds(300_001))
    #expect(driven.state == "localAuth" && driven.calls.isEmpty)
  }

  @Test("that is refused, or answered unreadably, has failed")
  func refused() throws {
    var driven = try DrivenReregister.replacing()
    driven.refused(3006)
    #expect(driven.end == End(.providerRejected, "3006"))
    driven = try .replacing()
    driven.answered(BSAParts.failing(404))
    #expect(driven.end == End(.providerProtocolError))
  }
}
