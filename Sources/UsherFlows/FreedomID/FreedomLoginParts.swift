import JSONRPC
import UsherAPI
import UsherCore

/// The phone number or e-mail address with which a user logs in, together with the log-in method.
/// It is sealed in storage.
package struct FreedomName: Codable, Sendable, Equatable {
  let method: FreedomLogin.Method
  let text: Sealed<Secret>

  static func field(of method: FreedomLogin.Method) -> Field {
    switch method {
    case .phoneOTP, .phonePassword:
      Field(name: "phone", type: .phone, required: true, maxLength: 32)
    case .emailPassword: Field(name: "email", type: .email, required: true, maxLength: 254)
    }
  }
}

extension FreedomName {
  /// Reads the input to the form of a log-in method.
  ///
  /// - Parameter place: The place of the input, for the message about an invalid one.
  init(
    _ method: FreedomLogin.Method, _ typed: Secret, from place: String
  ) throws(InvalidValue) {
    let text =
      switch method {
      case .phoneOTP, .phonePassword: try FreedomParameter.phone(typed.revealed(), place)
      case .emailPassword: try FreedomParameter.email(typed.revealed(), place)
      }
    self.init(method: method, text: Sealed(Secret(text)))
  }
}

/// A request by Freedom ID for a code that it sent to the user, or that the user's authenticator
/// shows.
struct FreedomChallenge: Codable, Sendable, Equatable {
  let id: String
  let purpose: Step.EnterCode.Purpose
  let channel: String
  let maskedTarget: String
  let digits: Int
  var expiresAt: Timestamp
  var resendAt: Timestamp
  var attemptsLeft: Int?
  /// The phone number or e-mail address of the user who logs in.
  let name: FreedomName

  /// Reads a challenge from a reply.
  ///
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

  /// Returns the challenge as expired at this time, so that another code can be requested.
  func over(at now: Timestamp) -> FreedomChallenge {
    var challenge = self
    challenge.expiresAt = min(expiresAt, now)
    challenge.resendAt = min(resendAt, now)
    return challenge
  }

  /// How long the user must wait before another code can be requested, if Freedom ID does not say
  /// so.
  static let coolDown = Duration.seconds(60)
  /// How long the daemon accepts a code whose expiry is not known.
  private static let defaultLifetime = Duration.seconds(300)

  /// Returns the challenge to show if Freedom ID may have sent another code. Freedom ID decides
  /// whether the code of this challenge is still valid; the user can request another one after
  /// `coolDown`.
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

// Problems of a log-in that do not end it.

extension Problem {
  /// The problem of a wrong password or an unknown user name; the sentence is the same for both.
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

  /// The problem that Freedom ID sent no other code; the previous code stays valid.
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
