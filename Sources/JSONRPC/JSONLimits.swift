/// The limits on the size of a message. A message over a limit is refused with an error that names
/// it.
public struct JSONLimits: Sendable, Hashable {
  /// The maximum number of bytes of a line before its `\n`, including a `\r`. ``LineSplitter``
  /// applies it.
  public var lineBytes = 1 << 20
  /// The maximum nesting depth of objects and arrays: `[]` is 1, `[{}]` is 2. The array of a batch
  /// counts.
  ///
  /// Values outside 1…512 are clamped, because the reader recurses to this depth.
  public var nesting = 32
  /// The maximum number of calls in a batch.
  public var batch = 64
  /// The maximum number of values in a parsed ``JSONValue``, counting objects, arrays and every
  /// value in them.
  public var values = Int.max

  public init(
    lineBytes: Int = 1 << 20, nesting: Int = 32, batch: Int = 64, values: Int = .max
  ) {
    self.lineBytes = lineBytes
    self.nesting = nesting
    self.batch = batch
    self.values = values
  }

  /// The names of the limits in error messages.
  public enum Name: String, Sendable {
    case line
    case nesting
    case batch
    case values
  }
}
