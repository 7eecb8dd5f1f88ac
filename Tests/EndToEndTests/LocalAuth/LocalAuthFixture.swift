import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A daemon, a connection of the user who runs the tests, and the fingerprint service of that user.
struct LocalAuthFixture {
  static let passcode = "canary-passcode-4711"
  /// The names of the prints of the right finger and of a stranger's finger.
  static let (finger, stranger) = ("right", "stranger")

  let daemon: DaemonUnderTest
  let app: RawClient
  /// The fingerprint service; nil if the daemon has no message bus.
  let fprintd: FprintdUnderTest?

  /// - Parameter fprintd: The fingerprint service; nil for a daemon without a message bus.
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

  /// Returns this fixture with another connection.
  func at(_ app: RawClient) -> LocalAuthFixture { LocalAuthFixture(daemon, fprintd, app) }

  /// Returns a fixture whose user has an enrolled finger.
  static func withFinger() async throws -> LocalAuthFixture {
    let fprintd = try await FprintdUnderTest.start()
    try await fprintd.enrol(user: user, finger: "right-index-finger", print: finger)
    return try LocalAuthFixture(fprintd)
  }

  static let user = NSUserName()

  /// Restarts the daemon, and returns a fixture with a new connection.
  func restarted() throws -> LocalAuthFixture {
    try daemon.restart()
    return at(try daemon.client())
  }

  /// Kills the daemon by `kill -9` and starts it again.
  ///
  /// - Parameter point: The fail point at which the new process dies.
  func killed(dyingAt point: String = "") throws -> LocalAuthFixture {
    daemon.killAtOnce()
    return try started(dyingAt: point)
  }

  /// Starts the daemon again after its death.
  func started(dyingAt point: String = "") throws -> LocalAuthFixture {
    try daemon.start(environment: ["USHER_FAILPOINT": point])
    return at(try daemon.client())
  }
}

extension LocalAuthFixture {
  /// Starts an `authenticate` flow, and returns it at its first step or its end.
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

  /// Submits an input, and returns the flow at its next step or its end.
  func answer(_ flow: JSONValue, _ input: JSONValue) throws -> JSONValue {
    var input = input
    input["type"] = "localAuth"
    return try app.flow(
      in: app.call(
        "flow.submit",
        [
          "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "input": input,
          "waitMs": 60_000,
        ], within: 120))
  }

  func type(_ passcode: String, _ flow: JSONValue) throws -> JSONValue {
    try answer(flow, ["passcode": .string(passcode)])
  }

  /// Waits for the next change of the flow.
  func moved(_ flow: JSONValue) throws -> JSONValue {
    try app.flow(
      in: app.call(
        "flow.wait",
        ["flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 60_000],
        within: 120))
  }

  func ended(_ flow: JSONValue) throws -> JSONValue { try app.finished(flow) }

  /// Puts a finger on the reader as soon as the reader scans.
  func touch(_ finger: String) async throws { try await fprintd?.script("SCAN \(finger)") }

  func setPasscode(_ new: String = passcode, old: String? = nil) throws {
    var params: JSONValue = ["new": .string(new)]
    params["old"] = old.map { .string($0) }
    _ = try app.call("localAuth.setPasscode", params)
  }

  func status() throws -> JSONValue { try app.call("localAuth.status", [:]) }
}

extension JSONValue {
  /// The provider error code with which a flow has failed.
  var word: String? { self["failure"]?["provider"]?["code"]?.stringValue }
  var problem: String? { self["problem"]?["reason"]?.stringValue }
  var isScanning: Bool { self["step"]?["scanning"] == true }
}

let noFprintd: Comment = """
  SKIPPED, NOT PROVEN: fprintd, libfprint's virtual reader or dbusmock is missing: \
  Packaging/install-dependencies test
  """
