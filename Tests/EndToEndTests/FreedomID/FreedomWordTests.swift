import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The SDK's errors that only a connection, the configuration or the machine can cause.
/// `DeviceWordTests` covers all of the SDK's errors.
@Suite("Errors of Freedom ID's SDK, end to end", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomWordTests {
  private static let one = ["read.firstname"]

  @Test("an unusable answer ends Freedom ID authorize with the SDK's error, and nothing is stored")
  func answers() throws {
    let fixture = try FreedomFixture()
    let location: JSONValue = ["Location": .string(fixture.sandbox.base)]
    let unreceived = "transmissionError.requestReceivingError"
    let faults: [(JSONValue, String)] = [
      (["brokenJSON": true], "networkError.bodyError"),
      (["body": ["no", "object"]], "networkError.bodyError"),
      (["hugeBody": 2_097_152], unreceived), (["status": 304], unreceived),
      (["status": 302, "headers": location], unreceived),
    ]
    for (fault, word) in faults {
      try fixture.spoil("accounts", fault, times: 1)
      let end = try fixture.authorize(Self.one)
      #expect(end.failure == ["provider_protocol_error", word, nil], "\(fault.text): \(end.text)")
      #expect(end["failure"]?["provider"]?["name"] == "freedom")
      let message = end["failure"]?["message"]?.stringValue ?? ""
      #expect(!message.isEmpty && !message.contains(FreedomFixture.apiKey))
    }
    #expect(try fixture.consents().isEmpty && fixture.accounts().isEmpty)
  }

  @Test("a missing or wrong API key ends authorize with configurationError or incorrectApiKey")
  func credentials() throws {
    let fixture = try FreedomFixture(credentials: [:], passcode: nil)
    let none = try fixture.authorize(Self.one)
    #expect(none.failure == ["provider_rejected", "configurationError", nil], "\(none.text)")
    let empty = try fixture.authorize([])
    #expect(empty.failure == ["invalid_request", "dataGrantsCanNotBeEmpty", nil], "\(empty.text)")
    try fixture.daemon.setCredential("freedom-api-key", "canary-key")
    let wrong = try fixture.authorize(Self.one)
    #expect(wrong.failure == ["provider_rejected", "incorrectApiKey", "100001"], "\(wrong.text)")
    #expect(!wrong.text.contains("canary-key"))
  }

  @Test(
    "without a reader or a passcode, Freedom ID authorize fails with a message that names usherctl")
  func nobodyCanBeKnown() throws {
    let fixture = try FreedomFixture(passcode: nil)
    let end = try fixture.authorize(Self.one)
    #expect(
      end.failure == ["local_auth_failed", "configurationError", "PASSCODE_NOT_ENROLLED_DEVICE"],
      "\(end.text)")
    #expect(end["failure"]?["message"]?.stringValue?.contains("usherctl") == true)
    #expect(try fixture.requests("otp") == 0 && fixture.requests("password") == 0)
  }

  @Test("an unreachable Freedom ID is reported and retried, then ends authorize with an error")
  func unreachable() throws {
    let nobody = try FreedomFixture(passcode: nil, base: "http://127.0.0.1:1/freedomid")
    let (broken, busy) = (try FreedomFixture(passcode: nil), try FreedomFixture(passcode: nil))
    try broken.spoil("accounts", ["reset": true])
    try busy.spoil("accounts", ["status": 503])
    let words = ["connectionError", "streamError", "codeError"].map { "networkError.\($0)" }
    let fixtures = zip([nobody, broken, busy], words)
    let flows = try fixtures.map { try $0.0.start(Self.one) }
    for ((fixture, word), flow) in zip(fixtures, flows) {
      let told = try fixture.moved(flow, "has a problem") { $0.problem != nil }
      #expect(told.problem == "provider_unreachable", "\(told.text)")
      #expect(told["problem"]?["provider"]?["code"] == .string(word))
    }
    for ((fixture, word), flow) in zip(fixtures, flows) {
      let end = try fixture.app.finished(flow, moving: fixture.clock)
      #expect(Array(end.failure.prefix(2)) == ["provider_unreachable", word], "\(end.text)")
    }
    #expect(try broken.requests("accounts") == 6 && busy.requests("accounts") == 6)
  }
}
