import Testing
import UsherFuzz

@testable import JSONRPC

struct ServerMessageTests {
  private func read(_ line: String) throws -> [ServerMessage] {
    try within(line) { try ServerMessage.read($0) }
  }

  @Test("the result of a JSON-RPC response is returned as JSON bytes")
  func result() throws {
    guard case .response(let response) = try read(#"{"jsonrpc":"2.0","id":7,"result": {"a":1}}"#)[0]
    else { throw ReferenceParser.Refused() }
    #expect(response.id == RequestID(7))
    #expect(response.outcome == .success(Array(#"{"a":1}"#.utf8)))
  }

  @Test("an error response is read with its code, message and data")
  func error() throws {
    let line =
      #"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m\n","data":{"reason":"x"}}}"#
    guard case .response(let response) = try read(line)[0] else { throw ReferenceParser.Refused() }
    #expect(response.id == .null)
    #expect(
      response.outcome
        == .failure(ResponseError(code: -32700, message: "m\n", data: ["reason": "x"])))
  }

  @Test("a null result is a success, and unknown members of a response are ignored")
  func nullResult() throws {
    guard
      case .response(let response) = try read(
        #"{"jsonrpc":"2.0","id":"a","result":null,"took":1}"#)[0]
    else { throw ReferenceParser.Refused() }
    #expect(response.outcome == .success(Array("null".utf8)))
  }

  @Test("notifications and requests from a server are distinguished")
  func calls() throws {
    #expect(
      try read(#"{"jsonrpc":"2.0","method":"flow.changed","params":{"a":1}}"#)
        == [.notification(method: "flow.changed", params: Array(#"{"a":1}"#.utf8))])
    #expect(
      try read(#"{"jsonrpc":"2.0","method":"ping"}"#)
        == [.notification(method: "ping", params: nil)])
    #expect(
      try read(#"{"jsonrpc":"2.0","method":"ping","id":1}"#)
        == [.request(id: RequestID(1), method: "ping", params: nil)])
  }

  @Test("a batch from a server is read as several messages")
  func batch() throws {
    let messages = try read(
      #"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","method":"x"}]"#)
    #expect(messages.count == 2)
  }

  @Test(
    "an invalid server message is refused with the reason",
    arguments: [
      ("{}", .version), (#"{"jsonrpc":"2.0","id":1}"#, .notAResponse),
      (#"{"jsonrpc":"2.0","result":1}"#, .notAResponse),
      (#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#, .notAResponse),
      (#"{"jsonrpc":"2.0","id":{},"result":1}"#, .idOfWrongType),
      (#"{"jsonrpc":"2.0","id":1,"error":null}"#, .malformedError),
      (#"{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}"#, .malformedError),
      (#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#, .malformedError),
      (
        #"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":1e999}}"#,
        .syntax(.numberOutOfRange)
      ),
      (#"{"jsonrpc":"2.0","method":1}"#, .methodNotAString),
      (#"{"jsonrpc":"2.0","method":"m","params":1}"#, .paramsNotStructured),
      ("[]", .emptyBatch), ("[1]", .notAMessage), ("3", .notAMessage), ("", .syntax(.blank)),
      (#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#, .syntax(.duplicateMember)),
      (#"[{"jsonrpc":"2.0","id":1,"result":1},{"x":1}]"#, .version),
    ] as [(String, Refusal.Reason)])
  func refused(line: String, reason: Refusal.Reason) {
    let refusal = #expect(throws: Refusal.self) { try read(line) }
    #expect(refusal?.reason == reason)
  }

  @Test("the batch and nesting limits apply to server messages")
  func limits() {
    let line = #"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]"#
    let refusal = #expect(throws: Refusal.self) {
      try within(line) { try ServerMessage.read($0, limits: JSONLimits(batch: 1)) }
    }
    #expect(refusal?.reason == .batchTooLarge)
    let deep = #expect(throws: Refusal.self) {
      try within(line) { try ServerMessage.read($0, limits: JSONLimits(nesting: 1)) }
    }
    #expect(deep?.limit == .nesting)
  }
}
