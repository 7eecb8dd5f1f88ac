/// A message that a backend sends to a user by SMS, e-mail or push.
package struct Message: Sendable, Hashable, Codable {
  package enum Channel: String, Sendable, Codable {
    case sms
    case email
    case push
  }

  /// The backend that sends the message, such as `paysafe`.
  package var provider: String
  package var channel: Channel
  /// A phone number, an e-mail address, or the user whose app receives the push message.
  package var to: String
  package var subject: String?
  package var text: String
  /// The code that the text contains, so that tests need not extract it.
  package var code: String?

  package init(
    provider: String, channel: Channel, to: String, subject: String? = nil, text: String,
    code: String? = nil
  ) {
    self.provider = provider
    self.channel = channel
    self.to = to
    self.subject = subject
    self.text = text
    self.code = code
  }
}

/// The state of a message that is also sent as a real e-mail.
package enum MailDelivery: Sendable, Hashable, CustomStringConvertible {
  case waiting
  case sent
  /// The error message of curl, or another reason.
  case failed(String)

  package var description: String {
    switch self {
    case .waiting: "waiting"
    case .sent: "sent"
    case .failed(let reason): "failed: \(reason)"
    }
  }
}
