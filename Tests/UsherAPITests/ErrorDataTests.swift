import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Data of an error")
struct ErrorDataTests {
  private let correlation = CorrelationID("cor_1")

  @Test("the data of a plain error has only reason, retryable and correlationId")
  func plain() {
    checkWire(
      ErrorData(UsherError(.notFound, "no such flow"), correlationId: correlation),
      #"{"reason":"not_found","retryable":false,"correlationId":"cor_1"}"#)
    checkWire(
      ErrorData(UsherError(.overloaded, "busy"), correlationId: correlation),
      #"{"reason":"overloaded","retryable":true,"correlationId":"cor_1"}"#)
  }

  private let full = UsherError(
    .reauthenticationRequired, "sign in again",
    detail: .init(
      retryAfterMs: 1500, field: "account", limit: "flows_max", flow: FlowID("flw_1"),
      confirmation: ConfirmationID("cnf_1"),
      next: .init(
        provider: ProviderName("work"), kind: "authorize", account: AccountID("acc_1")),
      provider: word),
    cause: Cause())

  private struct Cause: Error { let secret = "hunter2" }

  @Test("an error's data has every detail, and next as a flow.start call, but never the cause")
  func everything() {
    checkWire(
      ErrorData(full, correlationId: correlation),
      """
      {"reason":"reauthentication_required","retryable":false,"retryAfterMs":1500,
       "field":"account","limit":"flows_max","flow":"flw_1","confirmation":"cnf_1",
       "next":{"method":"flow.start",
               "params":{"provider":"work","kind":"authorize","params":{"account":"acc_1"}}},
       "provider":\(wordJSON),"correlationId":"cor_1"}
      """)
  }

  @Test("the next flow of an error without an account has empty params")
  func nextWithoutAccount() {
    let error = UsherError(
      .interactionRequired, "sign in",
      detail: .init(next: .init(provider: ProviderName("work"), kind: "device")))
    checkWire(
      ErrorData(error, correlationId: correlation),
      """
      {"reason":"interaction_required","retryable":false,
       "next":{"method":"flow.start","params":{"provider":"work","kind":"device","params":{}}},
       "correlationId":"cor_1"}
      """)
  }

  @Test("the next flow of an error keeps its arguments and is read back equal")
  func nextWithArguments() {
    let error = UsherError(
      .interactionRequired, "be there",
      detail: .init(
        next: .init(
          provider: ProviderName("local"), kind: "authenticate", account: AccountID("acc_1"),
          arguments: ["reason": .text("till asks"), "usePasscodeWhenFailed": .flag(true)])))
    let data = ErrorData(error, correlationId: correlation)
    checkWire(
      data,
      """
      {"reason":"interaction_required","retryable":false,
       "next":{"method":"flow.start","params":{"provider":"local","kind":"authenticate",
               "params":{"account":"acc_1","reason":"till asks","usePasscodeWhenFailed":true}}},
       "correlationId":"cor_1"}
      """)
    #expect(data.error(message: "be there").detail == error.detail)
  }

  @Test(
    "an UsherError is read back equal from ErrorData, without its cause",
    arguments: UsherError.Reason.allCases)
  func back(reason: UsherError.Reason) {
    var error = full
    error.reason = reason
    let again = ErrorData(error, correlationId: correlation).error(message: "sign in again")
    #expect(again.reason == reason)
    #expect(again.message == "sign in again")
    #expect(again.detail == full.detail)
    #expect(again.cause == nil)
  }

  @Test("an error with an unknown reason is read as an internal error with its details")
  func unknown() {
    var data = ErrorData(full, correlationId: correlation)
    data.reason = "solar_flare"
    #expect(data.error(message: "").reason == .internalError)
    #expect(data.error(message: "").detail == full.detail)
  }

  @Test("retryAfterMs in an error's data is at most 2^53")
  func integers() {
    let error = UsherError(.rateLimited, "slow down", detail: .init(retryAfterMs: .max))
    let data = ErrorData(error, correlationId: correlation)
    #expect(data.retryAfterMs == 9_007_199_254_740_992)
  }
}
