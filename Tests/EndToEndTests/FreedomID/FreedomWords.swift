import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// One way to come to one of the SDK's words.
struct FreedomWord: CustomTestStringConvertible {
  let word: String
  let reason: String
  let cause: String
  /// The server's own code.
  var code: String?
  var apiKey: String? = FreedomScene.apiKey
  var passcode: String? = FreedomScene.passcode
  let end: @Sendable (FreedomScene) throws -> JSONValue

  var testDescription: String { "\(word): \(cause)" }

  func scene() throws -> FreedomScene {
    try FreedomScene(
      credentials: apiKey.map { ["freedom-api-key": $0] } ?? [:], passcode: passcode)
  }

  /// Every word that can be met, but for those that need the retries of a minute.
  static let all = ofParameters + ofPeople + ofAnswers + ofTransmission
  static let unreachable = [
    "networkError.connectionError", "networkError.streamError", "networkError.codeError",
  ]

  private static let one = ["read.firstname"]
}

// MARK: - Parameters and configuration

extension FreedomWord {
  private static let ofParameters = [
    FreedomWord(word: "dataGrantsCanNotBeEmpty", reason: "invalid_request", cause: "no grants") {
      try $0.authorize([])
    },
    FreedomWord(
      word: "componentValidationError", reason: "invalid_request", cause: "an unknown grant"
    ) { try $0.authorize(one + ["read.shoe_size"]) },
    FreedomWord(
      word: "componentValidationError", reason: "invalid_request", cause: "one of another mode"
    ) { try $0.authorize(["read.profile"]) },
    FreedomWord(word: "incorrectApiKey", reason: "invalid_request", cause: "another apiKey") {
      try $0.authorize(one, ["apiKey": "another"])
    },
    FreedomWord(
      word: "incorrectApiKey", reason: "provider_rejected", cause: "a wrong credential",
      code: "100001", apiKey: "another"
    ) { try $0.authorize(one) },
    FreedomWord(
      word: "transmissionError.appIntegrityError", reason: "provider_rejected",
      cause: "a key for another kind of client", code: "100003",
      apiKey: "s3cret:freedom/partner-key"
    ) { try $0.authorize(one) },
    FreedomWord(
      word: "configurationError", reason: "provider_rejected", cause: "no credential",
      apiKey: nil
    ) { try $0.authorize(one) },
    FreedomWord(
      word: "configurationError", reason: "local_auth_failed", cause: "nobody can be known",
      code: "PASSCODE_NOT_ENROLLED_DEVICE", passcode: nil
    ) { scene in
      let home = try scene.walk(scene.authorize(one)) { $0.state == "home" }
      return try scene.walk(home)
    },
  ]
}

// MARK: - People

extension FreedomWord {
  private static let ofPeople = [
    FreedomWord(word: "accessDenied", reason: "denied", cause: "denied twice") { scene in
      let home = try scene.deny(scene.standing(at: "consent"))
      return try scene.deny(scene.walk(home) { $0.stepType == "consent" })
    },
    FreedomWord(
      word: "accessDenied", reason: "denied", cause: "an account that may not give", code: "100301"
    ) { scene in
      try scene.set(["closedAccounts": ["alice"]])
      return try scene.walk(scene.authorize(one))
    },
    FreedomWord(
      word: "authError", reason: "attempts_exhausted", cause: "a locked log-in", code: "100204"
    ) { scene in
      try scene.set(["attempts": 1])
      return try scene.enter(password: "wrong", at: scene.standing(at: "enterPassword"))
    },
    FreedomWord(
      word: "authError", reason: "local_auth_failed", cause: "another way is wanted",
      code: "USER_FALLBACK"
    ) { scene in
      try scene.submit(
        ["type": "localAuth", "fallback": true], to: scene.standing(at: "localAuth"))
    },
    FreedomWord(word: "authError", reason: "provider_rejected", cause: "somebody else") { scene in
      let account = try scene.authorized(one)["result"]?["account"] ?? .null
      try scene.sandbox.control("POST", "freedomid/revokeAll")
      return try scene.walk(scene.authorize(one, ["account": account]), .bob)
    },
    FreedomWord(word: "userCanceled", reason: "cancelled", cause: "given up") { scene in
      let flow = try scene.standing(at: "consent")
      return try scene.app.flow(
        in: scene.app.call("flow.cancel", ["flow": flow["id"] ?? .null]))
    },
    FreedomWord(word: "userCanceled", reason: "expired", cause: "the time is over") { scene in
      let flow = try scene.standing(at: "consent")
      try scene.restart(ahead: 86_400)
      return try scene.again().app.finished(flow)
    },
  ]
}

// MARK: - Answers

extension FreedomWord {
  private static let ofAnswers = [
    FreedomWord(
      word: "parsingError", reason: "provider_protocol_error", cause: "a member of another type"
    ) { scene in
      try scene.set(["accountsReply": ["accounts": "none"]])
      return try scene.authorize(one)
    },
    FreedomWord(
      word: "parsingError", reason: "provider_protocol_error", cause: "a log-in without tokens"
    ) { scene in
      try scene.set(["loginReply": ["access_token": .null]])
      return try scene.walk(scene.authorize(one))
    },
    FreedomWord(
      word: "parsingError", reason: "provider_protocol_error", cause: "a challenge without an end"
    ) { scene in
      try scene.set(["challengeReply": ["expire_at": "soon"]])
      return try scene.walk(scene.authorize(one), .alice.by(.phoneOTP))
    },
    FreedomWord(
      word: "dataProcessingError", reason: "provider_protocol_error", cause: "never asked for"
    ) { scene in
      try scene.set(["grantsNeverAsked": true])
      return try scene.walk(scene.authorize(one))
    },
    FreedomWord(
      word: "dataProcessingError", reason: "provider_protocol_error", cause: "another account"
    ) { scene in
      try scene.set(["otherAccount": true])
      return try scene.walk(scene.authorize(one))
    },
    FreedomWord(
      word: "unknownError", reason: "provider_rejected", cause: "any other refusal", code: "777"
    ) { scene in
      try scene.spoil(
        "accounts", ["status": 418, "body": ["error": ["message": "no", "code": 777]]])
      return try scene.authorize(one)
    },
    FreedomWord(
      word: "networkError.bodyError", reason: "provider_protocol_error", cause: "half an object"
    ) { scene in
      try scene.spoil("accounts", ["brokenJSON": true])
      return try scene.authorize(one)
    },
    FreedomWord(
      word: "networkError.bodyError", reason: "provider_protocol_error", cause: "no object"
    ) { scene in
      try scene.spoil("accounts", ["body": ["no", "object"]])
      return try scene.authorize(one)
    },
    FreedomWord(
      word: "transmissionError.requestReceivingError", reason: "provider_protocol_error",
      cause: "not modified"
    ) { scene in
      try scene.spoil("accounts", ["status": 304])
      return try scene.authorize(one)
    },
  ]
}

// MARK: - Transmission

extension FreedomWord {
  private static let ofTransmission = [
    FreedomWord(
      word: "transmissionError.incorrectRequestStructure", reason: "provider_rejected",
      cause: "a member that is wrong"
    ) { scene in
      let errors: JSONValue = ["message": "not valid", "errors": ["grants.3": ["is not known"]]]
      try scene.spoil("accounts", ["status": 422, "body": ["error": errors]])
      return try scene.authorize(one)
    },
    FreedomWord(
      word: "transmissionError.identificationError", reason: "provider_rejected",
      cause: "a device that is not known", code: "100002"
    ) { scene in
      try scene.set(["knowsDevices": false])
      return try scene.authorize(one)
    },
    FreedomWord(
      word: "transmissionError.autheticationError", reason: "provider_rejected",
      cause: "tokens that are never good", code: "100004"
    ) { scene in
      try scene.spoil(
        "consent",
        ["status": 401, "body": ["error": ["message": "not good", "code": 100_004]]])
      return try scene.walk(scene.authorize(one))
    },
    FreedomWord(
      word: "transmissionError.requestReceivingError", reason: "provider_protocol_error",
      cause: "an answer without end"
    ) { scene in
      try scene.spoil("accounts", ["hugeBody": 2_097_152])
      return try scene.authorize(one)
    },
    FreedomWord(
      word: "transmissionError.requestReceivingError", reason: "provider_protocol_error",
      cause: "a redirect"
    ) { scene in
      try scene.spoil(
        "accounts", ["status": 302, "headers": ["Location": .string(scene.sandbox.base)]])
      return try scene.authorize(one)
    },
  ]
}
