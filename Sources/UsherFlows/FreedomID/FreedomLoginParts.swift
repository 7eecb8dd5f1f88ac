import JSONRPC
import UsherAPI
import UsherCore

/// The phone number or e-mail address with which a user signs in, and which of the two it is;
/// sealed in storage.
struct FreedomName: Codable, Sendable, Equatable {
  let method: FreedomLogin.Method
  private let text: Sealed<Secret>

  /// - Throws: What is wrong with the form, without any of its values.
  init(_ method: FreedomLogin.Method, _ fields: [String: Secret]) throws(InvalidLoginForm) {
    let field = Self.field(of: method)
    if let stray = fields.keys.filter({ $0 != field.name }).min() {
      throw InvalidLoginForm(
        field: "input.fields.\(stray)", message: "this is not a field of the step")
    }
    let place = "input.fields.\(field.name)"
    guard let typed = fields[field.name]?.revealed() else {
      throw InvalidLoginForm(field: place, message: "\(place) is missing")
    }
    self.method = method
    switch method {
    case .phoneOTP, .phonePassword:
      guard let phone = FreedomPhone.read(typed) else {
        throw InvalidLoginForm(field: place, message: "\(place) must be + and 10 to 15 digits")
      }
      text = Sealed(Secret(phone))
    case .emailPassword:
      guard let email = FreedomEmail.read(typed) else {
        throw InvalidLoginForm(
          field: place,
          message: "\(place) must be an address with one @ and at most 254 bytes")
      }
      text = Sealed(Secret(email))
    }
  }

  static func field(of method: FreedomLogin.Method) -> Field {
    switch method {
    case .phoneOTP, .phonePassword:
      Field(name: "phone", type: .phone, required: true, maxLength: 32)
    case .emailPassword: Field(name: "email", type: .email, required: true, maxLength: 254)
    }
  }

  var login: LoginName {
    switch method {
    case .phoneOTP, .phonePassword: .phone(text.unsealed())
    case .emailPassword: .email(text.unsealed())
    }
  }
}

/// An invalid input; the sentence contains none of its value.
struct InvalidLoginForm: Error {
  let field: String
  let message: String
}

/// A phone number in the format of Freedom ID: `^\+\d{10,15}$` (contract §4.3).
enum FreedomPhone {
  /// - Returns: The number without blanks, dashes, dots and brackets; nil if it is invalid.
  static func read(_ text: String) -> String? {
    let plain = text.filter { !" -.()\u{A0}".contains($0) }
    let digits = plain.dropFirst().utf8
    guard text.utf8.count <= 64, plain.hasPrefix("+"), (10...15).contains(digits.count),
      digits.allSatisfy(\.isDigit)
    else { return nil }
    return plain
  }
}

enum FreedomEmail {
  /// - Returns: The text; nil if it is no address: an empty side of the `@`, blanks or control
  ///   characters.
  static func read(_ text: String) -> String? {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    guard text.utf8.count <= 254, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
      text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }),
      !text.contains(where: \.isWhitespace)
    else { return nil }
    return text
  }
}

/// A code that the provider sent, or that an authenticator shows.
struct FreedomChallenge: Codable, Sendable, Equatable {
  let id: String
  let purpose: Step.EnterCode.Purpose
  let channel: String
  let maskedTarget: String
  let digits: Int
  var expiresAt: Timestamp
  var resendAt: Timestamp
  var attemptsLeft: Int?
  /// The name of the user whom the code signs in.
  let name: FreedomName

  /// - Throws: A sentence that names the missing or invalid member.
  init(
    _ members: [String: JSONValue], purpose: Step.EnterCode.Purpose, _ name: FreedomName
  ) throws(UnusableReply) {
    guard let id = members["challenge_id"]?.stringValue, (1...256).contains(id.utf8.count) else {
      throw UnusableReply("the provider's challenge has no challenge_id")
    }
    guard let digits = members["digits"]?.integerValue, (4...10).contains(digits) else {
      throw UnusableReply("the provider's challenge has no digits member from 4 to 10")
    }
    guard let expiry = members["expire_at"]?.stringValue.flatMap({ Timestamp(rfc3339: $0) }) else {
      throw UnusableReply("the provider's challenge has no expire_at")
    }
    self.id = id
    self.purpose = purpose
    self.digits = Int(digits)
    self.name = name
    expiresAt = expiry
    resendAt =
      members["resend_at"]?.stringValue.flatMap { Timestamp(rfc3339: $0) } ?? expiry
    channel = ProviderText.clean(members["channel"]?.stringValue ?? "sms", limit: 32)
    maskedTarget =
      ProviderText.clean(members["masked_target"]?.stringValue ?? "", limit: 100).masked
    attemptsLeft = members["attempts_left"]?.integerValue
      .flatMap { (0...1000).contains($0) ? Int($0) : nil }
  }

  /// Returns the challenge as expired, so that another code can be requested.
  func over(at now: Timestamp) -> FreedomChallenge {
    var challenge = self
    challenge.expiresAt = min(expiresAt, now)
    challenge.resendAt = min(resendAt, now)
    return challenge
  }

  /// The delay until another code can be requested, if the provider gives none.
  static let coolDown = Duration.seconds(60)
  /// The time for which the daemon accepts a code, if the provider gives none.
  private static let defaultLifetime = Duration.seconds(300)

  /// Returns the challenge after a code that may have been sent again. The provider decides whether
  /// the code is still valid, and another one can be requested after `coolDown`.
  func reopened(at now: Timestamp) -> FreedomChallenge {
    var challenge = self
    if expiresAt <= now { challenge.expiresAt = now + Self.defaultLifetime }
    challenge.resendAt = max(resendAt, now + Self.coolDown)
    return challenge
  }

  var step: Step.EnterCode {
    Step.EnterCode(
      purpose: purpose, channel: channel, maskedTarget: maskedTarget, digits: digits,
      expiresAt: expiresAt, resendAt: resendAt, attemptsLeft: attemptsLeft, alsoAsk: [])
  }
}

// Problems that do not end a log-in.

extension Problem {
  /// The same sentence for an unknown name and for a wrong password.
  static func wrongCredentials(_ refusal: FreedomIDRefusal, _ provider: ProviderName) -> Problem {
    var errorCode = FreedomIDErrorCode.authError.providerErrorCode(provider, refusal)
    errorCode.message = nil
    return Problem(
      reason: "wrong_credentials", title: "Not signed in",
      message: "the user name or the password is wrong", provider: errorCode)
  }

  static func wrongCode(
    _ challenge: FreedomChallenge, _ refusal: FreedomIDRefusal, _ provider: ProviderName
  ) -> Problem {
    let left = challenge.attemptsLeft.map { $0 == 1 ? "; 1 attempt left" : "; \($0) attempts left" }
    return Problem(
      reason: "wrong_code", title: "Wrong code",
      message: "the provider does not accept this code\(left ?? "")",
      provider: FreedomIDErrorCode.authError.providerErrorCode(provider, refusal))
  }

  /// The previous code stays valid.
  static func notSentAgain(_ refusal: FreedomIDRefusal, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "not_sent", title: "No other code", message: refusal.sentence,
      provider: refusal.errorCode.providerErrorCode(provider, refusal))
  }

  static let codeExpired = Problem(
    reason: "code_expired", title: "Code expired",
    message: "this code has expired: request another")

  static func tooEarly(_ wait: Duration?) -> Problem {
    Problem(
      reason: "too_early", title: "Too early",
      message: "another code can be requested a little later",
      retryAfterMs: wait.map { Int($0.milliseconds) })
  }

  static func busy(_ wait: Duration?) -> Problem {
    Problem(
      reason: "rate_limited", title: "Too many requests",
      message: "the provider accepts no more requests at present: try again a little later",
      retryAfterMs: wait.map { Int($0.milliseconds) })
  }
}
