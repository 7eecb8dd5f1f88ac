/// A key that the store works with, in memory that whoever opens the store chose.
///
/// The store takes a key out for the length of one operation and keeps no copy of it.
package protocol HeldKey: Sendable {
  /// The bytes, valid only inside `body`.
  func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result
}

/// Copies a key to where it shall be kept; throws where there is no room for it.
package typealias KeyKeeper = @Sendable (UnsafeRawBufferPointer) throws -> any HeldKey
