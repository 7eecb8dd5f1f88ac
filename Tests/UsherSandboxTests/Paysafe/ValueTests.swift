import Foundation
import Testing

@testable import UsherSandbox

@Suite("Values of the Paysafe fake")
struct PaysafeValueTests {
  @Test("a Paysafe verification is parsed from and written as a method with or without a channel")
  func names() {
    for name in ["OTP.SMS", "PIN", "BIOMETRIC.REDIRECT", "PUSH_NOTIFICATION"] {
      #expect(SCAVerification(name)?.name == name)
    }
    for name in ["", "otp", "OTP.", ".SMS", "OTP.FAX", "OTP.SMS.EMAIL", "SMS"] {
      #expect(SCAVerification(name) == nil)
    }
  }

  @Test("a Paysafe verification maps to the kind that the sandbox can perform, or to none")
  func kinds() {
    let kinds: [(String, SCAVerification.Kind?)] = [
      ("OTP.SMS", .sms), ("OTP.EMAIL", .email), ("OTP.AUTHENTICATOR", .authenticator),
      ("PIN", .pin), ("PASSWORD", .password), ("PUSH_NOTIFICATION", .push),
      ("BIOMETRIC.PUSH_NOTIFICATION", .push), ("PIN.REDIRECT", .redirect), ("OTP", nil),
      ("PASSKEYS", nil), ("BIOMETRIC", nil), ("PIN.SMS", nil),
    ]
    for (name, kind) in kinds { #expect(SCAVerification(name)?.kind == kind, "\(name)") }
  }

  @Test(
    "a wallet amount is parsed to exact cents from text and from numbers",
    arguments: [
      ("120.00", 12_000), ("0.1", 10), ("7", 700), (7, 700), (.number(0.29), 29),
      (.number(1_000_000.01), 100_000_001),
    ] as [(JSON, Int)])
  func amounts(_ json: JSON, _ cents: Int) {
    #expect(Amount(json)?.cents == cents)
  }

  @Test(
    "a malformed, negative or too large wallet amount is refused",
    arguments: [
      "", "-1", "1.234", "1.", ".5", "1,50", "1e3", "1.0.0", "9999999999", "١",
      -1, .number(1.234), .number(1e300), .null, true, [], 1_000_000_000,
    ] as [JSON])
  func noAmounts(_ json: JSON) {
    #expect(Amount(json) == nil)
  }

  @Test("a wallet amount is written with two decimals")
  func amountText() {
    #expect(Amount(cents: 12_005).text == "120.05")
    #expect(Amount(cents: 7).text == "0.07")
  }

  @Test("a return URL must be http or https, without a fragment and without user information")
  func returnURLs() {
    #expect(ReturnURL("https://a.example/back?x=1")?.address == "https://a.example/back")
    for text in ["http://127.0.0.1:5/x", "http://[::1]:5/x"] {
      #expect(ReturnURL(text)?.isLoopback == true)
    }
    for text in ["https://127.0.0.1.evil.example/", "http://localhost/"] {
      #expect(ReturnURL(text)?.isLoopback == false)
    }
    for text in [
      "", "/back", "javascript:alert(1)", "ftp://a.example/", "https://a.example/#x", "https://",
      "https://127.0.0.1@evil.example/", "https://a.example/ä", "https://a.example/ x",
      "https://a.example/" + String(repeating: "x", count: 2048),
    ] {
      #expect(ReturnURL(text) == nil, "\(text)")
    }
  }

  @Test("a wallet operation's digest covers method, path, query and body, but not member order")
  func digests() throws {
    func digest(
      _ method: Endpoint.Method = .post, _ path: String = "/p", query: String = "",
      _ body: String? = #"{"a":1,"b":{"c":[1,2],"d":null}}"#
    ) throws -> String {
      var call = EndpointCall(method, path, base: "")
      call.query = query
      return WalletRequestOperation(
        call, body: try body.map { try JSON(parsing: Array($0.utf8)) }, summary: "",
        announced: .header
      ).digest
    }
    let known = try digest()
    #expect(known.count == 64)
    #expect(try digest(.post, "/p", query: "", #"{ "b": {"d":null, "c":[1,2]}, "a":1 }"#) == known)
    #expect(try digest(.put) != known)
    #expect(try digest(.post, "/q") != known)
    #expect(try digest(query: "x=1") != known)
    #expect(try digest(.post, "/p", query: "", #"{"a":1,"b":{"c":[2,1],"d":null}}"#) != known)
    #expect(try digest(.post, "/p", query: "", #"{"a":1,"b":{"c":[1,2]}}"#) != known)
    #expect(try digest(.post, "/p", query: "", nil) != known)
  }

  @Test("an SCA proof is read from the header or from the body, and is refused in both")
  func proofs() throws {
    let details: JSON = ["eventId": "e", "walletOperationId": "w"]
    func take(_ header: JSON?, _ body: JSON?) throws -> (ScaProof?, JSON?) {
      var call = EndpointCall(.post, "/p", base: "")
      call.headers["sca-authorization"] = header.map {
        Data($0.encoded()).base64EncodedString()
      }
      return try ScaProof.extract(from: call, body)
    }
    let inHeader = try take(["scaDetails": details], ["a": 1])
    #expect(inHeader.0?.form == .header)
    #expect(inHeader.1 == ["a": 1])
    let inBody = try take(nil, ["a": 1, "scaDetails": details])
    #expect(inBody.0?.eventID == "e")
    #expect(inBody.0?.walletOperationID == "w")
    #expect(inBody.0?.form == .body)
    #expect(inBody.1 == ["a": 1])
    #expect(try take(nil, ["a": 1]).0 == nil)
    let wrong: [(JSON?, JSON?)] = [
      (["scaDetails": details], ["scaDetails": details]), (details, nil), ("x", nil),
      (["scaDetails": ["eventId": "e"]], nil), (["scaDetails": details, "more": 1], nil),
      (nil, ["scaDetails": .null]), (nil, ["scaDetails": ["eventId": 1]]),
      (nil, ["scaDetails": ["eventId": "", "walletOperationId": "w"]]),
    ]
    for (header, body) in wrong {
      #expect(refusal { _ = try take(header, body) } == "invalid_request")
    }
  }

  @Test(
    "an unknown or invalid Paysafe setting is refused as invalid_request",
    arguments: [
      ["nope": 1], ["codeSeconds": -1], ["announce": "smoke"], ["announceStatus": 401],
      ["announceStatus": 302], ["attemptStatus": 204], ["redirectStatus": "maybe"],
      ["availableVerifications": ["PASSKEYS"]], ["availableVerifications": ["FAX"]],
      ["availableVerifications": "PIN"], ["returnUrls": ["x"]], ["allowableAttempts": -1],
      ["nextCounters": ["attempts": 1]], ["nextCounters": ["currentAttempts": -1]],
      ["scaAmount": -1], ["omitCounters": 1],
    ] as [[String: JSON]])
  func refusedSettings(_ changes: [String: JSON]) {
    #expect(refusal { _ = try PaysafeBackendSettings().changed(by: changes) } == "invalid_request")
  }

  @Test("a change of one Paysafe setting keeps the others, and null restores its default")
  func settings() throws {
    let changed = try PaysafeBackendSettings().changed(by: [
      "announce": "body", "scaAmount": 0, "nextCounters": ["currentAttempts": 2],
    ])
    #expect(changed.announce == .body)
    #expect(changed.nextCounters == ["currentAttempts": 2])
    let back = try changed.changed(by: ["announce": .null])
    #expect(back.announce == .header)
    #expect(back.scaAmount == 0)
  }
}
