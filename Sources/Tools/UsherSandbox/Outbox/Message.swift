/// What a backend says to a person elsewhere than on its pages.
package struct Message: Sendable, Hashable, Codable {
  package enum Channel: String, Sendable, Codable {
    case sms
    case email
    case push
  }

  /// The backend that sends it, such as `paysafe`.
  package var provider: String
  package var channel: Channel
  /// A phone number, an address, or the name of who has the app.
  package var to: String
  package var subject: String?
  package var text: String
  /// The code in the text, for tests that would rather not search for it.
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

/// What became of a message that is also to leave as a real e-mail.
package enum MailDelivery: Sendable, Hashable, CustomStringConvertible {
  case waiting
  case sent
  /// In curl's words.
  case failed(String)

  package var description: String {
    switch self {
    case .waiting: "waiting"
    case .sent: "sent"
    case .failed(let reason): "failed: \(reason)"
    }
  }
}
