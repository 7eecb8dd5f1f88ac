import Testing
import UsherAPI
import UsherCore

@testable import UsherKit

@Suite("GoPay errors of UsherKit")
struct GoPayErrorTests {
  @Test("the GoPay error codes have the contract's numbers, titles and retry flags")
  func table() {
    let rows = FeatureErrorCode.allCases.map { "\($0.rawValue) \($0.title) \($0.isRetryable)" }
    #expect(
      rows == [
        "GPE-2201 Configuration invalid false",
        "GPE-2202 Token expired or unauthorised true",
        "GPE-2203 Connection error true",
        "GPE-2204 Feature not whitelisted false",
        "GPE-2205 Unknown false",
        "GPE-2206 Required field missing false",
        "GPE-2207 User cancelled true",
        "GPE-2208 Exchange failed false",
        "GPE-2209 Exchange timed out true",
        "GPE-2210 Camera unavailable true",
        "GPE-2211 Permission denied true",
        "GPE-2212 Verification failed true",
        "GPE-2213 User tapped Help true",
        "GPE-2214 Security check false",
        "GPE-2215 API error true",
      ])
  }

  @Test("a failure without a GoPay code becomes the nearest GoPay error")
  func nearest() {
    let codes = KitError.Kind.allCases.map { kind in
      FeatureError(KitError(kind, "why", retryAfter: .seconds(3)))
    }
    let numbers = codes.map { Int($0.code.dropFirst(4)) }
    #expect(
      numbers == [
        2205, 2201, 2202, 2205, 2204, 2207, 2207, 2205, 2205, 2215, 2203, 2207, 2205,
      ])
    #expect(codes.allSatisfy { $0.message == "why" && $0.retryAfter == .seconds(3) })
    #expect(codes.first?.title == "Unknown" && codes.first?.serverCode == nil)
  }

  @Test("only a blank field, and the daemon where it finds a required field missing, is GPE-2206")
  func fieldMissing() {
    for kind in KitError.Kind.allCases {
      #expect(FeatureError(KitError(kind, "why")).code != "GPE-2206")
    }
    let provider = ProviderErrorCode(name: ProviderName("gopay"), code: "GPE-2206")
    #expect(FeatureError(KitError(.invalidRequest, "why", provider: provider)).code == "GPE-2206")
    let missing = FeatureError.missing("requestId")
    #expect(missing.code == "GPE-2206" && missing.title == "Required field missing")
    #expect(missing.message == "requestId is missing or blank" && !missing.isRetryable)
  }

  @Test("GoPay's own title, message and server code take precedence over UsherKit's")
  func words() {
    var provider = ProviderErrorCode(name: ProviderName("gopay"), code: "GPE-2202")
    let ours = FeatureError(KitError(.rejected, "why", provider: provider))
    #expect(ours.title == "Token expired or unauthorised" && ours.message == "why")
    #expect(ours.kind == .tokenExpired && ours.isRetryable)
    #expect(ours.description == "GPE-2202 Token expired or unauthorised: why")
    provider.error = "1401"
    provider.title = "a title"
    provider.message = "the server's sentence"
    let theirs = FeatureError(KitError(.rejected, "why", provider: provider))
    #expect(theirs.title == "a title" && theirs.message == "the server's sentence")
    #expect(theirs.serverCode == "1401")
  }

  @Test("an unknown GoPay error code is kept and has no kind")
  func unknown() {
    let provider = ProviderErrorCode(name: ProviderName("gopay"), code: "GPE-2299")
    let error = FeatureError(KitError(.rejected, "why", provider: provider))
    #expect(error.code == "GPE-2299" && error.kind == nil && !error.isRetryable)
    #expect(error.title == "Unknown")
  }
}

@Suite("Printing and building of GoPay values")
struct GoPayPrintingTests {
  @Test("GoPay's ExchangeResult.success has one value, so that it is a function of the id")
  func success() {
    let make: (String) -> ExchangeResult = ExchangeResult.success
    #expect(["corr-1"].map(make) == [.success(userCorrelationId: "corr-1")])
    guard case .success(let id) = make("corr-2") else {
      Issue.record("the result is no success")
      return
    }
    #expect(id == "corr-2")
  }

  @Test("GoPay credentials, results and requests are printed and dumped without codes and tokens")
  func secrets() {
    let credential = GoPayCredential.authCode(code: "s3cret")
    let result = ExchangeResult.linked(userCorrelationId: "corr-5678", token: "s3cret")
    let request = FeatureRequest.Builder().requestId("req-1").token("s3cret").build()
    var text = ""
    for value in [credential, result, request] as [Any] {
      text += "\(value) \(String(reflecting: value)) "
      dump(value, to: &text)
    }
    #expect(!text.contains("s3cret") && text.contains("corr-5678") && text.contains("req-1"))
    #expect("\(ExchangeResult.failure(reason: "down"))" == "not exchanged: down")
    #expect(request.token == "s3cret")
  }

  @Test("a GoPay request builder uses the last value, and requests that were built do not change")
  func builder() {
    let builder = FeatureRequest.Builder()
    builder.requestId("req-1")
    builder.userCorrelationId("corr-1")
    builder.token("t")
    builder.featureId("f")
    let first = builder.build()
    builder.requestId("req-2").userCorrelationId("corr-2").token(nil).featureId(nil)
    let second = builder.build()
    #expect(first.userCorrelationId == "corr-1" && second.userCorrelationId == "corr-2")
    #expect(first.requestId == "req-1" && first.token == "t" && first.featureId == "f")
    #expect(second.requestId == "req-2" && second.token == nil && second.featureId == nil)
    let bare = FeatureRequest.Builder().build()
    #expect(bare.requestId.isEmpty && bare.userCorrelationId.isEmpty && bare.token == nil)
  }
}
