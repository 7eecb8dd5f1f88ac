import JSONRPC
import UsherConfig
import UsherCore

/// The maximum size of the parameters of one call, in bytes and in JSON values.
struct ParamsLimit: Sendable {
  private let bytes: Int
  private let values: Int

  /// No limit except that of the line, for calls on the admin socket.
  static let none = ParamsLimit(bytes: .max, values: .max)

  /// Returns this limit, raised for a method whose parameters may have at least `bytes` bytes.
  func allowing(bytes: Int) -> ParamsLimit {
    ParamsLimit(bytes: max(bytes, self.bytes), values: values)
  }

  /// Parses the JSON text of the parameters; returns nil if there are none.
  ///
  /// - Throws: `messageTooLarge` with the name of the limit, or `invalidParams`.
  func value(_ params: UnsafeRawBufferPointer?) throws(UsherError) -> JSONValue? {
    guard let params else { return nil }
    guard params.count <= bytes else {
      throw UsherError(
        .messageTooLarge,
        "the parameters of this call may have at most \(bytes) bytes", limit: "params_bytes")
    }
    do {
      // The scanner has already checked the nesting of the whole line against the configured limit.
      return try JSONValue(
        parsing: params, limits: JSONLimits(nesting: Self.maxNesting, values: values))
    } catch {
      guard error.problem == .tooManyValues else {
        throw UsherError(.invalidParams, "params: \(error)")
      }
      throw UsherError(
        .messageTooLarge,
        "the parameters of a call may have at most \(values) JSON values, nested ones included",
        limit: "params_values")
    }
  }

  /// The highest limit of nesting that the configuration can set.
  private static let maxNesting = 256
}

extension ParamsLimit {
  init(_ limits: Limits) { self.init(bytes: limits.paramsBytes, values: limits.paramsValues) }
}
