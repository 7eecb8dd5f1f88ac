import JSONRPC
import Testing
import UsherCommands

@Suite("usherctl's prompt for local authentication", .timeLimit(.minutes(10)))
struct LocalAuthTests {
  private static func step(_ methods: String, scanning: Bool = false) -> String {
    #"{"type":"localAuth","methods":[\#(methods)],"reason":"to sign up","scanning":\#(scanning)}"#
  }

  private static let both = #""biometric","passcode""#

  @Test(
    "usherctl's local authentication prompt accepts the passcode, or a letter for another choice",
    arguments: [
      (["0000"], ["passcode": "0000"]), ([""], ["biometric": true]), (["o"], ["fallback": true]),
      (["c"], ["cancel": true]), ([" 00 "], ["passcode": " 00 "]),
    ] as [([String], JSONValue)])
  func choices(typed: [String], input: JSONValue) async throws {
    var input = input
    input["type"] = "localAuth"
    let (outcome, terminal) = try await answering(
      Self.step(Self.both), typed: typed, with: input)
    #expect(
      outcome.error == """
        to sign up
        passcode (not shown), Enter for the fingerprint reader, o for another method, c to cancel: 

        """)
    #expect(terminal.hiddenLines == typed)
  }

  @Test(
    "usherctl says that the fingerprint reader is active, and Enter chooses another method",
    arguments: [
      (both, "or the passcode (not shown), ", [""], ["fallback": true]),
      (both, "or the passcode (not shown), ", ["0000"], ["passcode": "0000"]),
      (#""biometric""#, "", [""], ["fallback": true]),
      (#""biometric""#, "", ["C"], ["cancel": true]),
    ] as [(String, String, [String], JSONValue)])
  func scanning(
    methods: String, passcode: String, typed: [String], input: JSONValue
  ) async throws {
    var input = input
    input["type"] = "localAuth"
    let (outcome, _) = try await answering(
      Self.step(methods, scanning: true), typed: typed, with: input)
    #expect(
      outcome.error == """
        to sign up
        touch the fingerprint reader
        \(passcode)Enter for another method, c to cancel: 

        """)
  }

  @Test("usherctl repeats the local authentication prompt after invalid input")
  func again() async throws {
    let (outcome, _) = try await answering(
      Self.step(#""passcode""#), typed: ["", "0000"],
      with: ["type": "localAuth", "passcode": "0000"])
    let question = "passcode (not shown), o for another method, c to cancel: \n"
    #expect(outcome.error == "to sign up\n" + question + question)

    let (other, _) = try await answering(
      Self.step(#""biometric""#), typed: ["0000", ""],
      with: ["type": "localAuth", "biometric": true])
    #expect(other.error.contains("enter one of these letters\n"))
  }

  @Test("usherctl completes a flow with an active fingerprint reader without typed input")
  func unattended() async throws {
    let done = Reply.flow(2, status: "succeeded", result: #"{"method":"biometric"}"#)
    let outcome = try await usherctl(
      "flow run work authorize",
      asking: [
        .start([:], Reply.flow(1, step: Self.step(Self.both, scanning: true))),
        .wait(after: 1, done),
      ])
    #expect(outcome.output == "flow flw_1: succeeded\nmethod  biometric\n")
    #expect(outcome.status == 0)
  }
}

@Suite("usherctl local", .timeLimit(.minutes(10)))
struct LocalVerbTests {
  private func status(_ passcode: String) -> Exchange {
    .ask(
      "localAuth.status",
      #"{"methods":[],"biometric":{"state":"noReader"},"passcode":{"state":"\#(passcode)"}}"#)
  }

  @Test(
    "usherctl local status prints the state of the fingerprint reader in words",
    arguments: [
      (#"{"state":"ready","fingers":1}"#, "ready, 1 finger"),
      (#"{"state":"ready","fingers":2}"#, "ready, 2 fingers"),
      (#"{"state":"noReader"}"#, "no reader"), (#"{"state":"notEnrolled"}"#, "no finger enrolled"),
      (
        #"{"state":"lockedOut","lockedUntil":"2030-01-01T00:00:30Z"}"#, "locked for another 30 s"
      ), (#"{"state":"unavailable","message":"it is in use"}"#, "it is in use"),
    ])
  func biometric(json: String, words: String) async throws {
    let reply = #"{"methods":[],"biometric":\#(json),"passcode":{"state":"ready"}}"#
    let outcome = try await usherctl("local status", asking: [.ask("localAuth.status", reply)])
    #expect(outcome.output == "fingerprint  \(words)\npasscode     set\n")
  }

  @Test("usherctl local status prints how long a passcode is locked, and how to set one")
  func passcode() async throws {
    for (json, words) in [
      (#"{"state":"notEnrolled"}"#, "not set: usherctl local passcode"),
      (#"{"state":"lockedOut","lockedUntil":"2030-01-01T01:00:00Z"}"#, "locked for another 1 h"),
    ] {
      let reply = #"{"methods":[],"biometric":{"state":"noReader"},"passcode":\#(json)}"#
      let outcome = try await usherctl("local status", asking: [.ask("localAuth.status", reply)])
      #expect(outcome.output == "fingerprint  no reader\npasscode     \(words)\n")
    }
  }

  @Test("usherctl local passcode asks for a first passcode twice on a terminal, and hides it")
  func first() async throws {
    let terminal = ScriptedTerminal(["till-4711", "till-4711"], interactive: true)
    let outcome = try await usherctl(
      "local passcode", terminal: terminal,
      asking: [
        status("notEnrolled"), .ask("localAuth.setPasscode", ["new": "till-4711"], "{}"),
      ])
    #expect(terminal.hiddenLines == ["till-4711", "till-4711"])
    #expect(
      outcome.error == """
        new passcode (not shown): 
        new passcode once more (not shown): 
        the passcode is set

        """)
    #expect(outcome.status == 0)
  }

  @Test(
    "usherctl local passcode asks for the old passcode if there is one, even if it is locked",
    arguments: ["ready", "lockedOut"])
  func old(state: String) async throws {
    let outcome = try await usherctl(
      "local passcode", terminal: ScriptedTerminal(["a 1 ", "till-4711\r"]),
      asking: [
        status(state),
        .ask("localAuth.setPasscode", ["old": "a 1 ", "new": "till-4711"], "{}"),
      ])
    #expect(outcome.error == "the passcode is set\n")
  }

  @Test("usherctl local passcode changes nothing if the passcodes differ or the input ends")
  func refused() async throws {
    let terminal = ScriptedTerminal(["till-4711", "till-4712"], interactive: true)
    let outcome = try await usherctl(
      "local passcode", terminal: terminal, asking: [status("notEnrolled")])
    #expect(
      outcome.error.hasSuffix("usherctl: the two passcodes differ; nothing has changed\n"))
    #expect(outcome.status == 1)
    let short = try await usherctl(
      "local passcode", terminal: ScriptedTerminal(["a"]), asking: [status("ready")])
    #expect(short.error == "usherctl: the new passcode is missing: the input ended\n")
  }

  @Test("usherctl local passcode --uid sets another user's passcode without the old one")
  func reset() async throws {
    let outcome = try await usherctl(
      "local passcode --uid 1001", terminal: ScriptedTerminal(["given out"]),
      asking: [.ask("localAuth.setPasscode", ["new": "given out", "uid": 1001], "{}")],
      sockets: ["USHER_ADMIN_SOCKET"])
    #expect(outcome.error == "the passcode is set\n")
  }
}
