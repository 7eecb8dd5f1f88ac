import Testing
import UsherCore

@Suite("Error reasons")
struct UsherErrorTests {
  /// The errors of the wire contract; `true` if the same call may succeed later by itself.
  private static let table: [(code: Int, reason: String, isRetryable: Bool)] = [
    (-32700, "parse_error", false),
    (-32600, "invalid_request", false),
    (-32601, "method_not_found", false),
    (-32602, "invalid_params", false),
    (-32603, "internal_error", false),
    (-32800, "cancelled", false),
    (-32001, "permission_denied", false),
    (-32002, "rate_limited", true),
    (-32003, "overloaded", true),
    (-32004, "message_too_large", false),
    (-32005, "shutting_down", true),
    (-32006, "locked", false),
    (-32007, "deadline_exceeded", true),
    (1001, "not_found", false),
    (1002, "conflict", false),
    (1003, "request_id_reused", false),
    (1101, "interaction_required", false),
    (1102, "reauthentication_required", false),
    (1103, "consent_required", false),
    (1201, "flow_finished", false),
    (1202, "unexpected_input", false),
    (1203, "invalid_input", false),
    (1301, "provider_rejected", false),
    (1302, "provider_unreachable", true),
    (1303, "provider_protocol_error", false),
    (1401, "storage_unavailable", true),
  ]

  @Test("the error reasons have exactly the documented names, codes and retryable flags")
  func codes() {
    let reasons = UsherError.Reason.allCases
    #expect(reasons.map(\.rawValue) == Self.table.map(\.reason))
    #expect(reasons.map(\.code) == Self.table.map(\.code))
    #expect(reasons.map(\.isRetryable) == Self.table.map(\.isRetryable))
    #expect(Set(reasons.map(\.code)).count == reasons.count)
  }
}
