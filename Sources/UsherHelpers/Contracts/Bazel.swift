import JSONRPC

/// The credential helpers of Bazel and others (EngFlow/credential-helper-spec).
enum Bazel: ToolContract {
  private static let kind = "bazel"

  static func input(_ arguments: [String]) -> ToolInput {
    arguments.first == "get" ? .document : .none
  }

  static func step(_ call: ToolCall) -> ToolStep {
    guard call.arguments.first == "get" else {
      return .reply(.failed("usage: bazel-credential-usher get"))
    }
    let request = try? JSONValue(parsing: call.input, limits: JSONLimits(nesting: 8, values: 64))
    guard let uri = request?["uri"]?.stringValue, let name = RequestedName.url(uri) else {
      return .reply(.failed("the request has no valid uri"))
    }
    return .ask(TokenQuestion(kind, name))
  }

  static func reply(_ call: ToolCall, _ token: IssuedToken) throws(TokenFailure) -> ToolReply {
    var reply: JSONValue = [
      "headers": ["Authorization": [.string(try token.authorization())]]
    ]
    if let expiry = token.expiry { reply["expires"] = .string(expiry.text) }
    return .printed(String(decoding: reply.encoded(), as: UTF8.self) + "\n")
  }

  static func reply(_ call: ToolCall, failure: TokenFailure) -> ToolReply {
    // Bazel asks for every server, and goes on without credentials.
    if case .noTarget = failure { return .printed(#"{"headers":{}}"# + "\n") }
    return .failed(failure.line)
  }
}
