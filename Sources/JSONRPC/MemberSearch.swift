/// Finds a few members of a JSON object in its text, without storing the others.
///
/// The text must be part of a line that the scanner has accepted.
package enum MemberSearch {
  package enum Found: Sendable, Equatable {
    /// A string of at most ``maxTextBytes`` bytes, unescaped.
    case text(String)
    /// The range of any other value in the text.
    case other(Range<Int>)
  }

  /// The maximum number of bytes of a string that is returned as text. Longer strings are not
  /// copied, because they cannot be the name or id of an object.
  package static let maxTextBytes = 256

  /// Returns the member for each name; nil if there is no such member or the text is not an object.
  package static func find(
    _ names: [StaticString], in bytes: UnsafeRawBufferPointer
  ) -> [Found?] {
    var found = [Found?](repeating: nil, count: names.count)
    eachMember(of: bytes) { name, value in
      guard let place = names.firstIndex(where: { bytes.has(name, $0) }) else { return true }
      found[place] = bytes.found(value)
      return true
    }
    return found
  }

  /// The result of ``only(_:in:)``.
  package enum Only: Sendable, Equatable {
    /// The text is not an object.
    case notAnObject
    /// The object has a member other than the permitted one, with this name.
    case unexpected(String)
    case missing
    case found(Range<Int>)
  }

  /// Finds the only member that an object may have. Other members are reported.
  package static func only(_ name: StaticString, in bytes: UnsafeRawBufferPointer) -> Only {
    var result = Only.missing
    let isObject = eachMember(of: bytes) { member, value in
      guard bytes.has(member, name) else {
        result = .unexpected(bytes.string(member))
        return false
      }
      result = .found(value.range)
      return true
    }
    return isObject ? result : .notAnObject
  }

  /// Calls `body` for each member until it returns false; returns false if the text is not an
  /// object.
  @discardableResult
  private static func eachMember(
    of bytes: UnsafeRawBufferPointer, _ body: (Text, Token) -> Bool
  ) -> Bool {
    do throws(JSONSyntaxError) {
      var reader = try Reader(bytes, nesting: .max)
      guard reader.current == UInt8(ascii: "{") else { return false }
      try reader.enterContainer()
      var isFirst = true
      while let name = try reader.nextScannedMember(isFirst: isFirst) {
        isFirst = false
        guard body(name, try reader.value()) else { return true }
      }
      return true
    } catch {
      return false
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Returns whether a member has the given name, compared byte by byte.
  fileprivate func has(_ text: Text, _ name: StaticString) -> Bool {
    if text.isEscaped { return unescaped(text).withUnsafeBytes { $0.equals(name) } }
    return part(text.range).equals(name)
  }

  fileprivate func found(_ value: Token) -> MemberSearch.Found {
    guard case .string(let text) = value.kind, text.count <= MemberSearch.maxTextBytes else {
      return .other(value.range)
    }
    return .text(string(text))
  }
}
