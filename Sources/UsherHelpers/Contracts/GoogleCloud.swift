import JSONRPC

/// The executable-sourced credentials of Google Cloud's libraries (AIP-4117).
///
/// Everything goes to standard output, errors too: the Python library reads standard error together
/// with it. The exit status is 0, because the library shows the message of an error only then.
enum GoogleCloud: ToolContract {
  private static let kind = "gcp"
  static let variables = [
    "GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE",
    "GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", "GOOGLE_EXTERNAL_ACCOUNT_REVOKE",
  ]

  private static let idToken = "urn:ietf:params:oauth:token-type:id_token"
  private static let jwt = "urn:ietf:params:oauth:token-type:jwt"

  static func step(_ call: ToolCall) -> ToolStep {
    if call.environment["GOOGLE_EXTERNAL_ACCOUNT_REVOKE"] == "1" {
      return .reply(error(ToolReply.keepsSignIn))
    }
    if call.environment["GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE"] == "1" {
      return .reply(error("usher-helper never asks the user; do not use the interactive mode"))
    }
    guard [idToken, jwt].contains(tokenType(call)) else {
      return .reply(error("subject_token_type must be \(idToken) or \(jwt)"))
    }
    let audience = call.environment["GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE"]
    guard let name = call.arguments.first ?? audience, call.arguments.count <= 1,
      !name.isEmpty, name.utf8.count <= RequestedName.maxBytes,
      name.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
    else { return .reply(error("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE is missing or malformed")) }
    return .ask(TokenQuestion(kind, name))
  }

  static func reply(_ call: ToolCall, _ token: IssuedToken) throws(TokenFailure) -> ToolReply {
    var reply: JSONValue = [
      "version": 1, "success": true, "token_type": .string(tokenType(call)),
      "id_token": .string(token.identity),
    ]
    // Required if the configuration has an output_file.
    if let expiry = token.expiry { reply["expiration_time"] = .integer(expiry.seconds) }
    return printed(reply)
  }

  static func reply(_ call: ToolCall, failure: TokenFailure) -> ToolReply { error(failure.line) }

  private static func tokenType(_ call: ToolCall) -> String {
    call.environment["GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE"] ?? idToken
  }

  private static func error(_ message: String) -> ToolReply {
    printed(["version": 1, "success": false, "code": "401", "message": .string(message)])
  }

  private static func printed(_ reply: JSONValue) -> ToolReply {
    .printed(String(decoding: reply.encoded(), as: UTF8.self) + "\n")
  }
}
