import JSONRPC

/// The credential helpers of docker, podman, skopeo and others
/// (docker/docker-credential-helpers, `credentials/credentials.go`).
///
/// Errors go to standard output, because clients compare their text.
enum Docker: ToolContract {
  private static let kind = "docker"
  /// Clients go on without credentials if they read this text.
  private static let notFound = "credentials not found in native keychain"

  static func input(_ arguments: [String]) -> ToolInput {
    arguments == ["get"] ? .document : .none
  }

  static func step(_ call: ToolCall) -> ToolStep {
    guard call.arguments.count == 1 else {
      return .reply(error("Usage: docker-credential-usher <store|get|erase|list|version>"))
    }
    switch call.arguments[0] {
    case "get": break
    case "store": return .reply(error(ToolReply.storesNothing))
    case "erase": return .reply(error(ToolReply.keepsSignIn))
    case "list": return .reply(.printed("{}\n"))
    case "version":
      return .reply(.printed("docker-credential-usher (usherd) \(HelperVersion.current)\n"))
    default: return .reply(error("Unknown credential action `\(call.arguments[0].printable)`"))
    }
    guard let server = server(call.input) else {
      return .reply(error("the server URL is malformed"))
    }
    guard !server.isEmpty else { return .reply(error("no credentials server URL")) }
    guard let name = registry(server) else {
      return .reply(error("the server URL is malformed"))
    }
    guard !isCleartext(server) else { return .reply(error(notFound)) }
    return .ask(TokenQuestion(kind, name))
  }

  static func reply(_ call: ToolCall, _ token: IssuedToken) throws(TokenFailure) -> ToolReply {
    let username = token.username ?? defaultUsername
    // Clients would send the secret to the registry as a refresh token.
    guard username != "<token>" else { throw .unwritable("the user name <token> is reserved") }
    let reply: JSONValue = [
      "ServerURL": .string(server(call.input) ?? ""), "Username": .string(username),
      "Secret": .string(token.secret),
    ]
    return .printed(String(decoding: reply.encoded(), as: UTF8.self) + "\n")
  }

  static func reply(_ call: ToolCall, failure: TokenFailure) -> ToolReply {
    if case .noTarget = failure { return error(notFound) }
    return ToolReply(output: failure.line + "\n", message: failure.line, status: 1)
  }

  private static func error(_ text: String) -> ToolReply {
    ToolReply(output: text + "\n", status: 1)
  }

  /// The server's URL or name in the input; nil if it is malformed.
  private static func server(_ input: [UInt8]) -> String? {
    let isSpace = { (byte: UInt8) in byte == 0x20 || 0x09...0x0D ~= byte }
    let start = input.firstIndex { !isSpace($0) } ?? input.endIndex
    let end = input.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start
    return singleLine(Array(input[start..<end]))
  }

  /// Whether the server's URL says that its connection is not encrypted. A loopback host needs no
  /// encryption.
  private static func isCleartext(_ server: String) -> Bool {
    guard let place = RequestedName.url(server)?.dropping(prefix: "http://") else { return false }
    let host = String(place.prefix { $0 != "/" }).asciiLowercased
    return !["localhost", "127.0.0.1", "[::1]"].contains { loopback in
      host.dropping(prefix: loopback).map { $0.isEmpty || $0.utf8.first == UInt8(ascii: ":") }
        ?? false
    }
  }

  /// The registry as images name it: `ghcr.io`, `localhost:5000`, `docker.io`. Clients write it
  /// with or without a scheme and the version of its API.
  private static func registry(_ server: String) -> String? {
    let url = RequestedName.url(server.hasScheme ? server : "https://\(server)")
    guard let place = url?.dropping(prefix: "https://") ?? url?.dropping(prefix: "http://")
    else { return nil }
    let segments = place.split(separator: "/")
    let path = segments.dropFirst()
    let isAPI = path.isEmpty || path.count == 1 && ["v1", "v2"].contains(path.first)
    guard let host = segments.first.flatMap({ RequestedName.host(String($0)) }) else { return nil }
    let name = ["index.docker.io", "registry-1.docker.io"].contains(host) ? "docker.io" : host
    return isAPI ? name : ([name] + path.map(String.init)).joined(separator: "/")
  }
}
