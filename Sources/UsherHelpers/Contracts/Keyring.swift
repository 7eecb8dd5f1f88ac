import JSONRPC

/// The command line of Python's keyring, as pip (`--keyring-provider subprocess`), uv
/// (`UV_KEYRING_PROVIDER=subprocess`) and others use it:
///
///     keyring [--mode password|creds] [--output plain|json] get SERVICE [USER]
enum Keyring: ToolContract {
  private static let kind = "pip"

  static func step(_ call: ToolCall) -> ToolStep {
    guard let arguments = KeyringArguments(call.arguments) else {
      let usage = "usage: keyring [--mode password|creds] [--output plain|json] get SERVICE [USER]"
      return .reply(ToolReply(message: usage, status: 2))
    }
    switch arguments.operation {
    case "set": return .reply(.failed(ToolReply.storesNothing))
    case "del": return .reply(.failed(ToolReply.keepsSignIn))
    default: break
    }
    // pip asks for the host alone after it has asked for the URL. A host does not say whether its
    // connection is encrypted.
    guard arguments.service.hasScheme else { return .reply(none) }
    guard let name = RequestedName.url(arguments.service) else {
      return .reply(.failed("the URL of the service is malformed"))
    }
    return .ask(TokenQuestion(kind, name))
  }

  static func reply(_ call: ToolCall, _ token: IssuedToken) throws(TokenFailure) -> ToolReply {
    guard let arguments = KeyringArguments(call.arguments) else { return none }
    if let expected = token.username, let asked = arguments.user, asked != expected {
      return .failed(
        #"the target has the user name "\#(expected.printable)", not "\#(asked.printable)""#)
    }
    let username = token.username ?? arguments.user ?? defaultUsername
    guard arguments.isJSON else {
      let user = arguments.isWithUser ? "\(username)\n" : ""
      return .printed("\(user)\(token.secret)\n")
    }
    var reply: JSONValue = ["password": .string(token.secret)]
    if arguments.isWithUser { reply["username"] = .string(username) }
    return .printed(String(decoding: reply.encoded(), as: UTF8.self) + "\n")
  }

  static func reply(_ call: ToolCall, failure: TokenFailure) -> ToolReply {
    if case .noTarget = failure { return none }
    return .failed(failure.line)
  }

  /// The reply for a service without a password.
  private static let none = ToolReply(status: 1)
}

private struct KeyringArguments {
  private(set) var isWithUser = false
  private(set) var isJSON = false
  private var words: [String] = []

  var operation: String { words[0] }
  var service: String { words[1] }
  var user: String? { words.count > 2 ? words[2] : nil }

  /// Reads the arguments; nil if they are not of the form above.
  init?(_ arguments: [String]) {
    var rest = arguments[...]
    while let word = rest.popFirst() {
      guard word.utf8.starts(with: "-".utf8) else {
        words.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let value = parts.count > 1 ? String(parts[1]) : rest.popFirst() else { return nil }
      switch (parts[0], value) {
      case ("--mode", "password"): isWithUser = false
      case ("--mode", "creds"): isWithUser = true
      case ("--output", "plain"): isJSON = false
      case ("--output", "json"): isJSON = true
      default: return nil
      }
    }
    guard 2...3 ~= words.count, ["get", "set", "del"].contains(words[0]),
      !words[1...].contains(where: { $0.utf8.contains(where: \.isControl) })
    else { return nil }
  }
}
