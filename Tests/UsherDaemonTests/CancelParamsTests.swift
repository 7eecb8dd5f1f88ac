import JSONRPC
import Testing
import UsherCore

@testable import UsherDaemon

@Suite("Parameters of rpc.cancel", .timeLimit(.minutes(10)))
struct CancelParamsTests {
  private let harness: ConnectionHarness

  init() async throws { harness = try await ConnectionHarness() }

  @Test("rpc.cancel accepts a string or number id of up to 256 bytes and refuses anything else")
  func cancel() async throws {
    let deep = String(repeating: "[", count: 20) + String(repeating: "]", count: 20)
    for id in [#""\#(String(repeating: "x", count: 255))""#, deep, "{}", "true", #"[""]"#] {
      let error = try await harness.error(of: CallLine.call("rpc.cancel", #"{"id":\#(id)}"#))
      #expect(error?["data"]?["reason"] == "invalid_params", "\(id)")
      #expect(error?["data"]?["field"] == "id", "\(id)")
    }
    for id in [#""\#(String(repeating: "x", count: 254))""#, "1", "-0", "1e400", "null"] {
      #expect(
        try await harness.error(of: CallLine.call("rpc.cancel", #"{"id":\#(id)}"#)) == nil, "\(id)")
    }
    for (params, field) in [
      ("{}", "id"), (#"{"id":1,"x":2}"#, "x"), (#"{"ID":1}"#, "ID"), ("[1]", "params"),
    ] {
      let error = try await harness.error(of: CallLine.call("rpc.cancel", params))
      #expect(error?["data"]?["reason"] == "invalid_params", "\(params)")
      #expect(error?["data"]?["field"]?.stringValue == field, "\(params)")
    }
    await harness.end()
  }
}
