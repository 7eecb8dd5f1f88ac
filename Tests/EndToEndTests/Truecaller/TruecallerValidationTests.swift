import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The partner's server-side validation by the daemon, in each of its three generations.
@Suite("Truecaller's server-side validation", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerValidationTests {
  @Test(
    "each Truecaller validation generation has its own path, precedes the name, logs no token",
    arguments: [
      ("legacy", "/truecaller/v1/otp/installation/validate/{accessToken}", "POST"),
      ("v2_8", "/truecaller/validation/v1/otp/installation/phoneNumberDetail/{accessToken}", "GET"),
      (
        "oauth",
        "/truecaller/validation/v1/otp/client/installation/phoneNumberDetail/{accessToken}", "GET"
      ),
    ])
  func generation(validation: String, path: String, method: String) throws {
    let fixture = try TruecallerFixture(validation: validation)
    let listener = try Listener(fixture.daemon)
    let end = try fixture.verified()
    #expect(try fixture.paths("validate") == [path])
    let log = try fixture.sandbox.control("GET", "requests")["requests"]?.arrayValue ?? []
    #expect(
      log.compactMap { $0["endpoint"]?.stringValue } == [
        "truecaller.create", "truecaller.verify", "truecaller.validate", "truecaller.update",
        "truecaller.profile",
      ])
    #expect(log.first { $0["endpoint"] == "truecaller.validate" }?["method"] == .string(method))
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "verifying", "otpReceived", "verificationComplete",
        "verificationComplete succeeded",
      ])
    let token = try #require(
      try fixture.app.call("token.get", ["account": end["result"]?["account"] ?? .null])[
        "accessToken"]?.stringValue)
    #expect(!fixture.daemon.log.contains(token))
  }

  @Test("a client id that Truecaller does not know is TCError 12 and adds no account")
  func stranger() throws {
    let fixture = try TruecallerFixture(validation: "oauth", clientID: "somebody-else")
    let flow = try fixture.verify()
    let end = try fixture.enter(fixture.code(), to: flow)
    #expect(end.failure == ["provider_rejected", "12", "404"], "\(end.text)")
    #expect(try fixture.requests("update") == 0 && fixture.requests("profile") == 0)
    #expect(try fixture.app.call("account.list")["accounts"] == [])
  }

  @Test("an access token of another number is Truecaller TCError 15 and adds no account")
  func mismatch() throws {
    let fixture = try TruecallerFixture(validation: "v2_8")
    try fixture.set(["validateOtherNumber": true])
    let flow = try fixture.verify()
    let end = try fixture.enter(fixture.code(), to: flow)
    #expect(end.failure == ["provider_rejected", "15", nil], "\(end.text)")
    #expect(try fixture.requests("update") == 0)
    #expect(try fixture.app.call("account.list")["accounts"] == [])
  }
}
