/// Where a number goes.
struct BSAContact: Sendable, Hashable {
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
  /// As it was sent.
  let text: String
  /// What two writings of the same contact have in common.
  let key: String

  /// Nil for what cannot be one: an address has one `@` with something on both sides and at most
  /// 254 bytes, a number 7 to 15 digits.
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

  /// Whether both are where the same person reads.
  func isSame(as other: BSAContact) -> Bool { key == other.key }

  func message(_ code: String, _ settings: BSASettings) -> Message {
    Message(
      provider: "bsa", channel: kind.channel, to: text,
      subject: kind == .email ? "Your BSA number" : nil,
      text: "Your BSA number is \(code). It is good for \(settings.otpSeconds) seconds.",
      code: code)
  }
}
