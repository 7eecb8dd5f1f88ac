import FoundationEssentials

/// A request for a code that was sent to a person.
struct IssuedChallenge: Sendable, Hashable {
  enum Purpose: Sendable, Hashable {
    case otp
    case twoFactor
  }

  let id: String
  let purpose: Purpose
  /// The name with which the log-in began.
  let name: LoginIdentifier
  /// The id of the person; nil if nobody has this name, in which case each code is wrong.
  let person: String?
  /// The device or page visit of the log-in. No other one may use the challenge.
  let place: String
  let channel: FreedomChannel
  /// The address for the code, even if nothing is sent; empty for an authenticator app.
  let target: String
  let code: String
  let expires: Date
  let resendAt: Date
  var attemptsLeft: Int
  /// The id of the challenge that replaced this one after a resend.
  var successor: String?

  /// The message to send; nil if the challenge sends none.
  var message: Message? {
    guard person != nil, !target.isEmpty, channel != .totp else { return nil }
    return Message(
      provider: "freedomid", channel: channel == .email ? .email : .sms, to: target,
      subject: channel == .email ? "Your Freedom ID code" : nil,
      text: "\(code) is your Freedom ID code. Do not share it.", code: code)
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
