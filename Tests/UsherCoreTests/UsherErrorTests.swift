import Testing
import UsherCore

@Suite("Error reasons")
struct UsherErrorTests {
  /// The golden file of `OpenRPCTests` has the name, code and retryable flag of each reason.
  @Test("each error reason has a JSON-RPC code of its own")
  func codes() {
    let codes = UsherError.Reason.allCases.map(\.code)
    #expect(Set(codes).count == codes.count)
  }
}
