/// The reason why a text is not accepted as JSON, and the position of the error.
///
/// The error quotes nothing of the text, which may contain secrets.
public struct JSONSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
  public let problem: Problem
  /// The offset of the error in bytes from the beginning of the text.
  public let offset: Int

  public enum Problem: Sendable, Hashable {
    /// The text is empty or only white space.
    case blank
    case unexpectedEnd
    case notAValue
    case notAName
    case noColon
    case noComma
    case malformedNumber
    /// The number is valid JSON but out of the range of `Double`. Only ``JSONValue`` refuses it;
    /// the scanner does not convert numbers.
    case numberOutOfRange
    /// A string contains an unescaped control character (U+0000…U+001F).
    case controlCharacter
    case malformedEscape
    case loneSurrogate
    case invalidUTF8
    case byteOrderMark
    /// Two members of one object with the same unescaped name.
    case duplicateMember
    case tooDeep
    /// The text contains more values than the limit allows. Only ``JSONValue`` refuses this,
    /// because the scanner stores no values.
    case tooManyValues
    case trailingBytes
    /// The text has more than 2 GiB.
    case tooLong
  }

  init(_ problem: Problem, at offset: Int) {
    self.problem = problem
    self.offset = offset
  }

  /// A sentence for people, such as `the nesting is too deep at byte 40`.
  public var description: String { "\(problem.sentence) at byte \(offset)" }
}

extension JSONSyntaxError.Problem {
  var sentence: String {
    switch self {
    case .blank: "the text is blank"
    case .unexpectedEnd: "the text ends too early"
    case .notAValue: "a value was expected"
    case .notAName: "a member name was expected"
    case .noColon: "a colon was expected"
    case .noComma: "a comma or a closing bracket was expected"
    case .malformedNumber: "a number is malformed"
    case .numberOutOfRange: "a number is out of range"
    case .controlCharacter: "a string holds a control character"
    case .malformedEscape: "an escape is malformed"
    case .loneSurrogate: "a surrogate escape is unpaired"
    case .invalidUTF8: "the text is not valid UTF-8"
    case .byteOrderMark: "the text begins with a byte order mark"
    case .duplicateMember: "a member occurs twice"
    case .tooDeep: "the nesting is too deep"
    case .tooManyValues: "there are too many values"
    case .trailingBytes: "there is text after the value"
    case .tooLong: "the text is too long"
    }
  }

  /// The limit that the text exceeds; nil if the error has another cause.
  var limit: JSONLimits.Name? {
    switch self {
    case .tooDeep: .nesting
    case .tooManyValues: .values
    case .tooLong: .line
    case .blank, .unexpectedEnd, .notAValue, .notAName, .noColon, .noComma, .malformedNumber,
      .numberOutOfRange, .controlCharacter, .malformedEscape, .loneSurrogate, .invalidUTF8,
      .byteOrderMark, .duplicateMember, .trailingBytes:
      nil
    }
  }
}
