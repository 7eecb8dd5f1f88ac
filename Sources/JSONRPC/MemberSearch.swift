/// Finds a few members of an object where they stand in its text, without keeping the others.
///
/// The text is part of a line that the scanner has accepted.
package enum MemberSearch {
  package enum Found: Sendable, Equatable {
    /// A string of at most ``longestText`` bytes, with its escapes resolved.
    case text(String)
    /// Any other value: its place in the text.
    case other(Range<Int>)
  }

  /// Longer strings are not read: they are no names of anything.
  package static let longestText = 256

  /// - Returns: For each of the names what the object has; nil where there is no such member, and for
  ///   all of them where the text is no object.
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

  /// What an object has that may have one member only.
  package enum Only: Sendable, Equatable {
    /// The text is an array.
    case notAnObject
    /// The name of a member that may not be there.
    case stray(String)
    case missing
    case found(Range<Int>)
  }

  package static func only(_ name: StaticString, in bytes: UnsafeRawBufferPointer) -> Only {
    var result = Only.missing
    let isObject = eachMember(of: bytes) { member, value in
      guard bytes.has(member, name) else {
        result = .stray(bytes.string(member))
        return false
      }
      result = .found(value.range)
      return true
    }
    return isObject ? result : .notAnObject
  }

  /// - Parameter body: Returns whether to go on.
  /// - Returns: False where the text is no object.
  @discardableResult
  private static func eachMember(
    of bytes: UnsafeRawBufferPointer, _ body: (Text, Token) -> Bool
  ) -> Bool {
    do throws(JSONSyntaxError) {
      var reader = try Reader(bytes, nesting: .max)
      guard reader.current == UInt8(ascii: "{") else { return false }
      try reader.enter()
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
  /// Whether a member's name is this one, byte by byte.
  fileprivate func has(_ text: Text, _ name: StaticString) -> Bool {
    if text.isEscaped { return unescaped(text).withUnsafeBytes { $0.equals(name) } }
    return part(text.range).equals(name)
  }

  fileprivate func found(_ value: Token) -> MemberSearch.Found {
    guard case .string(let text) = value.kind, text.count <= MemberSearch.longestText else {
      return .other(value.range)
    }
    return .text(string(text))
  }
}
