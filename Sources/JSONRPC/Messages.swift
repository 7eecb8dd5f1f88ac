// Functions that append JSON-RPC 2.0 messages to a buffer. The caller has to append the `\n`.
//
// `result`, `params`, `data` and ids are JSON and are copied unchanged, so they must be valid and
// contain no newline. The results of `JSONValue.encoded()` and of the scanner satisfy this.
extension [UInt8] {
  /// Appends a response with a result: `{"jsonrpc":"2.0","id":…,"result":…}`.
  package mutating func appendResult(
    _ result: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) {
    reserve(result.count + id.count)
    append(#"{"jsonrpc":"2.0","id":"#)
    append(contentsOf: id)
    append(#","result":"#)
    append(contentsOf: result)
    append("}")
  }

  package mutating func appendResult(_ result: [UInt8], id: RequestID) {
    result.withUnsafeBytes { result in
      id.raw.withUnsafeBytes { appendResult(result, id: $0) }
    }
  }

  /// Appends a response with an error:
  /// `{"jsonrpc":"2.0","id":…,"error":{"code":…,"message":…,"data":…}}`. Without `data` if that is
  /// nil.
  package mutating func appendError(
    code: Int, message: String, data: [UInt8]? = nil, id: UnsafeRawBufferPointer
  ) {
    append(#"{"jsonrpc":"2.0","id":"#)
    append(contentsOf: id)
    append(#","error":{"code":"#)
    append(contentsOf: String(code).utf8)
    append(#","message":"#)
    appendJSONString(message)
    if let data {
      append(#","data":"#)
      append(contentsOf: data)
    }
    append("}}")
  }

  package mutating func appendError(
    code: Int, message: String, data: [UInt8]? = nil, id: RequestID
  ) {
    id.raw.withUnsafeBytes { appendError(code: code, message: message, data: data, id: $0) }
  }

  /// Appends a notification: `{"jsonrpc":"2.0","method":…,"params":…}`. Without `params` if that is
  /// nil.
  package mutating func appendNotification(method: String, params: [UInt8]? = nil) {
    append(#"{"jsonrpc":"2.0""#)
    appendCall(method: method, params: params)
  }

  /// Appends a request: `{"jsonrpc":"2.0","id":…,"method":…,"params":…}`. Without `params` if that
  /// is nil.
  package mutating func appendRequest(method: String, params: [UInt8]? = nil, id: RequestID) {
    append(#"{"jsonrpc":"2.0","id":"#)
    append(contentsOf: id.raw)
    appendCall(method: method, params: params)
  }

  private mutating func appendCall(method: String, params: [UInt8]?) {
    append(#","method":"#)
    appendJSONString(method)
    if let params {
      append(#","params":"#)
      append(contentsOf: params)
    }
    append("}")
  }

  /// Appends a batch: `[…,…]`. JSON-RPC does not permit an empty batch: send nothing instead.
  package mutating func appendBatch(_ messages: [[UInt8]]) {
    append("[")
    for (index, message) in messages.enumerated() {
      if index > 0 { append(",") }
      append(contentsOf: message)
    }
    append("]")
  }

  /// Reserves space for a message with `count` bytes of content, growing geometrically.
  private mutating func reserve(_ count: Int) {
    let needed = self.count + count + 40
    if needed > capacity { reserveCapacity(Swift.max(needed, 2 * capacity)) }
  }
}
