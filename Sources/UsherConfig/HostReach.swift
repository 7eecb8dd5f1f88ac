/// The network from which the host of a URL can be reached, judged by the text only: no name is
/// resolved.
package enum HostReach: Sendable, Equatable {
  /// A public address, or a name that may have one.
  case global
  /// A private-use address (RFC 1918, RFC 4193, RFC 6598), or a name that only local networks use.
  case privateUse
  /// An address or name of this machine.
  case loopback
  /// A link-local, multicast, unspecified, reserved (RFC 6890) or malformed address.
  case special

  /// Classifies a host.
  ///
  /// - Parameter host: The host in lower case, without brackets. A number counts as an address in
  ///   every form that `inet_aton` accepts: `127.1`, `0x7f000001`, `2130706433`.
  package init(host: String) {
    if host.contains(":") {
      self = IPv6(host).map { $0.reach } ?? .special
      return
    }
    var labels = host.split(separator: ".", omittingEmptySubsequences: false)
    if labels.count > 1, labels.last == "" { labels.removeLast() }
    if labels.last.map(IPv4.isNumber) ?? true {
      self = IPv4(labels).map { $0.reach } ?? .special
    } else {
      self.init(name: labels.map { String($0) })
    }
  }

  private init(name labels: [String]) {
    let loopbackNames: Set = [
      "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback",
    ]
    // The names are those of RFC 6762 and RFC 8375, and the TLD that ICANN reserves for private
    // use.
    let localNetworks: Set = ["local", "internal", "localdomain"]
    if loopbackNames.contains(labels.joined(separator: ".")) || labels.last == "localhost" {
      self = .loopback
    } else if labels.count == 1 || localNetworks.contains(labels.last ?? "")
      || labels.suffix(2) == ["home", "arpa"]
    {
      self = .privateUse
    } else {
      self = .global
    }
  }
}

private struct IPv4 {
  let number: UInt32

  /// Creates an address from one to four numbers, of which the last one fills the remaining bytes.
  init?(_ parts: [Substring]) {
    let numbers = parts.compactMap(Self.number)
    guard (1...4).contains(parts.count), numbers.count == parts.count, let last = numbers.last,
      numbers.dropLast().allSatisfy({ $0 <= 255 }), last < 1 << (8 * (5 - numbers.count))
    else { return nil }
    number = numbers.dropLast().enumerated().reduce(UInt32(last)) { sum, part in
      sum | UInt32(part.element) << UInt32(24 - 8 * part.offset)
    }
  }

  init(_ bytes: some Sequence<UInt8>) { number = bytes.reduce(0) { $0 << 8 | UInt32($1) } }

  /// Returns whether a host with this last label is an IPv4 address, well-formed or not.
  static func isNumber(_ label: Substring) -> Bool {
    label.isEmpty || label.utf8.allSatisfy(\.isDigit)
      || label.hasPrefix("0x") && label.dropFirst(2).allSatisfy(\.isHexDigit)
  }

  /// Parses a number as `inet_aton` does: octal after `0`, hexadecimal after `0x`, otherwise
  /// decimal.
  private static func number(_ label: Substring) -> UInt64? {
    guard label.utf8.allSatisfy({ $0.isDigit || $0.isLetter }) else { return nil }
    if label.hasPrefix("0x") { return UInt64(label.dropFirst(2), radix: 16) }
    return UInt64(label, radix: label.hasPrefix("0") && label.count > 1 ? 8 : 10)
  }

  var reach: HostReach {
    switch number {
    case 0x7F00_0000...0x7FFF_FFFF: .loopback
    // The ranges are 10/8, 100.64/10, 172.16/12, 192.0.0/24, 192.168/16 and 198.18/15.
    case 0x0A00_0000...0x0AFF_FFFF, 0x6440_0000...0x647F_FFFF, 0xAC10_0000...0xAC1F_FFFF,
      0xC000_0000...0xC000_00FF, 0xC0A8_0000...0xC0A8_FFFF, 0xC612_0000...0xC613_FFFF:
      .privateUse
    // The ranges are 0/8, 169.254/16 and 224/3.
    case 0...0x00FF_FFFF, 0xA9FE_0000...0xA9FE_FFFF, 0xE000_0000...: .special
    default: .global
    }
  }
}

private struct IPv6 {
  private let bytes: [UInt8]

  init?(_ text: String) {
    let halves = text.split(separator: "::", omittingEmptySubsequences: false)
    let groups = halves.compactMap(Self.groups)
    guard halves.count <= 2, groups.count == halves.count, let head = groups.first else {
      return nil
    }
    let tail = halves.count == 2 ? groups[1] : []
    let missing = 16 - head.count - tail.count
    guard halves.count == 2 ? missing >= 2 : missing == 0 else { return nil }
    bytes = head + [UInt8](repeating: 0, count: missing) + tail
  }

  /// Returns the bytes of the groups of an IPv6 address, separated by colons. The last group may be
  /// an IPv4 address.
  private static func groups(_ text: Substring) -> [UInt8]? {
    guard !text.isEmpty else { return [] }
    let groups = text.split(separator: ":", omittingEmptySubsequences: false)
    var bytes: [UInt8] = []
    for (place, group) in groups.enumerated() {
      if group.contains(".") {
        let parts = group.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { UInt8($0) }
        guard place == groups.count - 1, parts.count == 4, numbers.count == 4 else { return nil }
        bytes += numbers
      } else {
        guard (1...4).contains(group.utf8.count), let number = UInt16(group, radix: 16) else {
          return nil
        }
        bytes += [UInt8(number >> 8), UInt8(number & 0xFF)]
      }
    }
    return bytes.count <= 16 ? bytes : nil
  }

  var reach: HostReach {
    let isZero: (Range<Int>) -> Bool = { range in bytes[range].allSatisfy { $0 == 0 } }
    switch (bytes[0], bytes[1]) {
    case _ where isZero(0..<15) && bytes[15] == 1: return .loopback
    case _ where isZero(0..<16): return .special
    // These addresses contain an IPv4 address: IPv4-compatible and IPv4-mapped (RFC 4291 §2.5.5),
    // IPv4-translated (RFC 2765 §2.1), NAT64 (RFC 6052), 6to4 (RFC 3056).
    case _ where isZero(0..<12),
      _ where isZero(0..<10) && bytes[10] == 0xFF && bytes[11] == 0xFF,
      _ where isZero(0..<8) && bytes[8] == 0xFF && bytes[9] == 0xFF && isZero(10..<12),
      (0x00, 0x64) where bytes[2] == 0xFF && bytes[3] == 0x9B && isZero(4..<12):
      return IPv4(bytes[12...]).reach
    case (0x20, 0x02): return IPv4(bytes[2..<6]).reach
    // Local NAT64 (RFC 8215), site-local and unique local addresses.
    case (0x00, 0x64), (0xFE, 0xC0...0xFF), (0xFC...0xFD, _): return .privateUse
    // Teredo, link-local and multicast addresses.
    case (0x20, 0x01) where isZero(2..<4): return .special
    case (0xFE, 0x80...0xBF), (0xFF, _): return .special
    default: return .global
    }
  }
}
