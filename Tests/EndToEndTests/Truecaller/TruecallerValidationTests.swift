import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The partner's server-side validation, done by the daemon in each of its three generations.
@Suite("Truecaller: server-side validation", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerValidationTests {
  private static let generations = ["legacy", "v2_8", "oauth"]

  /// A verification whose code has been entered, at its end.
  private func end(
    _ validation: String, _ settings: JSONValue = [:], fault: JSONValue? = nil
  ) throws -> (scene: TruecallerScene, end: JSONValue) {
    let scene = try TruecallerScene(validation: validation)
    try scene.set(settings)
    if let fault { try scene.spoil("validate", fault, times: 1) }
    let flow = try scene.verify()
    return (scene, try scene.enter(scene.code(), to: flow))
  }

  @Test(
    "each generation by its own path, before a name is written; the token stands in no log",
    arguments: [
      ("legacy", "/truecaller/v1/otp/installation/validate/{accessToken}", "POST"),
      ("v2_8", "/truecaller/validation/v1/otp/installation/phoneNumberDetail/{accessToken}", "GET"),
      (
        "oauth",
        "/truecaller/validation/v1/otp/client/installation/phoneNumberDetail/{accessToken}", "GET"
      ),
    ])
  func generation(validation: String, path: String, method: String) throws {
    let scene = try TruecallerScene(validation: validation)
    let listener = try Listener(scene.daemon)
    let end = try scene.verified()
    #expect(try scene.paths("validate") == [path])
    let log = try scene.sandbox.control("GET", "requests")["requests"]?.arrayValue ?? []
    #expect(
      log.compactMap { $0["endpoint"]?.stringValue } == [
        "truecaller.create", "truecaller.verify", "truecaller.validate", "truecaller.update",
        "truecaller.profile",
      ])
    #expect(log.first { $0["endpoint"] == "truecaller.validate" }?["method"] == .string(method))
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "otpReceived", "verificationComplete",
        "verificationComplete succeeded",
      ])
    let token = try #require(
      try scene.app.call("token.get", ["account": end["result"]?["account"] ?? .null])[
        "accessToken"]?.stringValue)
    #expect(!scene.daemon.log.contains(token))
  }

  @Test("validated also where the number was verified before", arguments: generations)
  func verifiedBefore(validation: String) throws {
    let scene = try TruecallerScene(validation: validation)
    try scene.verified()
    let listener = try Listener(scene.daemon)
    #expect(try scene.verify()["status"] == "succeeded")
    #expect(try listener.states() == ["creating", "verifiedBefore", "verifiedBefore succeeded"])
    #expect(try scene.requests("validate") == 2)
  }

  @Test(
    "trap 1: two meanings of 404: 404 is the developer's fault, 1404 the access token's",
    arguments: generations)
  func trap1(validation: String) throws {
    let developer = try end(
      validation,
      fault: ["status": 404, "body": ["code": 404, "message": "Invalid partner credentials."]])
    #expect(developer.end.failure == ["provider_rejected", "12", "404"])
    #expect(
      developer.end["failure"]?["provider"]?["message"] == "Invalid partner credentials.")
    let token = try end(
      validation,
      fault: ["status": 404, "body": ["code": 1404, "message": "Invalid access token."]])
    #expect(token.end.failure == ["provider_rejected", "11", "1404"])
    for scene in [developer.scene, token.scene] {
      #expect(try scene.requests("update") == 0)
      #expect(try scene.requests("profile") == 0)
      #expect(try scene.app.call("account.list")["accounts"] == [])
    }
  }

  @Test("both, as the server itself brings them about")
  func realRefusals() throws {
    let stranger = try TruecallerScene(validation: "oauth", clientID: "somebody-else")
    let one = try stranger.verify()
    #expect(
      try stranger.enter(stranger.code(), to: one).failure == ["provider_rejected", "12", "404"])
    // The access token is dead when it is validated.
    let scene = try TruecallerScene(validation: "v2_8")
    try scene.set(["accessTokenSeconds": 0])
    let two = try scene.verify()
    #expect(
      try scene.enter(scene.code(), to: two).failure == ["provider_rejected", "11", "1404"])
  }

  @Test(
    "the number as a number and as a string, with and without calling code",
    arguments: ["number", "string", "plus", "national"])
  func forms(form: String) throws {
    for validation in ["v2_8", "oauth"] {
      #expect(
        try end(validation, ["validateNumber": .string(form)]).end["status"] == "succeeded",
        "\(validation)")
    }
    let settings: JSONValue = ["validateNumber": .string(form), "legacyNumber": true]
    #expect(try end("legacy", settings).end["status"] == "succeeded")
  }

  @Test(
    "another number than the one asked about: TCError 15, nothing kept", arguments: generations,
    ["number", "string", "national"])
  func mismatch(validation: String, form: String) throws {
    let (scene, end) = try end(
      validation,
      ["validateOtherNumber": true, "legacyNumber": true, "validateNumber": .string(form)])
    #expect(end["status"] == "failed")
    #expect(end.failure == ["provider_rejected", "15", nil], "\(end.text)")
    #expect(try scene.requests("update") == 0)
    #expect(try scene.app.call("account.list")["accounts"] == [])
  }

  @Test(
    "an answer that does not say whose the token is", arguments: ["v2_8", "oauth"])
  func nobodys(validation: String) throws {
    for (number, failure) in [
      (.null, ["provider_protocol_error", "10", nil]), (true, ["provider_rejected", "15", nil]),
      ("", ["provider_rejected", "15", nil]),
    ] as [(JSONValue, [String?])] {
      let (scene, end) = try end(
        validation, ["validateReply": ["phoneNumber": number, "countryCode": .null]])
      #expect(end.failure == failure, "\(number.text)")
      #expect(try scene.requests("update") == 0)
    }
    let (_, end) = try end(validation, fault: ["brokenJSON": true])
    #expect(end.failure == ["provider_protocol_error", "10", nil], "\(end.text)")
  }

  @Test("the national number of another country is not the number")
  func otherCountry() throws {
    let (_, end) = try end(
      "v2_8", ["validateNumber": "national", "validateReply": ["countryCode": "BD"]])
    #expect(end.failure == ["provider_rejected", "15", nil], "\(end.text)")
  }

  @Test(
    "failed to validate (500) is told while otpReceived, and tried again", arguments: generations)
  func failedToValidate(validation: String) throws {
    let scene = try TruecallerScene(validation: validation)
    try scene.spoil(
      "validate",
      ["status": 500, "body": ["code": 500, "message": "failed to validate the token"]], times: 1)
    let flow = try scene.verify()
    let sent = try scene.enter(scene.code(), to: flow, waitMs: 0)
    let told = try scene.moved(sent, "is in trouble") { $0.problem[0] != nil }
    #expect(told["state"] == "otpReceived")
    #expect(told.problem == ["provider_unreachable", "10"])
    #expect(told["problem"]?["provider"]?["error"] == "500")
    #expect(try scene.app.finished(told)["status"] == "succeeded")
    #expect(try scene.requests("validate") == 2)
  }
}
