import FoundationEssentials
import JSONRPC
import UsherAPI
import UsherCore

/// Encodes results and errors as JSON on one line.
enum ReplyEncoder {
  static func encode(_ value: some Encodable) throws(UsherError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return Array(try encoder.encode(value))
    } catch {
      throw UsherError(.internalError, "the reply cannot be written", cause: error)
    }
  }

  /// Returns the JSON-RPC reply for an error. No other function converts errors to JSON-RPC.
  static func error(_ error: UsherError, id: RequestID, correlation: CorrelationID) -> [UInt8] {
    let data = try? encode(ErrorData(error, correlationId: correlation))
    var line: [UInt8] = []
    line.appendError(code: error.reason.code, message: error.message, data: data, id: id)
    return line
  }
}
