import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// Validates parameters and inputs of Freedom ID flows. The message about an invalid one begins
/// with its name and contains nothing of its value.
enum FreedomParameter {
  /// Returns a UUID (RFC 9562 §4) in lower case.
  static func uuid(_ text: String, _ name: String) throws(InvalidValue) -> String {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12],
      groups.joined().utf8.allSatisfy({ $0.isDigit || $0.isHexadecimalLetter })
    else { throw InvalidValue("\(name) must be a UUID") }
    return text.lowercased()
  }

  /// Returns a phone number without blanks, dashes, dots and brackets: `^\+\d{10,15}$` (provider
  /// contract §4.3).
  static func phone(_ text: String, _ name: String) throws(InvalidValue) -> String {
    let plain = text.filter { !" -.()\u{A0}".contains($0) }
    let digits = plain.dropFirst().utf8
    guard text.utf8.count <= 64, plain.hasPrefix("+"), (10...15).contains(digits.count),
      digits.allSatisfy(\.isDigit)
    else { throw InvalidValue("\(name) must be + and 10 to 15 digits") }
    return plain
  }

  /// Returns an e-mail address unchanged. Neither side of its `@` is empty, and it has no blanks or
  /// control characters.
  static func email(_ text: String, _ name: String) throws(InvalidValue) -> String {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    guard text.utf8.count <= 254, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
      text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }),
      !text.contains(where: \.isWhitespace)
    else { throw InvalidValue("\(name) must be an address with one @ and at most 254 bytes") }
    return text
  }
}

extension PartnerUser {
  /// Returns the data, validated and in the form that Freedom ID expects.
  ///
  /// - Throws: A message that names the invalid parameter.
  func checked() throws(InvalidValue) -> PartnerUser {
    var user = self
    user.phone = try phone.map { text throws(InvalidValue) in
      try FreedomParameter.phone(text, "phone")
    }
    user.email = try email.map { text throws(InvalidValue) in
      try FreedomParameter.email(text, "email")
    }
    try Self.checkText(firstname, "firstname")
    try Self.checkText(lastname, "lastname")
    try Self.check(dateOfBirth, "dateOfBirth must be a day as YYYY-MM-DD") {
      $0.utf8.count == 10 && Timestamp(rfc3339: $0 + "T00:00:00Z") != nil
    }
    try Self.checkText(identifier, "identifier")
    try Self.check(country, "country must be three letters from A to Z") {
      $0.utf8.count == 3
        && $0.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }
    try Self.check(gender, "gender must be M or F") { ["M", "F"].contains($0) }
    try Self.checkText(nationality, "nationality")
    return user
  }

  private static func check(
    _ text: String?, _ message: String, _ isFit: (String) -> Bool
  ) throws(InvalidValue) {
    guard text.map(isFit) ?? true else { throw InvalidValue(message) }
  }

  private static func checkText(_ text: String?, _ name: String) throws(InvalidValue) {
    try check(text, "\(name) must be text of at most 256 bytes without control characters") {
      let isPlain = $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
      return isPlain && $0.utf8.count <= 256 && !$0.allSatisfy(\.isWhitespace)
    }
  }
}

extension UInt8 {
  fileprivate var isHexadecimalLetter: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20)
  }
}

/// The call that creates or updates a user at Freedom ID. It is never repeated if it may have
/// succeeded, because no other call tells whether it did.
struct FreedomUserRequest: RetryingMachine, Codable, Sendable, Equatable {
  let provider: ProviderName
  let account: AccountID
  let user: PartnerUser
  /// The user's id at Freedom ID; nil to create a user.
  let id: String?
  private(set) var retrying = RetryBackoff()
  var problem: Problem?

  var call: FreedomPartnerCall {
    id.map { .update(account, id: $0, user) } ?? .create(account, user)
  }

  /// Whether the call is in progress; false during a pause before the next attempt.
  var isUnderWay: Bool { !retrying.isPaused }

  var view: FlowView { waiting("sending", for: "the provider's answer") }

  mutating func receive(_ event: FlowEvent<FreedomPartnerCall>) -> Answer<FreedomPartnerCall> {
    switch event {
    case .provider(.called(call, let outcome)) where !retrying.isPaused: return answered(outcome)
    case .woken where retrying.isPaused, .daemon(.resumed) where retrying.isPaused:
      retrying.endPause()
      return .proceed([.call(call)])
    case .daemon(.resumed):
      return .fail(
        .outcomeUnknown("the daemon was restarted while the call was under way", provider))
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func answered(_ outcome: CallOutcome) -> Answer<FreedomPartnerCall> {
    switch FreedomIDReply(outcome, hiding: call.personalData) {
    case .success(let members): return done(members)
    case .refused(let refusal):
      return .fail(.refused(refusal, as: refusal.tokenErrorCode, provider))
    case .failed(let fault) where fault.mayHaveTakenEffect:
      return .fail(.outcomeUnknown(fault.message, provider, fault))
    case .failed(let fault):
      return retry(retrying, .unreachable(fault, provider), after: fault.retryAfter) {
        $0.retrying = $1
      }
    case .unreadable(let flaw):
      return .fail(.unusable(Failure.outcomeUnknown(flaw.message), flaw.errorCode, provider))
    case .noToken(let message): return .fail(.noToken(message, provider))
    }
  }

  private func done(_ members: [String: JSONValue]) -> Answer<FreedomPartnerCall> {
    guard let text = members["freedom_id"]?.stringValue,
      let done = try? FreedomParameter.uuid(text, "freedom_id")
    else {
      let message = Failure.outcomeUnknown("the provider's answer has no freedom_id")
      return .fail(.unusable(message, .parsingError, provider))
    }
    guard id.map({ $0.hasSameBytes(as: done) }) ?? true else {
      return .fail(.contradiction("the provider's answer is about another user", provider))
    }
    return .finish(Completion(grant: nil, result: ["freedomId": .string(done)]))
  }
}

extension Failure {
  fileprivate static func outcomeUnknown(_ message: String) -> String {
    "\(message); whether it was done is not known"
  }

  /// The failure of a flow whose call may have succeeded. It is not retryable, because a repeated
  /// call could have its effect twice.
  fileprivate static func outcomeUnknown(
    _ message: String, _ provider: ProviderName, _ fault: FreedomReplyError? = nil
  ) -> Failure {
    let errorCode = fault?.errorCode ?? .streamError
    return .unreachable(
      outcomeUnknown(message), errorCode.providerErrorCode(provider, fault?.refusal),
      retryable: false)
  }
}
