import JSONRPC
import Synchronization
import Testing
import UsherCore

@testable import UsherKit

extension BSAKitTests {
  @Suite("Documented program for BSA")
  struct Program {
    private final class Lines: Sendable {
      private let lines: Mutex<ArraySlice<String>>
      init(_ lines: String...) { self.lines = Mutex(lines[...]) }
      func next() -> String? { lines.withLock { $0.popFirst() } }
    }

    private func register(_ daemon: BSADaemon, _ passcodes: [String]) async throws {
      let prompt = TerminalPresenter(TypedDialog(hidden: passcodes))
      try await daemon.run { path in
        BSA.configure(socketPath: path, prompt: prompt)
        let numbers = Lines("000000", "298336")
        let program = DeviceRegistration(
          clientKey: "a1hrg2xv", bundleIdentifier: "com.your.app"
        ) { numbers.next() ?? "" }
        try await program.register(
          email: "user@email.com", phoneNumber: "+821012345678", userKey: "user1",
          name: "Asha Rao")
      }
    }

    @Test("the documented BSA program retries a wrong code and a wrong passcode, then registers")
    func registers() async throws {
      let daemon = BSADaemon(
        starts: [.advances([.otpSent]), .advances([.passcode]), .advances([.registered])],
        inputs: [
          .advances([.verifying], then: [.otpSent.with(problem: "wrong_code")]),
          .advances([.verifying], then: [.verified]),
          .advances([.checking], then: [.passcode.with(problem: "wrong_passcode")]),
          .advances([.checking], then: [.authenticated]),
        ],
        replies: ["registration.checkUserKey": [.reply(#"{"available":true}"#)]])
      try await register(daemon, ["1357", "2468"])
      #expect(
        daemon.inputs == [
          ["type": "enterCode", "code": "000000", "fields": ["clientKey": "a1hrg2xv"]],
          ["type": "enterCode", "code": "298336", "fields": ["clientKey": "a1hrg2xv"]],
          ["type": "localAuth", "passcode": "1357"], ["type": "localAuth", "passcode": "2468"],
        ])
      let signUp = daemon.params(of: "flow.start").last?["params"]
      #expect(signUp?["disposeToken"] == "dsp_1" && signUp?["verifyBy"] == "email")
    }

    @Test("the documented BSA program ends with USER_CANCEL at the end of its input")
    func endOfInput() async throws {
      let cancelled = BSAFlowSnapshot.failed("cancelled", "USER_CANCEL", status: "cancelled")
      let daemon = BSADaemon(
        starts: [.advances([.otpSent]), .advances([.passcode])],
        inputs: [.advances([.verifying], then: [.verified]), .advances([cancelled])],
        replies: ["registration.checkUserKey": [.reply(#"{"available":true}"#)]])
      let failure = BSA.LocalAuthHelper.Failure(
        errorCode: .USER_CANCEL, message: "why it failed")
      await #expect(throws: failure) { try await register(daemon, []) }
    }
  }
}

@Suite("Errors of BSA calls")
struct BSAErrorTests {
  @Test("each kind of KitError maps to a BSA rtCode or to an error without one")
  func kinds() {
    let codes = Dictionary(
      uniqueKeysWithValues: KitError.Kind.allCases.map { kind in
        ("\(kind)", BSAError(KitError(kind, "why")).rtCode)
      })
    #expect(
      codes == [
        "invalidRequest": 2002, "notConfigured": nil, "signInRequired": 2008,
        "nothingWaiting": 3006, "notPermitted": nil, "denied": 9009, "expired": 3006,
        "attemptsExhausted": 3005, "rejected": 10001, "rateLimited": 10001,
        "unavailable": nil, "cancelled": nil, "unexpected": nil,
      ])
  }

  @Test("BSA's own code and message take precedence, except if BSA was unavailable")
  func ownCode() {
    let provider = ProviderErrorCode(
      name: ProviderName("bsa"), code: "5006", message: "its own words")
    let failed = BSAError(
      KitError(.rejected, "why", retryAfter: .seconds(3), provider: provider))
    #expect(
      failed == .failed(rtCode: 5006, message: "its own words", retryAfter: .seconds(3)))
    #expect("\(failed)" == "its own words (rtCode 5006)")
    let away = BSAError(KitError(.unavailable, "why", provider: provider))
    #expect(away == .unreachable(message: "why") && away.rtCode == nil && "\(away)" == "why")
  }
}
