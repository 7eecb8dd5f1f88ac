/// The ranges of the members of a JSON object in its text, so that their bytes can be extracted or
/// replaced.
package struct ObjectMembers: Sendable {
  private let ranges: [String: Range<Int>]

  /// Finds the members.
  ///
  /// - Parameter place: The range of the object in the bytes; nil means all of the bytes.
  /// - Throws: If the range does not contain a JSON object.
  package init(
    of bytes: [UInt8], at place: Range<Int>? = nil
  ) throws(JSONSyntaxError) {
    let place = place ?? bytes.indices
    ranges = try bytes.span.bytes.withUnsafeBytes { whole throws(JSONSyntaxError) in
      try Self.ranges(
        of: UnsafeRawBufferPointer(rebasing: whole[place]), offset: place.lowerBound)
    }
  }

  private static func ranges(
    of bytes: UnsafeRawBufferPointer, offset: Int
  ) throws(JSONSyntaxError) -> [String: Range<Int>] {
    var reader = try Reader(bytes, nesting: .max)
    guard reader.current == UInt8(ascii: "{") else { throw JSONSyntaxError(.notAValue, at: 0) }
    var ranges: [String: Range<Int>] = [:]
    var names = MemberNames()
    try reader.enterContainer()
    while let name = try reader.nextMember(&names) {
      let range = try reader.value().range
      ranges[bytes.string(name)] = range.lowerBound + offset..<range.upperBound + offset
    }
    try reader.finish()
    return ranges
  }

  /// The range of a member's value in the bytes, including quotes or brackets; nil if there is no
  /// such member.
  package subscript(_ name: String) -> Range<Int>? { ranges[name] }
}
