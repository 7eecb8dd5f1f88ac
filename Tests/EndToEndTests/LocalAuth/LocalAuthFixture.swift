import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A daemon, the person who runs these tests at its socket, and what he has to be known by.
struct LocalAuthFixture {
  static let passcode = "canary-passcode-4711"
  /// What the right finger and a stranger's leave at the reader.
  static let (finger, stranger) = ("right", "stranger")

  let daemon: DaemonUnderTest
  let app: RawClient
  /// Nil where there is no message bus.
  let fprintd: FprintdUnderTest?

  /// - Parameter fprintd: Nil where there is no message bus.
  init(
    _ fprintd: FprintdUnderTest?, clock: MovableClock? = nil, logLevel: String = "debug"
  ) throws {
    daemon = try DaemonUnderTest(
      config: """
        [access]
        group = "4242"

        [limits]
        flow_starts_per_minute = 10000

        """,
      clock: clock, messageBus: fprintd?.busAddress ?? FprintdUnderTest.noBus, logLevel: logLevel)
    app = try daemon.client()
    self.fprintd = fprintd
  }

  private init(_ daemon: DaemonUnderTest, _ fprintd: FprintdUnderTest?, _ app: RawClient) {
    self.daemon = daemon
    self.app = app
    self.fprintd = fprintd
  }

  /// The same at another connection.
  func at(_ app: RawClient) -> LocalAuthFixture { LocalAuthFixture(daemon, fprintd, app) }

  /// One whose person has a finger at the reader.
  static func withFinger() async throws -> LocalAuthFixture {
    let fprintd = try await FprintdUnderTest.start()
    try await fprintd.enrol(user: user, finger: "right-index-finger", print: finger)
    return try LocalAuthFixture(fprintd)
  }

  static let user = NSUserName()

  /// The same daemon, stopped and started again.
  func restarted() throws -> LocalAuthFixture {
    try daemon.restart()
    return at(try daemon.client())
  }

  /// `kill -9`, and the same daemon again.
  ///
  /// - Parameter point: Where it shall die next.
  func killed(dyingAt point: String = "") throws -> LocalAuthFixture {
    daemon.killAtOnce()
    return try started(dyingAt: point)
  }

  /// The daemon again, after its death.
  func started(dyingAt point: String = "") throws -> LocalAuthFixture {
    try daemon.start(environment: ["USHER_FAILPOINT": point])
    return at(try daemon.client())
  }
}

extension LocalAuthFixture {
  /// A flow at its first step, or its end.
  func authenticate(
    _ type: String = "biometric", orPasscode: Bool = false, checksFingers: Bool = false
  ) throws -> JSONValue {
    try app.startFlow(
      "local", "authenticate",
      params: [
        "localAuthType": .string(type), "reason": "open the till",
        "usePasscodeWhenFailed": .bool(orPasscode),
        "checkDomainStateChanged": .bool(checksFingers),
      ])
  }

  /// The flow at the step after this input, or its end.
  func answer(_ flow: JSONValue, _ input: JSONValue) throws -> JSONValue {
    var input = input
    input["type"] = "localAuth"
    return try app.flow(
      in: app.call(
        "flow.submit",
        [
          "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "input": input,
          "waitMs": 15_000,
        ]))
  }

  func type(_ passcode: String, _ flow: JSONValue) throws -> JSONValue {
    try answer(flow, ["passcode": .string(passcode)])
  }

  /// The flow as soon as it has moved on from here.
  func moved(_ flow: JSONValue) throws -> JSONValue {
    try app.flow(
      in: app.call(
        "flow.wait",
        ["flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 15_000]))
  }

  func ended(_ flow: JSONValue) throws -> JSONValue { try app.finished(flow) }

  /// The finger on the reader, when somebody waits for it.
  func touch(_ finger: String) async throws { try await fprintd?.script("SCAN \(finger)") }

  func setPasscode(_ new: String = passcode, old: String? = nil) throws {
    var params: JSONValue = ["new": .string(new)]
    params["old"] = old.map { .string($0) }
    _ = try app.call("localAuth.setPasscode", params)
  }

  func status() throws -> JSONValue { try app.call("localAuth.status", [:]) }
}

extension JSONValue {
  /// The seed's word that ended a flow.
  var word: String? { self["failure"]?["provider"]?["code"]?.stringValue }
  var problem: String? { self["problem"]?["reason"]?.stringValue }
  var isScanning: Bool { self["step"]?["scanning"] == true }
}

let noFprintd: Comment = """
  SKIPPED, NOT PROVEN: fprintd, libfprint's virtual reader or dbusmock is missing: \
  Packaging/install-dependencies test
  """
