import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

@Suite("The end of a verification")
struct PhoneAdmissionTests {
  private func validating(_ generation: TokenValidation) throws -> DrivenVerification {
    var driven = try DrivenVerification(provider: truecaller { $0.validation = generation })
    driven.toToken()
    return driven
  }

  @Test(
    "the token is validated before a name is written",
    arguments: [TokenValidation.legacy, .sdk28, .oauth])
  func validation(generation: TokenValidation) throws {
    var driven = try validating(generation)
    #expect(driven.state == "otpReceived")
    #expect(driven.last == .proceed([.call(.validate(accessToken: otpToken))]))
    driven.answered(["phoneNumber": 919_876_543_210, "countryCode": "IN"])
    #expect(driven.calls.first?.name == "profile_update")
  }

  @Test("also where the number was verified before")
  func validatedBefore() throws {
    var driven = try DrivenVerification(provider: truecaller { $0.validation = .sdk28 })
    driven.answered(["accessToken": "otp-access-secret", "status": 1])
    #expect(driven.state == "verifiedBefore")
    #expect(driven.last == .proceed([.call(.validate(accessToken: otpToken))]))
    driven.answered(["phoneNumber": "919876543210"])
    #expect(driven.state == "verifiedBefore")
    #expect(driven.calls.first?.name == "profile")
  }

  @Test(
    "a token of another number ends it",
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

  @Test("each state is seen once, however much is done within it")
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
      let expected = isNew ? ["otpReceived", "verificationComplete"] : ["verifiedBefore"]
      #expect(views.map(\.state) == expected)
      driven.receive(.idTokenVerified(.genuine(payload: [])))
      #expect(driven.completion != nil)
    }
  }

  @Test("the first generation may say nothing but yes")
  func legacy() throws {
    for answer in [reply([:]), reply(text: ""), reply(text: "", status: 204)] {
      var driven = try validating(.legacy)
      driven.answered(.reply(answer))
      #expect(driven.calls.first?.name == "profile_update")
    }
  }

  @Test("a name is written whatever object a yes to it is, or none")
  func update() throws {
    for answer in [reply([:]), reply(["code": nil]), reply(text: ""), reply(text: "", status: 204)]
    {
      var driven = try Phase.update.driven()
      driven.answered(.reply(answer))
      #expect(driven.state == "verificationComplete")
    }
  }

  @Test("each call has all its tries, however many the one before it took")
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

  @Test("the profile has every member, whatever the server leaves out")
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

  @Test("the profile is read as the wire writes it")
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
    "gender",
    arguments: [
      ("m", "male"), ("M", "male"), ("f", "female"), ("F", "female"), ("n", "notSpecified"),
      ("male", "notSpecified"), (nil, "notSpecified"), (1, "notSpecified"),
    ] as [(JSONValue, String)])
  func gender(wire: JSONValue, shown: String) throws {
    var driven = try Phase.profile.driven()
    driven.answered(["gender": wire])
    #expect(driven.completion?.result["profile"]?["gender"]?.stringValue == shown)
  }

  @Test("an empty phone number is none")
  func emptyNumber() throws {
    var driven = try Phase.profile.driven()
    driven.answered(["phoneNumber": ""])
    #expect(driven.completion?.result["profile"]?["phoneNumber"] == .null)
  }

  @Test("a time that not every reader of JSON reads alike is none")
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

  @Test("a profile of another number ends it")
  func otherProfile() throws {
    var driven = try Phase.profile.driven()
    driven.answered(["phoneNumber": "919876543211"])
    #expect(driven.failure?.provider?.code == "15")
  }
}

@Suite("A signed profile")
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

  @Test("its Base64 is what is checked, and only what it says is believed")
  func genuine() throws {
    var driven = try checking(signed())
    let text = SignedText(text: payload, signature: Array("signature".utf8))
    #expect(driven.last == .proceed([.verifySignature(text)]))
    #expect(driven.state == "verificationComplete")
    driven.receive(.idTokenVerified(.genuine(payload: Array(payload.utf8))))
    #expect(driven.completion?.result["profile"]?["firstName"] == "Asha")
    #expect(driven.completion?.grant?.label == "Asha Rao")
  }

  @Test("the algorithm need not be named, but no other may be")
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
    "one that cannot be checked is not believed",
    arguments: [
      ["signature": .some(nil)], ["signature": ""], ["signature": "***"], ["signature": 5],
      ["payload": ""], ["payload": 5],
    ] as [[String: JSONValue?]])
  func unreadable(change: [String: JSONValue?]) throws {
    let driven = try checking(signed(change))
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.failure?.provider == ProviderErrorCode(name: phones, code: "15"))
  }

  @Test("a wrong signature ends it")
  func wrong() throws {
    var driven = try checking(signed())
    driven.receive(.idTokenVerified(.refused(message: "the profile's signature is wrong")))
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.failure?.provider?.code == "15")
  }

  @Test("what was signed must be a profile, and of this number")
  func otherPayload() throws {
    for (text, code) in [("[1]", "13"), ("{\"phoneNumber\":\"919876543211\"}", "15")] {
      let payload = Data(text.utf8).base64EncodedString()
      var driven = try checking(signed(["payload": .string(payload)]))
      driven.receive(.idTokenVerified(.genuine(payload: [])))
      #expect(driven.failure?.provider?.code == code)
    }
  }

  @Test("keys that cannot be had are asked for again, also after a restart")
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

  @Test("keys that the server cannot give just now are its trouble, with its own code")
  func keysBusy() throws {
    var driven = try checking(signed())
    let busy = reply(["code": 503], status: 503, headers: ["retry-after": "9"])
    driven.receive(.idTokenVerified(.unreachable(message: "busy", reply: busy)))
    #expect(driven.last == .proceed([.wake(after: .seconds(9))]))
    #expect(driven.problem?.provider == ProviderErrorCode(name: phones, code: "10", error: "503"))
  }

  @Test("where the provider names no key nothing is said of the signature")
  func keyless() throws {
    var driven = try checking(signed())
    driven.receive(.idTokenVerified(.keyless(message: "the provider names no RSA key")))
    #expect(driven.failure?.reason == .providerProtocolError)
    #expect(driven.failure?.provider == ProviderErrorCode(name: phones, code: "10"))
  }

  @Test("the list of keys, and what is none")
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
        SignatureKey(truecaller: .reply(reply(bad))) == .unusable("the provider names no RSA key"))
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
