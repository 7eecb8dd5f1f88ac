import JSONRPC
import Testing
import UsherFuzz

struct MessagesTests {
  private func written(_ body: (inout [UInt8]) -> Void) -> String {
    var bytes: [UInt8] = []
    body(&bytes)
    return bytes.text
  }

  @Test("each kind of JSON-RPC message is written in exactly one form")
  func spelling() {
    #expect(
      written { $0.appendResult(Array(#"{"a":1}"#.utf8), id: RequestID("x\"")) }
        == #"{"jsonrpc":"2.0","id":"x\"","result":{"a":1}}"#)
    #expect(
      written { $0.appendError(code: -32601, message: "no \"x\"", id: .null) }
        == #"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no \"x\""}}"#)
    #expect(
      written {
        $0.appendError(
          code: 1001, message: "m", data: Array(#"{"reason":"not_found"}"#.utf8), id: RequestID(7))
      }
        == #"{"jsonrpc":"2.0","id":7,"error":{"code":1001,"message":"m","#
        + #""data":{"reason":"not_found"}}}"#)
    #expect(
      written { $0.appendNotification(method: "a.b", params: Array("[1]".utf8)) }
        == #"{"jsonrpc":"2.0","method":"a.b","params":[1]}"#)
    #expect(
      written { $0.appendNotification(method: "a.b") } == #"{"jsonrpc":"2.0","method":"a.b"}"#)
    #expect(
      written { $0.appendRequest(method: "a", params: Array("{}".utf8), id: RequestID(-1)) }
        == #"{"jsonrpc":"2.0","id":-1,"method":"a","params":{}}"#)
    #expect(
      written { $0.appendBatch([Array("1".utf8), Array("2".utf8)]) } == "[1,2]")
  }

  @Test("JSON-RPC messages are appended to the existing bytes")
  func appended() {
    let twice = written { bytes in
      for number in 1...2 {
        bytes.appendResult(Array("0".utf8), id: RequestID(Int64(number)))
        bytes.append(0x0A)
      }
    }
    #expect(
      twice == """
        {"jsonrpc":"2.0","id":1,"result":0}
        {"jsonrpc":"2.0","id":2,"result":0}

        """)
  }

  @Test("the scanner reads a written request back")
  func readBack() throws {
    var line: [UInt8] = []
    line.appendRequest(method: "é\n.get", params: Array("[]".utf8), id: RequestID("i\u{0}"))
    try line.withUnsafeBytes { line in
      let call = try #require(Scanner().scan(line).call)
      #expect(call.method(in: line) == "é\n.get")
      #expect(call.id(in: line) == RequestID("i\u{0}"))
    }
  }
}

struct BatchCollectorTests {
  private func collector(_ line: String) throws -> BatchCollector {
    guard case .batch(let elements) = Scanner().scan(line) else {
      throw ReferenceParser.Refused()
    }
    return BatchCollector(elements)
  }

  private let request = #"{"jsonrpc":"2.0","method":"m","id":1}"#
  private let notification = #"{"jsonrpc":"2.0","method":"m"}"#

  @Test("the replies of a batch are complete together, in the order of their calls")
  func order() throws {
    var batch = try collector("[\(request),\(notification),5,\(request)]")
    #expect(!batch.isComplete)
    #expect(batch.fill(3, with: Array("3".utf8)) == .waiting)
    #expect(batch.fill(0, with: Array("0".utf8)) == .waiting)
    #expect(batch.fill(2, with: Array("2".utf8)) == .complete(Array("[0,2,3]".utf8)))
    #expect(batch.isComplete)
  }

  @Test("a batch of notifications expects no reply")
  func notifications() throws {
    #expect(try collector("[\(notification),\(notification)]").isComplete)
  }

  @Test("a batch ignores a reply to a notification, an unknown index or an answered call")
  func ignored() throws {
    var batch = try collector("[\(request),\(notification),\(request)]")
    #expect(batch.fill(1, with: []) == .ignore)
    #expect(batch.fill(3, with: []) == .ignore)
    #expect(batch.fill(-1, with: []) == .ignore)
    #expect(batch.fill(0, with: Array("0".utf8)) == .waiting)
    #expect(batch.fill(0, with: Array("9".utf8)) == .ignore)
    #expect(batch.fill(2, with: Array("2".utf8)) == .complete(Array("[0,2]".utf8)))
    #expect(batch.fill(2, with: Array("2".utf8)) == .ignore)
  }
}
