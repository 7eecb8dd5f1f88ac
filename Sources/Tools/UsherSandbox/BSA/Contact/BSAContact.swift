/// An e-mail address or phone number that receives numbers.
struct MemberContact: Sendable, Hashable {
  enum Kind: String, Sendable, Hashable, CaseIterable {
    case email = "CMMDUP001"
    case phone = "CMMDUP002"

    var channel: Message.Channel {
      switch self {
      case .email: .email
      case .phone: .sms
      }
    }
  }

  let kind: Kind
  /// The contact as sent.
  let text: String
  /// The normalized contact, equal for different spellings of the same one.
  let key: String

  /// Returns nil if the text is invalid. An e-mail address has one `@` with text on both sides and
  /// at most 254 bytes. A phone number has 7 to 15 digits.
  init?(_ kind: Kind, _ text: String) {
    self.kind = kind
    self.text = text
    switch kind {
    case .email:
      let parts = text.split(separator: "@", omittingEmptySubsequences: false)
      guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.utf8.count <= 254,
        !text.contains(where: \.isWhitespace)
      else { return nil }
      key = "email \(text.lowercased())"
    case .phone:
      let digits = text.utf8.filter { (0x30...0x39).contains($0) }
      let rest = Set(text.utf8.filter { !(0x30...0x39).contains($0) })
      guard (7...15).contains(digits.count), rest.isSubset(of: Set("+ -()".utf8)),
        !text.dropFirst().contains("+")
      else { return nil }
      key = "phone \(String(decoding: digits, as: UTF8.self))"
    }
  }

  /// Whether both are the same contact, perhaps spelled differently.
  func isSame(as other: MemberContact) -> Bool { key == other.key }

  func message(_ code: String, _ settings: BSABackendSettings) -> Message {
    Message(
      provider: "bsa", channel: kind.channel, to: text,
      subject: kind == .email ? "Your BSA number" : nil,
      text: "Your BSA number is \(code). It expires in \(settings.otpSeconds) seconds.",
      code: code)
  }
}
