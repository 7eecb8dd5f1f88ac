/// A key of the store in memory that the daemon provides, such as locked memory.
///
/// The store copies the key for one operation at a time and keeps no copy.
package protocol HeldKey: Sendable {
  /// Calls `body` with the bytes of the key, which are valid only until `body` returns.
  func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result
}

/// Copies a key into memory that protects it. Throws if no such memory is available.
package typealias KeyStorage = @Sendable (UnsafeRawBufferPointer) throws -> any HeldKey
