import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The SDK's words for what only the wire, the configuration or this machine can bring about. All of
/// them are in the table of `DeviceWordTests`.
@Suite("Freedom ID's words", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomWordTests {
  private static let one = ["read.firstname"]

  @Test("an answer that cannot be used ends the flow with the SDK's word, and nothing is kept")
  func answers() throws {
    let scene = try FreedomScene()
    let location: JSONValue = ["Location": .string(scene.sandbox.base)]
    let unreceived = "transmissionError.requestReceivingError"
    let faults: [(JSONValue, String)] = [
      (["brokenJSON": true], "networkError.bodyError"),
      (["body": ["no", "object"]], "networkError.bodyError"),
      (["hugeBody": 2_097_152], unreceived), (["status": 304], unreceived),
      (["status": 302, "headers": location], unreceived),
    ]
    for (fault, word) in faults {
      try scene.spoil("accounts", fault, times: 1)
      let end = try scene.authorize(Self.one)
      #expect(end.failure == ["provider_protocol_error", word, nil], "\(fault.text): \(end.text)")
      #expect(end["failure"]?["provider"]?["name"] == "freedom")
      let message = end["failure"]?["message"]?.stringValue ?? ""
      #expect(!message.isEmpty && !message.contains(FreedomScene.apiKey))
    }
    #expect(try scene.consents().isEmpty && scene.accounts().isEmpty)
  }

  @Test("a credential that is not set, or not the right one, ends the flow before anybody is asked")
  func credentials() throws {
    let scene = try FreedomScene(credentials: [:], passcode: nil)
    let none = try scene.authorize(Self.one)
    #expect(none.failure == ["provider_rejected", "configurationError", nil], "\(none.text)")
    try scene.daemon.setCredential("freedom-api-key", "canary-key")
    let wrong = try scene.authorize(Self.one)
    #expect(wrong.failure == ["provider_rejected", "incorrectApiKey", "100001"], "\(wrong.text)")
    #expect(!wrong.text.contains("canary-key"))
  }

  @Test("neither a reader nor a passcode: configurationError, and usherctl is named that sets one")
  func nobodyCanBeKnown() throws {
    let scene = try FreedomScene(passcode: nil)
    let home = try scene.walk(scene.authorize(Self.one)) { $0.state == "home" }
    let end = try scene.walk(home)
    #expect(
      end.failure == ["local_auth_failed", "configurationError", "PASSCODE_NOT_ENROLLED_DEVICE"],
      "\(end.text)")
    #expect(end["failure"]?["message"]?.stringValue?.contains("usherctl") == true)
  }

  @Test("no connection, a broken one, and HTTP 503: told, retried for half a minute, then the word")
  func unreachable() throws {
    let nobody = try FreedomScene(passcode: nil, base: "http://127.0.0.1:1/freedomid")
    let (broken, busy) = (try FreedomScene(passcode: nil), try FreedomScene(passcode: nil))
    try broken.spoil("accounts", ["reset": true])
    try busy.spoil("accounts", ["status": 503])
    let words = ["connectionError", "streamError", "codeError"].map { "networkError.\($0)" }
    let scenes = zip([nobody, broken, busy], words)
    let flows = try scenes.map { try $0.0.start(Self.one) }
    for ((scene, word), flow) in zip(scenes, flows) {
      let told = try scene.moved(flow, "tells the problem") { $0.problem != nil }
      #expect(told.problem == "provider_unreachable", "\(told.text)")
      #expect(told["problem"]?["provider"]?["code"] == .string(word))
    }
    for ((scene, word), flow) in zip(scenes, flows) {
      let end = try scene.app.finished(flow, moving: scene.clock)
      #expect(Array(end.failure.prefix(2)) == ["provider_unreachable", word], "\(end.text)")
    }
    #expect(try broken.requests("accounts") == 6 && busy.requests("accounts") == 6)
  }
}
