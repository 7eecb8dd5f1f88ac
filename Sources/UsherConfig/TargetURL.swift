/// A URL that a tool asks a credential for, or the URL of a target's pattern, in a form that can be
/// compared: the scheme and host in lower case, the default port left out, the path in segments
/// (RFC 3986 §6.2.2).
///
/// A URL that a server could read as another one is refused: with user information, a fragment, an
/// empty segment, a segment `.` or `..`, or an escape for a character that needs none or that
/// changes the meaning of a path. The query is not compared.
struct TargetURL: Hashable, Sendable {
  /// The ports of the schemes that have a default port.
  private static let defaultPorts = ["https": 443, "http": 80]

  let scheme: String
  /// The host without brackets.
  let host: String
  /// The port; nil for the default port of the scheme.
  let port: Int?
  /// The segments of the path, without the slash before the first one. The root has one segment,
  /// which is empty.
  let segments: [String]
  let isLoopback: Bool

  init(_ text: String) throws(SettingError) {
    guard let separator = text.firstRange(of: "://") else {
      throw SettingError("must be an absolute URL")
    }
    scheme = text[..<separator.lowerBound].lowercased()
    guard scheme.utf8.first?.isLetter == true,
      scheme.consists(upTo: 32, of: { $0.isLetter || $0.isDigit || $0.isOne(of: "+-.") })
    else { throw SettingError("has a scheme that a URL cannot have") }
    // The parts of a URL do not depend on its scheme, so a URL of any scheme is read as https.
    let parts = try URLParts("https" + text[separator.lowerBound...])
    host = parts.host
    guard
      host.contains(":")
        || host.split(separator: ".", omittingEmptySubsequences: false)
          .allSatisfy({ !$0.isEmpty })
    else { throw SettingError("has no valid host and port") }
    isLoopback = parts.isLoopback
    port = parts.port == Self.defaultPorts[scheme] ? nil : parts.port
    segments = try Self.segments(of: parts.path)
  }

  /// The URL without a query.
  var text: String { "\(origin)/\(segments.joined(separator: "/"))" }

  /// The scheme, host and port, without a slash at the end.
  var origin: String {
    let bracketed = host.contains(":") ? "[\(host)]" : host
    return "\(scheme)://\(bracketed)\(port.map { ":\($0)" } ?? "")"
  }

  private static func segments(of path: String) throws(SettingError) -> [String] {
    var segments: [String] = []
    let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    for (place, part) in parts.enumerated() {
      guard !part.isEmpty || place == parts.count - 1 else {
        throw SettingError("must have no \"//\" in its path")
      }
      // Some servers take the part of a segment from a semicolon on for parameters.
      let name = part.prefix { $0 != ";" }
      guard name != ".", name != ".." else {
        throw SettingError("must have no segment \".\" or \"..\" in its path")
      }
      segments.append(try unescaped(part))
    }
    return segments
  }

  /// Returns a segment with upper-case digits in its escapes.
  ///
  /// - Throws: If the segment has an escape that is not valid, or one of a letter, a digit, `-`,
  ///   `.`, `_`, `~` (RFC 3986 §2.3: equal to the character itself), `/`, `\`, `%`, `;` or a
  ///   control character, or if its bytes are not UTF-8.
  private static func unescaped(_ segment: Substring) throws(SettingError) -> String {
    guard segment.contains("%") else { return String(segment) }
    let hidesPath = SettingError("has an escape in its path that could hide another path")
    let bytes = Array(segment.utf8)
    var result: [UInt8] = []
    var decoded: [UInt8] = []
    var place = 0
    while place < bytes.count {
      guard bytes[place] == UInt8(ascii: "%") else {
        result.append(bytes[place])
        decoded.append(bytes[place])
        place += 1
        continue
      }
      let digits = String(decoding: bytes[(place + 1)...].prefix(2), as: UTF8.self).uppercased()
      guard digits.utf8.count == 2, !digits.hasPrefix("+"), !digits.hasPrefix("-"),
        let byte = UInt8(digits, radix: 16)
      else { throw SettingError("has an invalid escape in its path") }
      guard !byte.isWordByte, !byte.isOne(of: "-.~/\\%;"), byte >= 0x20, byte != 0x7F else {
        throw hidesPath
      }
      result += Array("%\(digits)".utf8)
      decoded.append(byte)
      place += 3
    }
    // Some servers decode an overlong form of a dot or slash, which is not UTF-8 (RFC 3629 §10).
    guard String(validating: decoded, as: UTF8.self) != nil else { throw hidesPath }
    return String(decoding: result, as: UTF8.self)
  }
}

/// A pattern for URLs.
///
/// The scheme and the port must be equal. The host must be equal, or `*.` at its begin stands for
/// one label (RFC 9525 §6.3). In the path, `*` stands for any characters except `/`; if it is the
/// whole last segment, it stands for everything below.
struct TargetURLPattern: Hashable, Sendable {
  private let url: TargetURL
  /// Whether `url.host` is only the part of the host after its first label.
  private let hasAnyFirstLabel: Bool
  /// The segments of the path, without a last one that stands for everything below.
  private let segments: [Glob]
  private let isOpen: Bool

  init(_ text: String) throws(SettingError) {
    let separator = text.firstRange(of: "://")
    let authority = separator.map { text[$0.upperBound...] } ?? ""
    hasAnyFirstLabel = authority.hasPrefix("*.")
    if let separator, hasAnyFirstLabel {
      url = try TargetURL(String(text[..<separator.upperBound] + authority.dropFirst(2)))
      guard url.host.contains("."), !url.host.contains(":") else {
        throw SettingError("must have two labels of the host after \"*.\"")
      }
    } else {
      url = try TargetURL(text)
    }
    guard !text.contains("?") else { throw SettingError("must have no query") }
    guard url.scheme != "http" || url.isLoopback && !hasAnyFirstLabel else {
      throw SettingError("must be https; http is for loopback hosts only")
    }
    isOpen = url.segments.last == "*"
    segments = (isOpen ? url.segments.dropLast() : url.segments[...]).map { Glob(text: $0) }
  }

  func matches(_ name: TargetURL) -> Bool {
    covers(host: name.host) && name.scheme == url.scheme && name.port == url.port
      && covers(name.segments)
  }

  /// Returns whether the pattern matches every URL that another pattern matches. If it says no, it
  /// may still do so.
  func covers(_ other: TargetURLPattern) -> Bool {
    // A star of the other pattern is compared as a character, which only a star matches.
    let isHostCovered =
      other.hasAnyFirstLabel
      ? hasAnyFirstLabel && url.host == other.url.host : covers(host: other.url.host)
    return isHostCovered && url.scheme == other.url.scheme && url.port == other.url.port
      && (isOpen || !other.isOpen) && covers(other.url.segments)
  }

  private func covers(host: String) -> Bool {
    guard hasAnyFirstLabel else { return host == url.host }
    guard let dot = host.firstIndex(of: "."), dot != host.startIndex else { return false }
    return host[host.index(after: dot)...] == url.host
  }

  private func covers(_ names: [String]) -> Bool {
    (isOpen ? names.count > segments.count : names.count == segments.count)
      && zip(segments, names).allSatisfy { $0.matches($1) }
  }
}
