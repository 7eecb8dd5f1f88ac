import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Params = BSARegister.Params

/// A wrong parameter and the failure that it causes.
private struct Fault: Sendable {
  let code: String
  /// The beginning of the failure's message.
  let message: String
  let change: @Sendable (inout Params) -> Void

  init(_ code: String, _ message: String, _ change: @escaping @Sendable (inout Params) -> Void) {
    self.code = code
    self.message = message
    self.change = change
  }
}

private let faults: [Fault] = [
  Fault("2000", "the clientKey is not") { $0.clientKey = WireSecret("other-key") },
  Fault("2000", "the appPackage is not") { $0.appPackage = "com.example" },
  Fault("3002", "not agreed to: agreeGccs") { $0.agreeGccs = false },
  Fault("2002", "email must be an e-mail address") { $0.email = "" },
  Fault("2002", "phoneNumber must be a phone number") { $0.phoneNumber = " " },
  Fault("2002", "userKey must be 1 to 512") { $0.userKey = "ada\n1815" },
  Fault("2002", "name must be 1 to 512") { $0.name = " " },
  Fault("2002", "pushToken must be 1 to 4096") { $0.pushToken = "a\nb" },
  Fault("2002", "appVersion must be 1 to 4096") { $0.appVersion = "" },
  Fault("3000", "authType must not be none") { $0.authType = .none },
  Fault("3006", "disposeToken was not") { $0.disposeToken = WireSecret("dsp_0") },
]

@Suite("Parameters of register (BSA)")
struct RegisterBeginTests {
  @Test("a wrong parameter fails BSA register before any call, with the rtCode of that fault")
  func faulty() throws {
    for fault in faults {
      let driven = try DrivenRegister { fault.change(&$0) }
      #expect(driven.end == End(.invalidRequest, fault.code), "\(fault.message)")
      #expect(driven.failure?.message.hasPrefix(fault.message) == true)
      #expect(driven.failure?.retryable == false && driven.cleared.isEmpty)
      #expect(driven.failure?.provider?.title != nil)
    }
  }

  @Test("BSA register reports the first of several wrong parameters")
  func order() throws {
    for first in faults.indices {
      let driven = try DrivenRegister { params in
        for fault in faults[first...] { fault.change(&params) }
      }
      #expect(driven.failure?.message.hasPrefix(faults[first].message) == true)
    }
  }

  @Test("BSA register names all agreements that are missing")
  func agreements() throws {
    for (missing, names) in [
      ([\Params.agreeGccs], "agreeGccs"), ([\.agreePerson], "agreePerson"),
      ([\.agreeDevice], "agreeDevice"),
      ([\.agreeGccs, \.agreeDevice], "agreeGccs, agreeDevice"),
      ([\.agreeGccs, \.agreePerson, \.agreeDevice], "agreeGccs, agreePerson, agreeDevice"),
    ] as [([WritableKeyPath<Params, Bool?>], String)] {
      let driven = try DrivenRegister { params in
        for (place, agreement) in missing.enumerated() {
          params[keyPath: agreement] = place == 0 ? false : nil
        }
      }
      #expect(driven.end == End(.invalidRequest, "3002"))
      #expect(driven.failure?.message == "not agreed to: \(names)")
    }
  }

  @Test("a BSA register that failed for a missing agreement fails the same way after a restart")
  func early() throws {
    var driven = try DrivenRegister { $0.agreeGccs = false }
    let failure = try #require(driven.failure)
    #expect(driven.state == "sending" && driven.isWaiting && !driven.flow.isOutcomeUnknown)
    #expect(driven.receive(.woken) == .ignore)
    #expect(driven.say(.resend) == .ignore)
    try driven.restart()
    #expect(driven.failure == failure)
  }

  @Test("BSA register first sends a code, by e-mail or by the channel that verifyBy names")
  func begins() throws {
    let driven = try DrivenRegister {
      $0.clientKey = WireSecret("client-key-secret")
      $0.appPackage = "com.example.app"
    }
    #expect(driven.calls == [.send(BSAParts.contact())])
    #expect(driven.state == "sending" && driven.isWaiting)
    for channel in BSAContact.Channel.allCases {
      let driven = try DrivenRegister { $0.verifyBy = channel }
      #expect(driven.calls == [.send(BSAParts.contact(channel))])
    }
  }

  @Test("BSA register with authType none skips local authentication unless the operator forbids it")
  func none() throws {
    var driven = try DrivenRegister(origin: BSAParts.origin(BSAParts.withoutLimits)) {
      $0.authType = .none
    }
    driven.said()
    driven.type()
    driven.verified()
    #expect(driven.state == "signingUp" && driven.questions.isEmpty)
    guard case .signUp(let enrolment, let token) = driven.calls.first else {
      Issue.record("the flow does not sign up")
      return
    }
    #expect(enrolment.authType == .none && token == BSAParts.dispose.unsealed())
    driven.said(["secretKey": .string(BSAParts.secretKey)])
    #expect(driven.completion?.grant?.attributes["localAuthType"] == "NONE")
  }
}

@Suite("The disposeToken of register (BSA)")
struct RegisterHandleTests {
  private func begun(
    _ handoffSecrets: [HandoffSecret], handle: String = BSAParts.handle,
    _ change: (inout Params) -> Void = { _ in }
  ) throws -> DrivenRegister {
    try DrivenRegister(origin: BSAParts.origin(handoffSecrets: handoffSecrets)) {
      $0.disposeToken = WireSecret(handle)
      change(&$0)
    }
  }

  @Test("BSA register with a disposeToken sends no code and begins with local authentication")
  func good() throws {
    var driven = try begun([BSAParts.kept()])
    #expect(driven.state == "localAuth" && driven.calls.isEmpty)
    #expect(driven.questions == [.localAuth(.passcodeAvailability)])
    driven.prove()
    guard case .signUp(let enrolment, let token) = driven.calls.first else {
      Issue.record("the flow does not sign up")
      return
    }
    #expect(token == BSAParts.dispose.unsealed())
    #expect(enrolment.contact == BSAParts.contact())
  }

  @Test("BSA register uses the handoff secret that its disposeToken names")
  func several() throws {
    let other = BSAParts.kept(handle: "dsp_other", token: "other-secret")
    for handoffSecrets in [[other, BSAParts.kept()], [BSAParts.kept(), other]] {
      var driven = try begun(handoffSecrets, handle: "dsp_other")
      driven.prove()
      guard case .signUp(_, let token) = driven.calls.first else {
        Issue.record("the flow does not sign up")
        return
      }
      #expect(token == Secret("other-secret"))
    }
  }

  @Test("BSA register accepts a disposeToken of a phone number only with verifyBy sms")
  func bySMS() throws {
    let kept = BSAParts.kept(BSAParts.contact(.sms))
    #expect(try begun([kept]) { $0.verifyBy = .sms }.state == "localAuth")
    #expect(try begun([kept]).end == End(.invalidRequest, "3006"))
  }

  @Test("an unknown disposeToken, or one of another contact, fails BSA register")
  func bad() throws {
    #expect(try begun([]).end == End(.invalidRequest, "3006"))
    let handles = [
      "", "dsp_", "dsp_0123456789abcde", "dsp_0123456789abcdef0", BSAParts.handle.uppercased(),
      BSAParts.handle + " ",
    ]
    for handle in handles {
      let driven = try begun([BSAParts.kept()], handle: handle)
      #expect(driven.end == End(.invalidRequest, "3006"))
    }
    let other = try BSAContact(.email, "eve@example.com")
    let driven = try begun([BSAParts.kept(other)])
    #expect(driven.end == End(.invalidRequest, "3006"))
    #expect(driven.failure?.message.contains(BSAParts.handle) == false)
  }
}
