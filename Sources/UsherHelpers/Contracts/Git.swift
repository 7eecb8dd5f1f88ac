/// The credential helpers of git (gitcredentials(7), git-credential(1)), from git 2.0 on.
///
/// git 2.46 and later can send a Bearer token as such; older ones send a user name and a password.
enum Git: ToolContract {
  private static let kind = "git"

  static func input(_ arguments: [String]) -> ToolInput {
    ["get", "erase"].contains(arguments.last) ? .block : .none
  }

  static func step(_ call: ToolCall) -> ToolStep {
    switch call.arguments.last {
    case "capability": return .reply(.printed("version 0\ncapability authtype\n"))
    case "get", "erase": break
    case nil: return .reply(.failed("usage: git-credential-usher get|store|erase|capability"))
    // A token is not stored, and git demands that other operations are ignored.
    default: return .reply(.nothing)
    }
    guard let fields = GitFields(call.input), let name = fields.target else {
      return .reply(.failed("the request of git is malformed"))
    }
    // git erases what a server has refused. The next get then returns the refreshed token.
    let isRefused =
      call.arguments.last == "erase" || fields.challenges.contains(where: refusesToken)
    return .ask(TokenQuestion(kind, name, forceRefresh: isRefused))
  }

  static func reply(_ call: ToolCall, _ token: IssuedToken) throws(TokenFailure) -> ToolReply {
    guard call.arguments.last == "get", let fields = GitFields(call.input) else { return .nothing }
    var lines: [String]
    if fields.takesBearer && token.username == nil && token.isBearer {
      // Otherwise other helpers of git would store the token.
      lines = [
        "capability[]=authtype", "authtype=Bearer", "credential=\(try token.headerText())",
        "ephemeral=1",
      ]
    } else {
      let username = token.username ?? fields.username ?? defaultUsername
      lines = ["username=\(username)", "password=\(token.secret)"]
    }
    if let expiry = token.expiry { lines.append("password_expiry_utc=\(expiry.seconds)") }
    return .printed(lines.map { "\($0)\n" }.joined())
  }

  static func reply(_ call: ToolCall, failure: TokenFailure) -> ToolReply {
    let isGet = call.arguments.last == "get"
    switch failure {
    case .noTarget: return .nothing
    case .refused(_, _, needsSignIn: true):
      // No password that the user could type would be right, so git does not ask for one.
      return ToolReply(output: isGet ? "quit=1\n" : "", message: failure.line, status: 1)
    case .refused where !isGet: return .nothing
    case .refused, .unavailable, .unwritable: return .failed(failure.line)
    }
  }
}

/// The user name beside a token whose target has none. GitLab demands this one, and servers that
/// do not look at the user name accept any.
let defaultUsername = "oauth2"

/// The attributes of a request of git.
private struct GitFields {
  private var values: [String: String] = [:]
  private var capabilities: [String] = []
  /// The headers `WWW-Authenticate` of the server's reply, from git 2.41 on.
  private(set) var challenges: [String] = []

  /// Reads lines `key=value` up to a blank line or the end; nil if one is malformed. A control
  /// character, among them CR and NUL, or a second value could hide the real host
  /// (CVE-2020-5260, CVE-2024-52006).
  init?(_ input: [UInt8]) {
    for line in input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      if line.isEmpty { break }
      guard line.count <= 65_535, !line.contains(where: \.isControl),
        let (key, value) = line.split(at: "="), !key.isEmpty,
        let text = String(validating: value, as: UTF8.self)
      else { return nil }
      let name = String(decoding: key, as: UTF8.self)
      switch name {
      case "capability[]": capabilities.append(text)
      case "wwwauth[]": challenges.append(text)
      case "protocol", "host", "path", "username":
        guard values.updateValue(text, forKey: name) == nil else { return nil }
      default: break
      }
    }
  }

  var username: String? { values["username"].flatMap { $0.isEmpty ? nil : $0 } }

  /// Whether git can send a Bearer token, and the server has asked for one.
  var takesBearer: Bool {
    capabilities.contains("authtype")
      && challenges.contains { $0.asciiLowercased.utf8.starts(with: "bearer".utf8) }
  }

  /// The URL that git wants to reach; nil if the request names none.
  var target: String? {
    guard let scheme = values["protocol"], let host = values["host"],
      !host.utf8.contains(where: { "/@?#".utf8.contains($0) })
    else { return nil }
    let path = RequestedName.encoded(path: values["path"] ?? "")
    return RequestedName.url("\(scheme)://\(host)/\(path)")
  }
}
