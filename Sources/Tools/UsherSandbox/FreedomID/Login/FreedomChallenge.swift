import FoundationEssentials

/// A code that somebody is asked for.
struct FreedomChallenge: Sendable, Hashable {
  enum Purpose: Sendable, Hashable {
    case otp
    case twoFactor
  }

  let id: String
  let purpose: Purpose
  /// The name that the log-in began with.
  let name: FreedomName
  /// Nil for a name that nobody has: no code is right.
  let person: String?
  /// Where the log-in is: no other device or page may use it.
  let place: String
  let channel: FreedomChannel
  /// Where the code goes, or would go; empty for an authenticator app.
  let target: String
  let code: String
  let expires: Date
  let resendAt: Date
  var attemptsLeft: Int
  /// What was sent in its place.
  var successor: String?

  /// To be sent now; nil where nothing is.
  var message: Message? {
    guard person != nil, !target.isEmpty, channel != .totp else { return nil }
    return Message(
      provider: "freedomid", channel: channel == .email ? .email : .sms, to: target,
      subject: channel == .email ? "Your Freedom ID code" : nil,
      text: "\(code) is your Freedom ID code. Tell nobody.", code: code)
  }

  var members: [String: JSON] {
    [
      "challenge_id": .string(id), "channel": .string(channel.rawValue),
      "masked_target": .string(channel == .totp ? "app" : target.masked),
      "digits": .integer(code.utf8.count), "expire_at": expires.freedomTime,
      "resend_at": resendAt.freedomTime, "attempts_left": .integer(attemptsLeft),
    ]
  }
}
