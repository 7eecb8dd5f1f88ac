/// One entry of netrc(5), for curl and others: `curl --netrc-file <(usher-helper netrc HOST) …`.
///
/// An entry has no expiry, so it is written only to a pipe, where nothing keeps it.
enum Netrc: ToolContract {
  private static let kind = "netrc"

  static func step(_ call: ToolCall) -> ToolStep {
    // Readers of netrc have no common form of IPv6 addresses.
    guard call.arguments.count == 1, let name = RequestedName.host(call.arguments[0]),
      name.utf8.first != UInt8(ascii: "[")
    else { return .reply(.failed("usage: usher-helper netrc HOST")) }
    guard call.isOutputPipe else {
      return .reply(
        .failed("an entry of netrc is written only to a pipe, not to a file or terminal"))
    }
    return .ask(TokenQuestion(kind, name))
  }

  static func reply(_ call: ToolCall, _ token: IssuedToken) throws(TokenFailure) -> ToolReply {
    let username = token.username ?? defaultUsername
    // Readers of netrc differ in how they read other characters.
    for word in [username, token.secret] {
      guard word.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !"\"'\\#".utf8.contains($0) }) else {
        throw .unwritable("netrc cannot have the characters of the user name or token")
      }
    }
    // Programs compare the host without the port.
    let host = call.arguments[0].asciiLowercased.split(separator: ":")[0]
    return .printed("machine \(host) login \(username) password \(token.secret)\n")
  }
}
