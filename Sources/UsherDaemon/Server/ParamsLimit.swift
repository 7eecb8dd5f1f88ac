import JSONRPC
import UsherConfig
import UsherCore

/// Maximum size of the parameters of one call.
struct ParamsLimit: Sendable {
  private let bytes: Int
  private let values: Int

  /// No limit beside that of the line, for the admin socket.
  static let none = ParamsLimit(bytes: .max, values: .max)

  /// Returns the limit for a method that accepts at least `bytes` bytes.
  func allowing(bytes: Int) -> ParamsLimit {
    ParamsLimit(bytes: max(bytes, self.bytes), values: values)
  }

  /// Parses the parameters; returns nil if there are none.
  ///
  /// - Throws: `messageTooLarge` with the name of the limit, or `invalidParams`.
  func value(_ params: UnsafeRawBufferPointer?) throws(UsherError) -> JSONValue? {
    guard let params else { return nil }
    guard params.count <= bytes else {
      throw UsherError(
        .messageTooLarge,
        "the parameters of this call may have \(bytes) bytes", limit: "params_bytes")
    }
    do {
      // The scanner has checked the nesting of the whole line.
      return try JSONValue(
        parsing: params, limits: JSONLimits(nesting: Self.mostNesting, values: values))
    } catch {
      guard error.problem == .tooManyValues else {
        throw UsherError(.invalidParams, "params: \(error)")
      }
      throw UsherError(
        .messageTooLarge,
        "the parameters of a call may have \(values) values", limit: "params_values")
    }
  }

  /// The highest nesting that the configuration allows.
  private static let mostNesting = 256
}

extension ParamsLimit {
  init(_ limits: Limits) { self.init(bytes: limits.paramsBytes, values: limits.paramsValues) }
}
