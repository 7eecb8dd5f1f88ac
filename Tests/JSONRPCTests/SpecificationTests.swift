import JSONRPC
import Testing

/// The examples of JSON-RPC 2.0 § 7.
struct SpecificationTests {
  private let peer = ExamplePeer()

  @Test(
    "each call in the JSON-RPC specification's examples gets the specified reply",
    arguments: [
      // rpc call with positional parameters
      (
        #"{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}"#,
        #"{"jsonrpc": "2.0", "result": 19, "id": 1}"#
      ),
      (
        #"{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}"#,
        #"{"jsonrpc": "2.0", "result": -19, "id": 2}"#
      ),
      // rpc call with named parameters
      (
        """
        {"jsonrpc": "2.0", "method": "subtract",
         "params": {"subtrahend": 23, "minuend": 42}, "id": 3}
        """,
        #"{"jsonrpc": "2.0", "result": 19, "id": 3}"#
      ),
      (
        """
        {"jsonrpc": "2.0", "method": "subtract",
         "params": {"minuend": 42, "subtrahend": 23}, "id": 4}
        """,
        #"{"jsonrpc": "2.0", "result": 19, "id": 4}"#
      ),
      // rpc call of non-existent method
      (
        #"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#,
        #"{"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "1"}"#
      ),
      // rpc call with invalid JSON
      (
        #"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#,
        #"{"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": null}"#
      ),
      // rpc call with invalid Request object
      (
        #"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#,
        #"{"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}"#
      ),
    ])
  func calls(call: String, reply: String) throws {
    #expect(try JSONValue(parsing: #require(peer.answer(call))) == JSONValue(parsing: reply))
  }

  @Test(
    "each notification in the JSON-RPC specification's examples gets no reply",
    arguments: [
      #"{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}"#,
      #"{"jsonrpc": "2.0", "method": "foobar"}"#,
      // rpc call batch (all notifications)
      """
      [
          {"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
          {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}
      ]
      """,
    ])
  func notifications(call: String) {
    #expect(peer.answer(call) == nil)
  }

  @Test(
    "each batch in the JSON-RPC specification's examples gets the specified reply",
    arguments: [
      // rpc call batch, invalid JSON
      (
        """
        [
          {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
          {"jsonrpc": "2.0", "method"
        ]
        """,
        #"{"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": null}"#
      ),
      // rpc call with an empty array
      (
        "[]",
        #"{"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}"#
      ),
      // rpc call with an invalid batch (but not empty)
      (
        "[1]",
        """
        [
          {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}
        ]
        """
      ),
      // rpc call with invalid batch
      (
        "[1,2,3]",
        """
        [
          {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null},
          {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null},
          {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}
        ]
        """
      ),
      // rpc call batch
      (
        """
        [
            {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
            {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
            {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
            {"foo": "boo"},
            {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
            {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
        ]
        """,
        """
        [
            {"jsonrpc": "2.0", "result": 7, "id": "1"},
            {"jsonrpc": "2.0", "result": 19, "id": "2"},
            {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null},
            {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "5"},
            {"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"}
        ]
        """
      ),
    ])
  func batches(call: String, reply: String) throws {
    #expect(try JSONValue(parsing: #require(peer.answer(call))) == JSONValue(parsing: reply))
  }
}

/// A server with the methods of the specification's examples.
private struct ExamplePeer {
  private let scanner = Scanner()

  func answer(_ line: String) -> String? {
    let bytes = Array(line.utf8)
    let reply = bytes.withUnsafeBytes { line in
      switch scanner.scan(line) {
      case .call(let call): answer(call, line)
      case .batch(let elements): answer(elements, line)
      case .refused(let refusal): answer(refusal, line)
      case .looksLikeHTTP: [UInt8]?.none
      }
    }
    return reply.map { String(decoding: $0, as: UTF8.self) }
  }

  private func answer(
    _ elements: [Scanned.Element], _ line: UnsafeRawBufferPointer
  ) -> [UInt8]? {
    var batch = BatchCollector(elements)
    var reply: [UInt8]?
    for (index, element) in elements.enumerated() {
      let one: [UInt8]? =
        switch element {
        case .call(let call): answer(call, line)
        case .refused(let refusal): answer(refusal, line)
        }
      if let one, case .complete(let all) = batch.fill(index, with: one) { reply = all }
    }
    return reply
  }

  private func answer(_ call: Envelope, _ line: UnsafeRawBufferPointer) -> [UInt8]? {
    let params = call.paramsBytes(in: line).flatMap { try? JSONValue(parsing: $0) } ?? .null
    let result = run(call.method(in: line), params)
    guard let id = call.id(in: line) else { return nil }
    var reply: [UInt8] = []
    if let result {
      reply.appendResult(result.encoded(), id: id)
    } else {
      reply.appendError(code: -32601, message: "Method not found", id: id)
    }
    return reply
  }

  private func answer(_ refusal: Refusal, _ line: UnsafeRawBufferPointer) -> [UInt8] {
    var reply: [UInt8] = []
    let message = refusal.code == -32700 ? "Parse error" : "Invalid Request"
    reply.appendError(code: refusal.code, message: message, id: refusal.idBytes(in: line))
    return reply
  }

  private func run(_ method: String, _ params: JSONValue) -> JSONValue? {
    switch method {
    case "subtract":
      let minuend = params[0] ?? params["minuend"]
      let subtrahend = params[1] ?? params["subtrahend"]
      return .integer((minuend?.integerValue ?? 0) - (subtrahend?.integerValue ?? 0))
    case "sum", "notify_sum":
      return .integer((params.arrayValue ?? []).compactMap(\.integerValue).reduce(0, +))
    case "get_data": return ["hello", 5]
    case "update", "notify_hello": return .null
    default: return nil
    }
  }
}
