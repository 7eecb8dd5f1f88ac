import JSONRPC
import Testing
import UsherCore

@testable import UsherDaemon

@Suite("Limits of parameters", .timeLimit(.minutes(10)))
struct ParamsLimitTests {
  private let harness: ConnectionHarness

  init() async throws { harness = try await ConnectionHarness() }

  @Test("parameters beyond 64 KiB or 4096 values are refused with the limit's name")
  func limits() async throws {
    let ones = Array(repeating: "1", count: 4097).joined(separator: ",")
    for (line, limit) in [
      (CallLine.hello(65_537), "params_bytes"),
      (CallLine.call("rpc.hello", #"{"protocol":[\#(ones)]}"#), "params_values"),
      (
        CallLine.call("flow.start", #"{"provider":"work","kind":"k","params":{"a":[\#(ones)]}}"#),
        "params_values"
      ),
    ] {
      let error = try await harness.error(of: line)
      #expect(error?["data"]?["reason"] == "message_too_large")
      #expect(error?["data"]?["limit"] == .string(limit))
    }
    #expect(try await harness.error(of: CallLine.hello(65_536)) == nil)
    await harness.end()
  }

  @Test("flow.submit accepts an input with three tokens of 64 KiB")
  func submit() async throws {
    let token = String(repeating: "t", count: 65_536)
    let success = #"{"accessToken":"\#(token)","refreshToken":"\#(token)","idToken":"\#(token)"}"#
    let error = try await harness.error(
      of: CallLine.call(
        "flow.submit",
        #"{"flow":"flw_1","revision":1,"input":{"type":"exchangeCredential","#
          + #""success":\#(success)}}"#))
    #expect(error?["data"]?["reason"] == "not_found")
    await harness.end()
  }
}
