/// A key of the store, in memory that the opener of the store provides.
///
/// The store copies the key for one operation at a time and keeps no copy.
package protocol HeldKey: Sendable {
  /// Calls `body` with the bytes, which are valid only until it returns.
  func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result
}

/// Copies a key into the memory in which it is kept. Throws if no such memory is available.
package typealias KeyStorage = @Sendable (UnsafeRawBufferPointer) throws -> any HeldKey
