import JSONRPC

/// The credential providers of cargo (the Cargo Book, "Credential Provider Protocol", version 1).
///
/// cargo shows the messages of errors itself, so nothing goes to standard error.
enum Cargo: ToolContract {
  private static let kind = "cargo"
  static let greeting = "{\"v\":[1]}\n"

  static func input(_ arguments: [String]) -> ToolInput { .lines }

  static func step(_ call: ToolCall) -> ToolStep {
    let request = try? JSONValue(parsing: call.input, limits: JSONLimits(nesting: 8, values: 4096))
    guard let request, request["v"]?.integerValue == 1, let registry = request["registry"],
      let index = registry["index-url"]?.stringValue
    else { return .reply(error("the request of cargo is malformed")) }
    guard request["kind"]?.stringValue == "get" else {
      return .reply(printed(["Err": ["kind": "operation-not-supported"]]))
    }
    let location = index.dropping(prefix: "sparse+") ?? index.dropping(prefix: "registry+") ?? index
    guard let name = RequestedName.url(location) else {
      return .reply(printed(["Err": ["kind": "url-not-supported"]]))
    }
    // The headers of a reply with status 401, each as one line.
    let headers = registry["headers"]?.arrayValue?.compactMap(\.stringValue) ?? []
    return .ask(TokenQuestion(kind, name, forceRefresh: headers.contains(where: refusesToken)))
  }

  static func reply(_ call: ToolCall, _ token: IssuedToken) throws(TokenFailure) -> ToolReply {
    // cargo sends the text as the header Authorization, without a scheme of its own.
    let text = token.isBearer || token.username != nil ? try token.authorization() : token.secret
    var reply: JSONValue = [
      "kind": "get", "token": .string(text), "cache": "session", "operation_independent": true,
    ]
    if let expiry = token.expiry {
      reply["cache"] = "expires"
      reply["expiration"] = .integer(expiry.seconds)
    }
    return printed(["Ok": reply])
  }

  static func reply(_ call: ToolCall, failure: TokenFailure) -> ToolReply {
    // cargo tries its next provider.
    if case .noTarget = failure { return printed(["Err": ["kind": "not-found"]]) }
    return error(failure.line)
  }

  private static func error(_ message: String) -> ToolReply {
    printed(["Err": ["kind": "other", "message": .string(message), "caused-by": []]])
  }

  private static func printed(_ reply: JSONValue) -> ToolReply {
    .printed(String(decoding: reply.encoded(), as: UTF8.self) + "\n")
  }
}
