/// The commands of GOAUTH (go 1.24, `go help goauth`).
///
/// go runs the command without an argument first, and with the URL and the reply of a request that
/// failed later.
enum Go: ToolContract {
  private static let kind = "go"

  static func input(_ arguments: [String]) -> ToolInput {
    arguments.isEmpty ? .none : .optionalBlock
  }

  static func step(_ call: ToolCall) -> ToolStep {
    guard let url = call.arguments.last else { return .reply(.nothing) }
    guard call.arguments.count == 1, url.utf8.starts(with: "https://".utf8),
      let name = RequestedName.url(url)
    else { return .reply(.failed("the URL is malformed, or not one with https")) }
    let headers = call.input.split(separator: UInt8(ascii: "\n"))
      .map { String(decoding: $0, as: UTF8.self) }
      .filter { $0.asciiLowercased.utf8.starts(with: "www-authenticate:".utf8) }
    return .ask(TokenQuestion(kind, name, forceRefresh: headers.contains(where: refusesToken)))
  }

  static func reply(_ call: ToolCall, _ token: IssuedToken) throws(TokenFailure) -> ToolReply {
    let header = try token.authorization()
    return .printed(
      "\(prefix(call.arguments.last ?? "", token.match))\n\nAuthorization: \(header)\n\n")
  }

  static func reply(_ call: ToolCall, failure: TokenFailure) -> ToolReply {
    // go uses its other commands.
    if case .noTarget = failure { return .nothing }
    return .failed(failure.line)
  }

  /// The URLs for which go may use the token without another call: those below the target's
  /// pattern if it has a star only at its end, or else those of the same module at a proxy.
  private static func prefix(_ url: String, _ match: String?) -> String {
    let bytes = Array(url.utf8).prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    if let match, match.utf8.count(where: { $0 == UInt8(ascii: "*") }) == 1,
      let (place, rest) = Array(match.utf8)[...].split(at: "/*"), rest.isEmpty,
      // go compares ports as they are written.
      bytes.starts(with: Array(place) + "/".utf8)
    {
      return String(decoding: place, as: UTF8.self)
    }
    return String(decoding: bytes.split(at: "/@")?.before ?? bytes, as: UTF8.self)
  }
}
