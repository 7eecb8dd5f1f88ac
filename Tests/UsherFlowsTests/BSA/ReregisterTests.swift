import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Params = BSAReregisterDevice.Params

private let member = BSAMember(userKey: "ada.1815", name: "Ada Lovelace")

@Suite("Parameters of reregisterDevice (BSA)")
struct ReregisterBeginTests {
  private static let faults: [(String, String, @Sendable (inout Params) -> Void)] = [
    ("2000", "the clientKey is not", { $0.clientKey = WireSecret("other-key") }),
    ("2000", "the appPackage is not", { $0.appPackage = "com.example" }),
    ("2002", "verifyData must be an e-mail address", { $0.verifyData = "" }),
    ("2002", "userKey must be another", { $0.userKey = ".." }),
    ("2002", "name must be 1 to 512", { $0.name = "" }),
    ("2002", "pushToken must be 1 to 4096", { $0.pushToken = "" }),
    ("2002", "appVersion must be 1 to 4096", { $0.appVersion = " " }),
    ("3000", "authType must not be none", { $0.authType = BSAAuthType.none }),
  ]

  @Test("the first wrong parameter fails BSA reregisterDevice before any call")
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

  @Test("BSA reregisterDevice sends a code to the member's e-mail address or phone number")
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

  @Test("BSA reregisterDevice with a disposeToken sends no code and needs an authType")
  func handle() throws {
    let origin = BSAParts.origin(handoffSecrets: [BSAParts.kept()])
    let without = try DrivenReregister(origin: origin) {
      $0.disposeToken = WireSecret(BSAParts.handle)
    }
    #expect(without.end == End(.invalidRequest, "2002"))
    #expect(without.failure?.message.hasPrefix("authType is required") == true)
    var driven = try DrivenReregister(origin: origin) {
      $0.disposeToken = WireSecret(BSAParts.handle)
      $0.authType = .biometric
    }
    #expect(driven.state == "localAuth" && driven.questions == [.localAuth(.availability)])
    driven.answer(.availability(.init(biometric: .ready(hasChanged: true), passcode: .ready)))
    driven.answer(.scanned(.matched))
    guard case .replaceDevice(let enrolment, let token) = driven.calls.first else {
      Issue.record("the flow does not replace the device")
      return
    }
    #expect(enrolment.authType == .biometric && token == BSAParts.dispose.unsealed())
  }

  @Test("a disposeToken that is unknown or of another contact fails BSA reregisterDevice")
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

@Suite("Verification and local authentication in reregisterDevice (BSA)")
struct ReregisterPersonTests {
  @Test("reregisterDevice fails unless BSA confirms the user key, the name and the contact")
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

  @Test("BSA reregisterDevice asks for the registered authType, given as a number or a string")
  func registered() throws {
    for (said, question) in [
      (3, LocalAuthQuestion.availability), ("3", .availability), (4, .passcodeAvailability),
      ("4", .passcodeAvailability),
    ] as [(JSONValue, LocalAuthQuestion)] {
      var driven = try DrivenReregister.sent(said)
      #expect(driven.enterCode?.maskedTarget == "a•••@e•••")
      driven.type()
      #expect(driven.calls == [.verify(BSAParts.contact(), number: BSAParts.number)])
      driven.verified()
      #expect(driven.state == "localAuth" && driven.questions == [.localAuth(question)])
    }
  }

  @Test("a BSA registration without local authentication needs allow_no_local_auth")
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

  @Test("a missing or unknown authType fails BSA reregisterDevice before a code is typed")
  func unsaid() throws {
    for type: JSONValue in [.null, 5, 1, "x", "", 3.5, true, [3]] {
      let driven = try DrivenReregister.sent(type)
      #expect(driven.end == End(.providerProtocolError), "no code is asked for before")
      #expect(driven.failure?.message.contains("data.authType") == true)
    }
  }

  @Test("the parameter authType of BSA reregisterDevice overrides the registered one")
  func chosen() throws {
    for said: JSONValue in [["result": true, "authType": 3], ["result": true]] {
      var driven = try DrivenReregister { $0.authType = .passcode }
      driven.said(said)
      driven.type()
      driven.verified()
      #expect(driven.questions == [.localAuth(.passcodeAvailability)])
    }
  }

  @Test(
    "BSA reregisterDevice uses the authType that BSA reported when the code was last sent again")
  func registeredLast() throws {
    var driven = try DrivenReregister.sent(4)
    driven.say(.resend, at: now + .seconds(30))
    driven.said(["result": true, "authType": 3], at: now + .seconds(30))
    driven.type()
    driven.verified()
    #expect(driven.questions == [.localAuth(.availability)])
  }

  @Test("BSA reregisterDevice checks the member again before a resend, and fails if BSA refuses")
  func resend() throws {
    var driven = try DrivenReregister.sent()
    driven.say(.resend, at: now + .seconds(30))
    #expect(driven.calls == [.sendToMember(member, BSAParts.contact())])
    driven.said(["result": false])
    #expect(driven.end == End(.providerRejected, "2008"))
  }

  @Test("the wrong code that max_wrong_codes allows no more ends BSA reregisterDevice")
  func guesses() throws {
    var driven = try DrivenReregister.sent { $0.maxWrongCodes = 5 }
    for _ in 1...5 {
      driven.type()
      driven.wrong()
    }
    #expect(driven.end == End(.attemptsExhausted, "3005"))
    #expect(driven.receive(.woken) == .ignore)
  }
}

@Suite("The replacement call of reregisterDevice (BSA)")
struct ReplacementTests {
  @Test("BSA's replacement call has the verified contact and no other address or number")
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

  @Test("a successful replacement of a BSA device gives the account the new TOTP secret")
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

  @Test("an unanswered BSA replacement call is repeated five times; its failure is retryable")
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

  @Test(
    "a restarted usherd repeats BSA's replacement call up to 300 s after the local authentication")
  func restart() throws {
    var driven = try DrivenReregister.replacing()
    let call = try #require(driven.calls.first)
    try driven.restart(at: now + .seconds(300))
    #expect(driven.calls == [call])
    try driven.restart(at: now + .milliseconds(300_001))
    #expect(driven.state == "localAuth" && driven.calls.isEmpty)
  }

  @Test("a lost answer to BSA's replacement call is remembered during another local authentication")
  func lostBeforeAnotherProof() throws {
    var driven = try DrivenReregister.replacing()
    try driven.restart(at: now + .milliseconds(300_001))
    driven.prove(at: now + .milliseconds(300_001))
    driven.refused(3006, at: now + .milliseconds(300_001))
    #expect(driven.end == End(.providerRejected, "3006"))
    #expect(driven.failure?.title == "Answer lost" && driven.failure?.retryable == true)
  }

  @Test("a refused or unreadable replacement fails BSA reregisterDevice")
  func refused() throws {
    var driven = try DrivenReregister.replacing()
    driven.refused(3006)
    #expect(driven.end == End(.providerRejected, "3006"))
    driven = try .replacing()
    driven.answered(BSAParts.failing(404))
    #expect(driven.end == End(.providerProtocolError))
  }
}
