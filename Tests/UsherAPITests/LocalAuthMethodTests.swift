import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Methods of the local authenticator on the wire")
struct LocalAuthMethodTests {
  @Test("localAuth.status")
  func status() {
    checkWire(LocalAuthStatus(), "{}")
    checkWire(
      LocalAuthStatus.Reply(
        methods: [.biometric, .passcode], biometric: .init(state: .ready, fingers: 2),
        passcode: .init(state: .ready)),
      """
      {"methods":["biometric","passcode"],"biometric":{"state":"ready","fingers":2},
       "passcode":{"state":"ready"}}
      """)
    checkWire(
      LocalAuthStatus.Reply(
        methods: [], biometric: .init(state: .unavailable, message: "it is in use"),
        passcode: .init(state: .lockedOut, lockedUntil: later)),
      """
      {"methods":[],"biometric":{"state":"unavailable","message":"it is in use"},
       "passcode":{"state":"lockedOut","lockedUntil":"\(laterJSON)"}}
      """)
    checkWire(
      LocalAuthStatus.Biometric(state: .lockedOut, fingers: 1, lockedUntil: later),
      #"{"state":"lockedOut","fingers":1,"lockedUntil":"\#(laterJSON)"}"#)
    checkWire(
      LocalAuthStatus.Biometric.State.allCases,
      #"["ready","noReader","notEnrolled","lockedOut","unavailable"]"#)
    checkWire(
      LocalAuthStatus.Passcode.State.allCases, #"["ready","notEnrolled","lockedOut"]"#)
  }

  @Test("localAuth.setPasscode")
  func setPasscode() {
    checkWire(LocalAuthSetPasscode(new: WireSecret("till-4711")), #"{"new":"till-4711"}"#)
    checkWire(
      LocalAuthSetPasscode(old: WireSecret("a"), new: WireSecret("till-4711"), uid: 1001),
      #"{"old":"a","new":"till-4711","uid":1001}"#)
    #expect(
      !String(describing: LocalAuthSetPasscode(new: WireSecret("till-4711"))).contains("4711"))
  }
}
