package import FoundationEssentials

/// A message as an e-mail (RFC 5322) in plain text.
package struct EmailMessage: Sendable, Hashable {
  package var sender: String
  package var recipient: String
  package var subject: String
  package var text: String
  package var id: String
  package var at: Date

  package init(_ message: Message, from sender: String, id: String, at: Date) {
    self.sender = sender
    recipient = message.to
    subject = message.subject ?? "A message from \(message.provider)"
    text = message.text
    self.id = id
    self.at = at
  }

  /// Returns the text if it is a plain e-mail address, or nil if it has characters that SMTP or RFC
  /// 5322 could interpret.
  package static func address(_ text: String) -> String? {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    let isPlain = text.utf8.allSatisfy {
      (0x21..<0x7F).contains($0) && !Array(#"<>()[],;:\""#.utf8).contains($0)
    }
    let isWhole = parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
    return isWhole && isPlain && text.utf8.count <= 254 ? text : nil
  }

  /// The message with CRLF line ends; non-ASCII text is encoded (RFC 2045, RFC 2047).
  package var rendered: [UInt8] {
    let lines = [
      "From: usher-sandbox <\(sender)>",
      "To: <\(recipient)>",
      "Subject: =?utf-8?B?\(Data(subject.utf8).base64EncodedString())?=",
      "Date: \(at.httpDate.replacing("GMT", with: "+0000"))",
      "Message-ID: <\(id).\(Int(at.timeIntervalSince1970))@usher-sandbox.invalid>",
      "MIME-Version: 1.0",
      "Content-Type: text/plain; charset=utf-8",
      "Content-Transfer-Encoding: base64",
      "",
      Data(text.utf8).base64EncodedString(options: [.lineLength76Characters]),
      "",
    ]
    return Array(lines.joined(separator: "\r\n").utf8)
  }
}
