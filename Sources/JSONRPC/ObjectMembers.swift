/// Where the members of a JSON object stand in its text, so that parts of it can be taken out or
/// exchanged as bytes.
package struct ObjectMembers: Sendable {
  private let ranges: [String: Range<Int>]

  /// - Parameter place: Of the object in the bytes; all of them where it is nil.
  /// - Throws: Where that is no JSON object.
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
    var reader = try Reader(bytes, nesting: deepest)
    guard reader.current == UInt8(ascii: "{") else { throw JSONSyntaxError(.notAValue, at: 0) }
    var ranges: [String: Range<Int>] = [:]
    var names = MemberNames()
    try reader.enter()
    while let name = try reader.nextMember(&names) {
      let range = try reader.value().range
      ranges[bytes.string(name)] = range.lowerBound + offset..<range.upperBound + offset
    }
    try reader.finish()
    return ranges
  }

  /// As deep as the reader goes.
  private static let deepest = 512

  /// Where the value of a member is, quotes and brackets included; nil where there is no such member.
  package subscript(_ name: String) -> Range<Int>? { ranges[name] }
}
