import JSONRPC
import UsherConfig
import UsherCore

/// How large the parameters of one call may be.
struct ParamsLimit: Sendable {
  private var bytes: Int
  private let values: Int

  /// For the admin socket: only the line's own limit holds.
  static let none = ParamsLimit(bytes: .max, values: .max)

  private init(bytes: Int, values: Int) {
    self.bytes = bytes
    self.values = values
  }

  init(_ limits: Limits) { self.init(bytes: limits.paramsBytes, values: limits.paramsValues) }

  /// The same for a method that takes so many bytes in any case.
  func allowing(bytes: Int) -> ParamsLimit {
    var limit = self
    limit.bytes = max(bytes, self.bytes)
    return limit
  }

  /// The parameters as a value; nil where there are none.
  ///
  /// - Throws: `messageTooLarge` with the limit's name.
  func value(_ params: UnsafeRawBufferPointer?) throws(UsherError) -> JSONValue? {
    guard let params else { return nil }
    guard params.count <= bytes else {
      throw UsherError(
        .messageTooLarge, "the parameters of this call may have \(bytes) bytes",
        detail: .init(limit: "params_bytes"))
    }
    do {
      // The nesting was checked with the whole line.
      return try JSONValue(
        parsing: params, limits: JSONLimits(nesting: Self.mostNesting, values: values))
    } catch {
      guard error.problem == .tooManyValues else {
        throw UsherError(.invalidParams, "params: \(error)")
      }
      throw UsherError(
        .messageTooLarge, "the parameters of a call may have \(values) values",
        detail: .init(limit: "params_values"))
    }
  }

  /// The most that a connection may be allowed.
  private static let mostNesting = 256
}
