import JSONRPC

/// The credentials helpers of Terraform and OpenTofu.
enum Terraform: ToolContract {
  private static let kind = "terraform"

  static func step(_ call: ToolCall) -> ToolStep {
    // Arguments of the configuration come first.
    guard call.arguments.count >= 2, let host = call.arguments.last else {
      return .reply(.failed("usage: terraform-credentials-usher get|store|forget HOST"))
    }
    switch call.arguments[call.arguments.count - 2] {
    case "get": break
    case "store": return .reply(.failed(ToolReply.storesNothing))
    case "forget": return .reply(.failed(ToolReply.keepsSignIn))
    default: return .reply(.failed("usage: terraform-credentials-usher get|store|forget HOST"))
    }
    guard let name = RequestedName.host(host) else {
      return .reply(.failed("the host is malformed"))
    }
    return .ask(TokenQuestion(kind, name))
  }

  static func reply(_ call: ToolCall, _ token: IssuedToken) throws(TokenFailure) -> ToolReply {
    let reply: JSONValue = ["token": .string(try token.headerText())]
    return .printed(String(decoding: reply.encoded(), as: UTF8.self) + "\n")
  }

  static func reply(_ call: ToolCall, failure: TokenFailure) -> ToolReply {
    if case .noTarget = failure { return .printed("{}\n") }
    return .failed(failure.line)
  }
}
