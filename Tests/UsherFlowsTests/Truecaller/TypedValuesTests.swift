import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// Text that the user has typed is not reported if the server repeats it.
@Suite("Typed text that Truecaller repeats in a refusal")
struct TypedValuesTests {
  private static let code = "739146"
  private static let codes = [
    "wrong code 739146", "BAD-739146-X", "7 3 9 1 4 6", "739-146", "٧٣٩١٤٦", "７３９１４６", "739146",
  ]
  private static let numbers = [
    "no code for 9876543210", "+919876543210 is barred", "(98765) 43210", "+91 98765-43210",
    "987.654.3210", "९८७६५४३२१०",
  ]
  private static let names = [
    "Zubeida Canary is no name", "ZUBEIDA", "zubeida_canary", "Mr. Rao", "rao?",
  ]
  private static let answers: [Phase: [Int]] = [
    .create: [200, 400, 401, 404, 429, 503], .verify: [200, 401, 410, 422, 429, 503],
    .validate: [200, 401, 404, 500], .update: [200, 401, 422, 503], .profile: [200, 401, 404, 503],
  ]

  /// Returns the texts that the flow reports if the call of `stage` is refused with `body`.
  private func told(_ stage: Phase, _ status: Int, _ body: JSONValue) throws -> String {
    var driven = try DrivenVerification(
      provider: truecaller { $0.validation = stage == .validate ? .sdk28 : .none })
    if stage != .create {
      driven.toCode()
      driven.receive(DrivenVerification.code(Self.code, first: "Zubeida Canary"))
    }
    if [.validate, .update, .profile].contains(stage) {
      driven.answered(["accessToken": "otp-access-secret"])
    }
    if stage == .profile { driven.answered([:]) }
    driven.answered(body, status: status)
    if stage == .update, driven.problem == nil {
      driven.answered(DrivenVerification.profile)
      let problem = try #require(driven.completion?.result["nameProblem"])
      let texts = [
        problem["message"], problem["provider"]?["error"], problem["provider"]?["message"],
      ]
      return texts.compactMap { $0?.stringValue }.joined(separator: "|")
    }
    let word = driven.problem?.provider ?? driven.failure?.provider
    return [
      driven.problem?.message, driven.failure?.message, word?.error, word?.message,
    ].compactMap { $0 }.joined(separator: "|")
  }

  private func check(_ text: String, _ stages: [Phase]) throws {
    for stage in stages {
      for status in Self.answers[stage] ?? [] {
        let message = try told(stage, status, ["code": 4220, "message": .string(text)])
        #expect(!message.contains(text) && message.contains("4220"), "\(stage) \(status)")
        let code = try told(stage, status, ["code": .string(text), "message": "no"])
        #expect(!code.contains(text), "\(stage) \(status)")
      }
    }
  }

  @Test("a typed code that Truecaller repeats in a message is not reported", arguments: codes)
  func code(text: String) throws { try check(text, [.verify]) }

  @Test("a phone number that Truecaller repeats in a message is not reported", arguments: numbers)
  func number(text: String) throws { try check(text, Phase.calls) }

  @Test("a typed name that Truecaller repeats in a message is not reported", arguments: names)
  func name(text: String) throws { try check(text, [.verify, .validate, .update, .profile]) }

  @Test("a Truecaller message that contains another code of six digits is not reported")
  func otherCode() throws {
    for stage in Phase.calls {
      let told = try told(stage, 422, ["code": 4220, "message": "not 739146, but 111222"])
      #expect(!told.contains("739146") && !told.contains("111222") && told.contains("4220"))
    }
  }

  @Test("a typed code that Truecaller repeats as a JSON number is not reported")
  func codeAsNumber() throws {
    for status in [200, 422, 503] {
      let told = try told(.verify, status, ["code": 739_146, "message": "no"])
      #expect(!told.contains("739146"))
      #expect(told.contains("no"))
    }
  }

  @Test("a Truecaller message that repeats no typed text is reported whole")
  func others() throws {
    for text in [
      "wrong otp", "too many attempts, try in 24 hours", "Invalid access token.", "extraordinary",
    ] {
      for stage in Phase.calls {
        let told = try told(stage, 422, ["code": 4220, "message": .string(text)])
        #expect(told.contains(text) && told.contains("4220"))
      }
    }
  }

  @Test(
    "a typed name that is an ordinary word hides only Truecaller messages that have it as a word")
  func ordinaryWord() throws {
    for (text, isShown) in [
      ("a name is refused", false), ("many names are refused", true), ("", false),
    ] {
      var driven = try DrivenVerification()
      driven.toCode()
      driven.receive(DrivenVerification.code(first: "a", last: ""))
      driven.answered(["accessToken": "otp-access-secret"])
      driven.answered(["code": 4221, "message": .string(text)])
      driven.answered(DrivenVerification.profile)
      let problem = try #require(driven.completion?.result["nameProblem"])
      #expect(problem["provider"]?["message"]?.stringValue == (isShown ? text : nil))
      let reason = isShown ? text : "the provider refuses, and gives no reason"
      #expect(problem["message"]?.stringValue == reason)
    }
  }
}
