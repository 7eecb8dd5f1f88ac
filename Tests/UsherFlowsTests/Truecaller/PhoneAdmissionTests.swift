import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Validation, name and profile calls of Truecaller verifyPhone")
struct PhoneAdmissionTests {
  private func validating(_ generation: TokenValidation) throws -> DrivenVerification {
    var driven = try DrivenVerification(provider: truecaller { $0.validation = generation })
    driven.toToken()
    return driven
  }

  @Test(
    "Truecaller verifyPhone validates the token before it writes the name",
    arguments: [TokenValidation.legacy, .sdk28, .oauth])
  func validation(generation: TokenValidation) throws {
    var driven = try validating(generation)
    #expect(driven.state == "otpReceived")
    #expect(driven.last == .proceed([.call(.validate(accessToken: otpToken))]))
    driven.answered(["phoneNumber": 919_876_543_210, "countryCode": "IN"])
    #expect(driven.calls.first?.name == "profile_update")
  }

  @Test("Truecaller verifyPhone validates the token of a number that was verified before")
  func validatedBefore() throws {
    var driven = try DrivenVerification(provider: truecaller { $0.validation = .sdk28 })
    driven.answered(["accessToken": "otp-access-secret", "status": 1])
    #expect(driven.state == "creating" && driven.stored.isEmpty)
    #expect(driven.last == .proceed([.call(.validate(accessToken: otpToken))]))
    driven.answered(["phoneNumber": "919876543210"])
    #expect(driven.state == "verifiedBefore" && driven.stored.count == 1)
    #expect(driven.calls.first?.name == "profile")
  }

  @Test(
    "a token of another number fails Truecaller verifyPhone with TCError 15",
    arguments: [
      ["phoneNumber": 919_876_543_211, "countryCode": "IN"], ["phoneNumber": "+929876543210"],
      ["phoneNumber": 9_876_543_210, "countryCode": "PK"], ["phoneNumber": ""],
      ["phoneNumber": [:]],
    ] as [JSONValue])
  func otherNumber(answer: JSONValue) throws {
    for generation in [TokenValidation.legacy, .sdk28, .oauth] {
      var driven = try validating(generation)
      driven.answered(answer)
      #expect(driven.failure?.reason == .providerRejected)
      #expect(driven.failure?.provider == ProviderErrorCode(name: phones, code: "15"))
    }
  }

  @Test("Truecaller verifyPhone shows each state once, however many calls it makes in that state")
  func views() throws {
    let payload = Data(DrivenVerification.profile.encoded()).base64EncodedString()
    let signed: JSONValue = ["payload": .string(payload), "signature": "AA=="]
    for isNew in [true, false] {
      var driven = try DrivenVerification(provider: truecaller { $0.validation = .sdk28 })
      var views: [FlowView] = []
      if isNew {
        driven.toVerify()
        views.append(driven.flow.view)
        driven.answered(["accessToken": "otp-access-secret"])
      } else {
        driven.answered(["accessToken": "otp-access-secret", "status": 1])
      }
      for answer in [["phoneNumber": "919876543210"], [:], signed] as [JSONValue] {
        if driven.flow.view != views.last { views.append(driven.flow.view) }
        if isNew || answer != [:] { driven.answered(answer) }
      }
      if driven.flow.view != views.last { views.append(driven.flow.view) }
      let expected =
        isNew
        ? ["verifying", "otpReceived", "verificationComplete"] : ["creating", "verifiedBefore"]
      #expect(views.map(\.state) == expected)
      driven.receive(.idTokenVerified(.genuine(payload: [])))
      #expect(driven.completion != nil)
    }
  }

  @Test("an empty reply to Truecaller's legacy validation is a success")
  func legacy() throws {
    for answer in [reply([:]), reply(text: ""), reply(text: "", status: 204)] {
      var driven = try validating(.legacy)
      driven.answered(.reply(answer))
      #expect(driven.calls.first?.name == "profile_update")
    }
  }

  @Test("an empty reply to the Truecaller call that writes the name is a success")
  func update() throws {
    for answer in [reply([:]), reply(["code": nil]), reply(text: ""), reply(text: "", status: 204)]
    {
      var driven = try Phase.update.driven()
      driven.answered(.reply(answer))
      #expect(driven.state == "verificationComplete")
    }
  }

  @Test("each call of Truecaller verifyPhone has five retries, whatever the call before it needed")
  func tries() throws {
    var driven = try validating(.sdk28)
    for answer in [["phoneNumber": "919876543210"], [:], DrivenVerification.profile] as [JSONValue]
    {
      for pause in [1, 2, 4, 8, 16] {
        driven.answered(.unreachable(message: "gone", sent: true))
        #expect(driven.last == .proceed([.wake(after: .seconds(pause))]))
        driven.receive(.woken)
      }
      #expect(driven.problem?.reason == "provider_unreachable")
      driven.answered(answer)
      #expect(driven.problem == nil || driven.completion != nil)
    }
    #expect(driven.completion != nil)
  }

  @Test("a Truecaller profile in a result has every member, even if the server sends none")
  func emptyProfile() throws {
    var driven = try Phase.profile.driven()
    driven.answered([:])
    let texts = [
      "firstName", "lastName", "phoneNumber", "countryCode", "street", "city", "zipcode",
      "facebookID", "twitterID", "email", "url", "avatarUrl", "jobTitle", "companyName",
      "requestTime",
    ]
    var expected = Dictionary(uniqueKeysWithValues: texts.map { ($0, JSONValue.null) })
    expected["gender"] = "notSpecified"
    expected["isVerified"] = false
    expected["isAmbassador"] = false
    let completion = try #require(driven.completion)
    #expect(completion.result == ["profile": .object(expected)])
    #expect(completion.grant?.profile == expected)
    #expect(completion.grant?.label == "+91 ••• 210")
  }

  @Test("a Truecaller profile is read with the server's member names and types")
  func profile() throws {
    var driven = try Phase.profile.driven()
    driven.answered([
      "firstName": "Asha\u{1B}[1m", "lastName": "Rao", "phoneNumber": 919_876_543_210,
      "countryCode": "IN", "gender": "M", "street": "MG Road", "city": nil, "zipcode": 411_001,
      "facebookID": "f", "twitterID": "t", "email": "a@example.com", "url": "https://a.example",
      "avatarUrl": "https://a.example/p.png", "jobTitle": "x", "companyName": ["y"],
      "isTrueName": true, "isAmbassador": true, "requestTime": 1_800_000_000.25, "more": 1,
    ])
    #expect(
      driven.completion?.result["profile"] == [
        "firstName": "Asha[1m", "lastName": "Rao", "phoneNumber": "919876543210",
        "countryCode": "IN", "gender": "male", "street": "MG Road", "city": nil,
        "zipcode": "411001", "facebookID": "f", "twitterID": "t", "email": "a@example.com",
        "url": "https://a.example", "avatarUrl": "https://a.example/p.png", "jobTitle": "x",
        "companyName": nil, "isVerified": true, "isAmbassador": true,
        "requestTime": 1_800_000_000.25,
      ])
  }

  @Test(
    "the gender of a Truecaller profile is male, female or notSpecified",
    arguments: [
      ("m", "male"), ("M", "male"), ("f", "female"), ("F", "female"), ("n", "notSpecified"),
      ("male", "notSpecified"), (nil, "notSpecified"), (1, "notSpecified"),
    ] as [(JSONValue, String)])
  func gender(wire: JSONValue, shown: String) throws {
    var driven = try Phase.profile.driven()
    driven.answered(["gender": wire])
    #expect(driven.completion?.result["profile"]?["gender"]?.stringValue == shown)
  }

  @Test("an empty phone number in a Truecaller profile is null in the result")
  func emptyNumber() throws {
    var driven = try Phase.profile.driven()
    driven.answered(["phoneNumber": ""])
    #expect(driven.completion?.result["profile"]?["phoneNumber"] == .null)
  }

  @Test("a Truecaller requestTime that not every JSON reader reads alike is null in the result")
  func requestTime() throws {
    let cases: [(told: JSONValue, shown: JSONValue)] = [
      (.integer(1 << 53), .integer(1 << 53)), (.integer(1 << 53 + 1), .null),
      (.integer(.max), .null), (.integer(.min), .null), (.number(1e308), .null), ("5", .null),
      (.number(0.5), .number(0.5)),
    ]
    for (told, shown) in cases {
      var driven = try Phase.profile.driven()
      driven.answered(["requestTime": told])
      #expect(driven.completion?.result["profile"]?["requestTime"] == shown)
    }
  }

  @Test("a profile of another number fails Truecaller verifyPhone with TCError 15")
  func otherProfile() throws {
    for isVerifiedBefore in [false, true] {
      var driven = try isVerifiedBefore ? DrivenVerification() : Phase.profile.driven()
      if isVerifiedBefore { driven.answered(["accessToken": "otp-access-secret", "status": 1]) }
      driven.answered(["phoneNumber": "919876543211"])
      #expect(driven.failure?.provider?.code == "15")
    }
  }
}

@Suite("Signed profiles of Truecaller")
struct SignedProfileTests {
  private let payload = Data(DrivenVerification.profile.encoded()).base64EncodedString()

  private func signed(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
    var members: [String: JSONValue] = [
      "firstName": "Eve", "payload": .string(payload), "signature": "c2lnbmF0dXJl",
      "signatureAlgorithm": "SHA512withRSA",
    ]
    for (name, value) in changes { members[name] = value }
    return .object(members)
  }

  private func checking(_ answer: JSONValue) throws -> DrivenVerification {
    var driven = try Phase.profile.driven()
    driven.answered(answer)
    return driven
  }

  @Test("Truecaller's signature covers the Base64 payload, and only the payload's members are used")
  func genuine() throws {
    var driven = try checking(signed())
    let text = SignedText(text: payload, signature: Array("signature".utf8))
    #expect(driven.last == .proceed([.verifySignature(text)]))
    #expect(driven.state == "verificationComplete")
    driven.receive(.idTokenVerified(.genuine(payload: Array(payload.utf8))))
    #expect(driven.completion?.result["profile"]?["firstName"] == "Asha")
    #expect(driven.completion?.grant?.label == "Asha Rao")
  }

  @Test("a signed Truecaller profile may leave out its algorithm and may name no other")
  func algorithm() throws {
    #expect(
      try checking(signed(["signatureAlgorithm": .some(nil)])).last
        == checking(signed()).last)
    for algorithm in ["SHA1withRSA", "none", ""] as [JSONValue] {
      let driven = try checking(signed(["signatureAlgorithm": algorithm]))
      #expect(driven.failure?.reason == .providerRejected)
      #expect(driven.failure?.provider?.code == "15")
    }
  }

  @Test(
    "a signed profile that cannot be checked fails Truecaller verifyPhone with TCError 15",
    arguments: [
      ["signature": .some(nil)], ["signature": ""], ["signature": "***"], ["signature": 5],
      ["payload": ""], ["payload": 5],
    ] as [[String: JSONValue?]])
  func unreadable(change: [String: JSONValue?]) throws {
    let driven = try checking(signed(change))
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.failure?.provider == ProviderErrorCode(name: phones, code: "15"))
  }

  @Test("a wrong signature of a profile fails Truecaller verifyPhone with TCError 15")
  func wrong() throws {
    var driven = try checking(signed())
    driven.receive(.idTokenVerified(.refused(message: "the profile's signature is wrong")))
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.failure?.provider?.code == "15")
  }

  @Test("a signed payload that is no profile, or of another number, fails Truecaller verifyPhone")
  func otherPayload() throws {
    for (text, code) in [("[1]", "13"), ("{\"phoneNumber\":\"919876543211\"}", "15")] {
      let payload = Data(text.utf8).base64EncodedString()
      var driven = try checking(signed(["payload": .string(payload)]))
      driven.receive(.idTokenVerified(.genuine(payload: [])))
      #expect(driven.failure?.provider?.code == code)
    }
  }

  @Test(
    "Truecaller's signature keys are requested again after a failed fetch, also after a restart")
  func keysGone() throws {
    var driven = try checking(signed())
    let effects = driven.last
    driven.receive(.idTokenVerified(.unreachable(message: "gone")))
    #expect(driven.last == .proceed([.wake(after: .seconds(1))]))
    #expect(driven.problem?.reason == "provider_unreachable")
    #expect(driven.receive(.idTokenVerified(.genuine(payload: []))) == .ignore)
    #expect(driven.receive(.woken) == effects)
    try driven.restart()
    #expect(driven.last == effects)
  }

  @Test("verifyPhone waits for a Truecaller key server that fails for a time, and shows its code")
  func keysBusy() throws {
    var driven = try checking(signed())
    let busy = reply(["code": 503], status: 503, headers: ["retry-after": "9"])
    driven.receive(.idTokenVerified(.unreachable(message: "busy", reply: busy)))
    #expect(driven.last == .proceed([.wake(after: .seconds(9))]))
    #expect(driven.problem?.provider == ProviderErrorCode(name: phones, code: "10", error: "503"))
  }

  @Test("a provider without an RSA key fails Truecaller verifyPhone with a protocol error")
  func keyless() throws {
    var driven = try checking(signed())
    driven.receive(.idTokenVerified(.keyless(message: "the provider publishes no RSA key")))
    #expect(driven.failure?.reason == .providerProtocolError)
    #expect(driven.failure?.provider == ProviderErrorCode(name: phones, code: "10"))
  }

  @Test("Truecaller's signature key is the list's first usable RSA key, if it has one")
  func keys() {
    let der = Data([0x30, 0x03]).base64EncodedString()
    let good: JSONValue = [
      ["keyType": "EC", "key": "AA=="], ["keyType": "RSA", "key": ""],
      ["keyType": "RSA", "key": .string(der)],
    ]
    #expect(SignatureKey(truecaller: .reply(reply(good))) == .key([0x30, 0x03]))
    for bad in [[:], [], [["keyType": "RSA"]], [["keyType": "RSA", "key": "*"]], "x"] as [JSONValue]
    {
      #expect(
        SignatureKey(truecaller: .reply(reply(bad)))
          == .unusable("the provider publishes no RSA key"))
    }
    for status in [408, 425, 429, 500, 503] {
      let busy = reply([], status: status)
      let message = "the provider's keys answer HTTP \(status)"
      #expect(SignatureKey(truecaller: .reply(busy)) == .unreachable(message, busy))
    }
    for status in [201, 302, 401, 404] {
      #expect(
        SignatureKey(truecaller: .reply(reply(good, status: status)))
          == .unusable("the provider's keys answer HTTP \(status)"))
    }
    #expect(SignatureKey(truecaller: .unreadable(message: "too big")) == .unusable("too big"))
    #expect(
      SignatureKey(truecaller: .unreachable(message: "gone", sent: true)) == .unreachable("gone"))
  }
}
