import JSONRPC

/// Request lines, and parsing of their replies.
enum CallLine {
  /// A request line without its line feed.
  static func line(_ method: String, _ params: String = "{}", id: Int = 1) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#
  }

  static func call(_ method: String, _ params: String, id: String = "1") -> [UInt8] {
    Array(#"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#.utf8) + [0x0A]
  }

  /// A call of `rpc.hello` whose parameters have exactly `bytes` bytes.
  static func hello(_ bytes: Int, id: String = "1") -> [UInt8] {
    let (head, tail) = (#"{"client":{"name":""#, #"","version":"1"}}"#)
    let name = String(repeating: "a", count: bytes - head.utf8.count - tail.utf8.count)
    return call("rpc.hello", head + name + tail, id: id)
  }

  /// Parses a reply from which ``HarnessConnection/line()`` has cut the correlation id.
  static func parse(_ reply: String) throws -> JSONValue {
    try JSONValue(parsing: reply.replacing("{,", with: "{"))
  }
}

extension ConnectionHarness {
  /// Sends a line on its own connection and returns the error of its reply.
  func error(of line: [UInt8]) async throws -> JSONValue? {
    let connection = try await connect()
    try await connection.send(line)
    let reply = try CallLine.parse(try await connection.line())
    try await connection.close()
    return reply["error"]
  }
}
