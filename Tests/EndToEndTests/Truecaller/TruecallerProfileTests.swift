import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The profile: whose it must be, by whom it is signed, and the account and token that come of it.
@Suite("Truecaller: profile, account, token", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerProfileTests {
  private let scene: TruecallerScene

  init() throws { scene = try TruecallerScene() }

  private func end(_ number: String = TruecallerScene.number) throws -> JSONValue {
    let flow = try scene.verify(number)
    return try scene.enter(scene.code(), to: flow)
  }

  @Test(
    "a profile of another number ends the flow with TCError 15", arguments: ["string", "number"])
  func otherNumber(form: String) throws {
    try scene.set(["profileOtherNumber": true, "profileNumber": .string(form)])
    let end = try end()
    #expect(end.failure == ["provider_rejected", "15", nil], "\(end.text)")
    #expect(end["result"] == .null)
    #expect(try scene.app.call("account.list")["accounts"] == [])
  }

  @Test("the profile's number is a string, though the server write a number")
  func numberAsNumber() throws {
    try scene.set(["profileNumber": "number"])
    #expect(try end()["result"]?["profile"]?["phoneNumber"] == "919876543210")
  }

  @Test("a profile that is refused: TCError 11 for the token")
  func refused() throws {
    try scene.spoil(
      "profile", ["status": 401, "body": ["code": 4011, "message": "not good"]], times: 1)
    #expect(try end().failure == ["provider_rejected", "11", "4011"])
  }

  @Test("a profile that cannot be read leaves the token, and the next flow needs no code")
  func kept() throws {
    try scene.spoil("profile", ["status": 404, "body": ["code": 8]], times: 1)
    #expect(try end().failure == ["provider_rejected", "10", "8"])
    let token = try scene.app.call("token.get", ["provider": "truecaller"])
    #expect(token["accessToken"]?.stringValue?.isEmpty == false)
    let next = try scene.app.finished(scene.verify())
    #expect(next["status"] == "succeeded" && next["state"] == "verifiedBefore", "\(next.text)")
    #expect(next["result"]?["profile"]?["firstName"] == "Asha")
    #expect(try scene.requests("create") == 1)
    #expect(try scene.app.call("token.get", ["provider": "truecaller"]) == token)
    let accounts = try scene.app.call("account.list")["accounts"]?.arrayValue ?? []
    #expect(accounts.count == 1 && accounts.first?["attributes"]?["profilePending"] == nil)
  }

  @Test("a profile that gets no answer is told while verificationComplete, and tried again")
  func inTrouble() throws {
    let listener = try Listener(scene.daemon)
    try scene.spoil("profile", ["status": 503], times: 1)
    let end = try end()
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "otpReceived", "verificationComplete", "verificationComplete",
        "verificationComplete succeeded",
      ])
    #expect(try scene.requests("profile") == 2)
  }

  // MARK: Signed profiles

  @Test(
    "a rightly signed profile; its key is fetched once and remembered", arguments: [false, true])
  func signed(otherKeyFirst: Bool) throws {
    try scene.set(["profileSignature": "right", "otherKeysFirst": .bool(otherKeyFirst)])
    let listener = try Listener(scene.daemon)
    #expect(try end()["status"] == "succeeded")
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "otpReceived", "verificationComplete",
        "verificationComplete succeeded",
      ])
    #expect(try end("9876543211")["status"] == "succeeded")
    #expect(try scene.requests("key") == 1)
  }

  @Test(
    "a wrong signature, and one over what the Base64 decodes to: TCError 15",
    arguments: ["wrong", "overDecoded"])
  func wronglySigned(signature: String) throws {
    try scene.set(["profileSignature": .string(signature)])
    let end = try end()
    #expect(end.failure == ["provider_rejected", "15", nil], "\(end.text)")
    #expect(try scene.requests("key") == 1)
    #expect(try scene.app.call("account.list")["accounts"] == [])
  }

  @Test("the key was rotated: it is fetched once more, and the signature fits")
  func rotated() throws {
    try scene.set(["profileSignature": "right"])
    #expect(try end()["status"] == "succeeded")
    try scene.sandbox.control("POST", "truecaller/keys/rotate", [:])
    #expect(try end("9876543211")["status"] == "succeeded")
    #expect(try scene.requests("key") == 2)
    try scene.set(["profileSignature": "wrong"])
    #expect(try end("9876543212").failure[1] == "15")
    #expect(try scene.requests("key") == 3)
  }

  @Test("of a signed profile only what is signed is believed")
  func onlySigned() throws {
    try scene.set([
      "profileSignature": "right", "profileReply": ["firstName": "Mallory", "city": "Nowhere"],
    ])
    #expect(try end()["result"]?["profile"]?["firstName"] == "Asha")
    try scene.set(["profileReply": [:], "signedMembers": ["phoneNumber": "919876543219"]])
    #expect(try end("9876543211").failure == ["provider_rejected", "15", nil])
  }

  @Test("a profile with a payload but no signature, or of another algorithm, is none")
  func halfSigned() throws {
    for broken: JSONValue in [
      ["signature": .null], ["signature": "!"], ["signatureAlgorithm": "none"],
      ["signatureAlgorithm": "SHA1withRSA"],
    ] {
      try scene.set(["profileSignature": "right", "profileReply": broken])
      #expect(try end().failure == ["provider_rejected", "15", nil], "\(broken.text)")
      try scene.sandbox.control("DELETE", "truecaller/verified")
    }
  }

  @Test("a key that cannot be had is no wrong signature: asked for again, or unusable")
  func noKey() throws {
    try scene.set(["profileSignature": "right"])
    try scene.spoil("key", ["status": 503, "body": ["code": 503]], times: 1)
    let flow = try scene.verify()
    let sent = try scene.enter(scene.code(), to: flow, waitMs: 0)
    let told = try scene.moved(sent, "is in trouble") { $0.problem[0] != nil }
    #expect(told.problem == ["provider_unreachable", "10"])
    #expect(told["problem"]?["provider"]?["error"] == "503")
    #expect(try scene.app.finished(told)["status"] == "succeeded")
    // Another key, so that it must be asked for.
    try scene.sandbox.control("POST", "truecaller/keys/rotate", [:])
    let faults: [JSONValue] = [
      ["status": 404], ["status": 302, "headers": ["Location": "http://127.0.0.1:1/"]],
      ["status": 200, "body": []], ["brokenJSON": true], ["hugeBody": 2_000_000],
    ]
    // Another number each time: the token of the one before is kept.
    for (number, fault) in zip(9_876_543_211..., faults) {
      try scene.spoil("key", fault, times: 1)
      #expect(
        try end(String(number)).failure == ["provider_protocol_error", "10", nil], "\(fault.text)")
      try scene.sandbox.control("DELETE", "truecaller/verified")
    }
  }

  // MARK: Account and token

  @Test("a person without a name is called by the masked number")
  func label() throws {
    try scene.sandbox.control("POST", "truecaller/verified", TruecallerScene.params("9812345678"))
    let end = try scene.verify("9812345678")
    let account = try scene.account(of: end)
    #expect(account["label"] == "+91 ••• 678", "\(account.text)")
    #expect(account["attributes"] == ["countryCode": "IN", "verifiedBefore": true])
  }

  @Test("the same number again is the same account, with the newer token")
  func sameAccount() throws {
    let one = try scene.verified()
    let old = try scene.app.call("token.get", ["provider": "truecaller"])
    let two = try scene.verify()
    #expect(two["result"]?["account"] == one["result"]?["account"])
    let new = try scene.app.call("token.get", ["provider": "truecaller"])
    #expect(new["accessToken"] != old["accessToken"])
    #expect(try scene.app.call("account.list")["accounts"]?.arrayValue?.count == 1)
  }

  @Test("there is no renewal, and account.forget wipes the token")
  func forget() throws {
    let account = try scene.verified()["result"]?["account"] ?? .null
    let before = try scene.app.call("token.get", ["account": account])
    #expect(
      try scene.app.reason(of: "token.get", ["account": account, "forceRefresh": true])
        == "reauthentication_required")
    #expect(try scene.app.call("token.get", ["account": account]) == before)
    #expect(try scene.app.call("token.list")["tokens"]?.arrayValue?.count == 1)
    _ = try scene.app.call("account.forget", ["account": account])
    #expect(try scene.app.reason(of: "account.get", ["account": account]) == "not_found")
    #expect(try scene.app.call("token.list")["tokens"] == [])
    #expect(try scene.app.reason(of: "token.get", ["account": account]) == "not_found")
    #expect(
      try scene.app.reason(of: "token.get", ["provider": "truecaller"]) == "interaction_required")
  }
}
