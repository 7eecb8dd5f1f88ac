/// A real mail server on loopback that receives e-mails by SMTP.
package struct MailServer: Sendable, Hashable {
  package let host: String
  package let port: Int
  /// The sender's address, in the envelope and in the `From` header.
  package let sender: String

  package static let sender = "usher-sandbox@localhost"

  /// The time limit for sending one e-mail.
  package var limit = Duration.seconds(10)

  /// - Parameter url: `smtp://127.0.0.1:2525`. The host may also be `[::1]` or `localhost`; any
  ///   other is refused, so that no test sends mail to a real person. Default port: 25.
  package init(_ url: String, sender: String = Self.sender) throws(Sandbox.ConfigurationError) {
    guard let (host, port) = Self.loopback(url) else {
      throw Sandbox.ConfigurationError(
        description: "the mail server must be a loopback address like smtp://127.0.0.1:2525")
    }
    guard let sender = EmailMessage.address(sender) else {
      throw Sandbox.ConfigurationError(description: "the sender is not a valid e-mail address")
    }
    self.host = host
    self.port = port
    self.sender = sender
  }

  /// Sends an e-mail with the program curl, without retries.
  package func send(_ email: EmailMessage) async -> MailDelivery {
    guard let recipient = EmailMessage.address(email.recipient) else {
      return .failed("the recipient is not a valid e-mail address")
    }
    let outcome = await runProgram(
      "curl",
      [
        "--disable", "--silent", "--show-error", "--noproxy", "*", "--max-time",
        "\(limit / .seconds(1))",
        "--url", "smtp://\(host):\(port)", "--mail-from", sender, "--mail-rcpt", recipient,
        "--upload-file", "-",
      ], input: email.rendered, within: limit + .seconds(10))
    switch outcome {
    case .ended(status: 0, _): return .sent
    case .ended(let status, let errors):
      let line = errors.split(separator: "\n").first.map(String.init) ?? "status \(status)"
      return .failed(String(line.prefix(200)))
    case .tookTooLong: return .failed("curl timed out")
    case .notStarted: return .failed("cannot start curl; is it installed?")
    }
  }

  private static func loopback(_ url: String) -> (host: String, port: Int)? {
    guard url.hasPrefix("smtp://") else { return nil }
    var rest = url.dropFirst("smtp://".count)
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    guard let host = ["127.0.0.1", "[::1]", "localhost"].first(where: rest.hasPrefix) else {
      return nil
    }
    let tail = rest.dropFirst(host.count)
    let address = host == "localhost" ? "127.0.0.1" : host
    if tail.isEmpty { return (address, 25) }
    let digits = tail.dropFirst()
    guard tail.hasPrefix(":"), digits.allSatisfy({ $0.isASCII && $0.isNumber }),
      let port = UInt16(digits), port > 0
    else { return nil }
    return (address, Int(port))
  }
}
