/// What a tool wants to reach, in the form in which usherd compares it with its targets. usherd
/// checks the form again, more strictly.
package enum RequestedName {
  /// The maximum number of bytes of a name.
  package static let maxBytes = 2048

  /// Returns a URL without user information, which may have a password, and without query and
  /// fragment; nil if the text is no URL with a host, or has a control character, a space or a
  /// backslash.
  package static func url(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard bytes.count <= maxBytes,
      !bytes.contains(where: { $0.isControl || $0 == 0x20 || $0 == UInt8(ascii: "\\") }),
      let (scheme, rest) = bytes[...].split(at: "://"), let first = scheme.first,
      first.isLetter, scheme.allSatisfy({ $0.isLetterOrDigit || "+-.".utf8.contains($0) })
    else { return nil }
    let location = rest.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    let authority = location.prefix { $0 != UInt8(ascii: "/") }
    // The last at sign ends the user information.
    let mark = authority.lastIndex(of: UInt8(ascii: "@"))
    let place = mark.map { authority[($0 + 1)...] } ?? authority
    guard !place.isEmpty else { return nil }
    let path = location[authority.endIndex...]
    return String(
      decoding: scheme + "://".utf8 + place + (path.isEmpty ? "/".utf8.map(\.self) : Array(path)),
      as: UTF8.self)
  }

  /// Returns `host` or `host:port` in lower case; nil if the text is no such thing.
  package static func host(_ text: String) -> String? {
    let isHost = text.utf8.allSatisfy { $0.isLetterOrDigit || "-._:[]".utf8.contains($0) }
    guard isHost, text.utf8.count <= 260, let first = text.utf8.first,
      first.isLetterOrDigit || "_[".utf8.contains(first)
    else { return nil }
    return text.asciiLowercased
  }

  /// Returns a path as it stands in a URL, for one that was decoded (RFC 3986 §2.1).
  static func encoded(path: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = path.utf8.flatMap { byte in
      0x21...0x7E ~= byte && !"%?#".utf8.contains(byte)
        ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension ArraySlice<UInt8> {
  /// The parts before and after the first occurrence of the separator; nil if there is none.
  func split(at separator: String) -> (before: Self, after: Self)? {
    let mark = [UInt8](separator.utf8)
    guard count >= mark.count else { return nil }
    for start in startIndex...(endIndex - mark.count)
    where self[start..<(start + mark.count)].elementsEqual(mark) {
      return (self[..<start], self[(start + mark.count)...])
    }
    return nil
  }
}

extension String {
  /// The text without a prefix; nil if it has another.
  func dropping(prefix: String) -> String? {
    guard utf8.starts(with: prefix.utf8) else { return nil }
    return String(decoding: utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
  }

  /// Whether the text is a URL, and not a host or another name.
  var hasScheme: Bool { Array(utf8)[...].split(at: "://") != nil }
}
