/// How large a message may be. A value over a limit is refused with an error that names the limit.
public struct JSONLimits: Sendable, Hashable {
  /// Bytes of a line before its `\n`; a `\r` before it counts. For ``LineSplitter``.
  public var lineBytes = 1 << 20
  /// Objects and arrays inside each other: `[]` is 1, `[{}]` is 2. A batch's array counts.
  ///
  /// Values outside 1…512 are clamped: the reader recurses this deep, so the limit has one itself.
  public var nesting = 32
  /// Calls in one batch.
  public var batch = 64
  /// Values in a ``JSONValue`` that is parsed: objects and arrays, and each value in them.
  public var values = Int.max

  public init(
    lineBytes: Int = 1 << 20, nesting: Int = 32, batch: Int = 64, values: Int = .max
  ) {
    self.lineBytes = lineBytes
    self.nesting = nesting
    self.batch = batch
    self.values = values
  }

  /// The limits as errors name them.
  public enum Name: String, Sendable {
    case line
    case nesting
    case batch
    case values
  }
}
