/// The parts of an absolute http or https URL without user information and fragment (RFC 3986).
struct URLParts: Equatable {
  var scheme: String
  /// The host of the URL, in lower case and without brackets.
  var host: String
  var port: Int?
  /// The path: empty, or beginning with a slash.
  var path: String
  var query: String?

  init(_ text: String) throws(SettingError) {
    guard text.consists(upTo: 2048, of: { $0.isVisible && !$0.isOne(of: "\"<>\\^`{|}") }) else {
      throw SettingError("is not a URL: empty, too long or with characters a URL cannot have")
    }
    guard let begin = Self.scheme(of: text) else {
      throw SettingError("must be an absolute http or https URL")
    }
    guard !text.contains("#") else { throw SettingError("must have no fragment") }
    scheme = begin
    let rest = text.dropFirst(begin.count + 3)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard !authority.contains("@") else { throw SettingError("must have no user name or password") }
    let tail = rest.dropFirst(authority.count)
    path = String(tail.prefix { $0 != "?" })
    query = tail.firstIndex(of: "?").map { String(tail[tail.index(after: $0)...]) }
    guard let (host, port) = Self.hostAndPort(String(authority)) else {
      throw SettingError("has no valid host and port")
    }
    self.host = host
    self.port = port
  }

  /// Whether the host is `localhost`, in 127.0.0.0/8 or `::1`, by its text: no name is resolved.
  var isLoopback: Bool {
    if host == "localhost" || host == "::1" { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    return numbers.count == 4 && numbers[0] == "127"
      && numbers.allSatisfy { UInt8($0).map(String.init) == String($0) }
  }

  private static func scheme(of text: String) -> String? {
    ["https", "http"].first { text.prefix($0.count + 3).lowercased() == $0 + "://" }
  }

  private static func hostAndPort(_ authority: String) -> (String, Int?)? {
    let host: String
    var rest: Substring
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      host = authority[..<end].dropFirst().lowercased()
      rest = authority[authority.index(after: end)...]
      guard host.consists(upTo: 45, of: { $0.isHexDigit || $0.isOne(of: ":.") }),
        host.contains(":")
      else { return nil }
    } else {
      let name = authority.prefix { $0 != ":" }
      host = name.lowercased()
      rest = authority[name.endIndex...]
      guard host.consists(upTo: 253, of: { $0.isWordByte || $0.isOne(of: "-.") }) else {
        return nil
      }
    }
    guard !rest.isEmpty else { return (host, nil) }
    rest = rest.dropFirst()
    guard authority.dropLast(rest.count).hasSuffix(":"), rest.utf8.allSatisfy(\.isDigit),
      let port = UInt16(rest), port > 0
    else { return nil }
    return (host, Int(port))
  }
}

extension UInt8 {
  fileprivate var isHexDigit: Bool {
    isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20)
  }
}
