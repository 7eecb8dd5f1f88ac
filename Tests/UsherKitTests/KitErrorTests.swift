import Testing
import UsherAPI
import UsherClient
import UsherCore

@testable import UsherKit

@Suite("KitError of a failed UsherKit call")
struct KitErrorTests {
  @Test(
    "each refusal of the daemon maps to a KitError kind and keeps its details",
    arguments: [
      (UsherError.Reason.invalidParams, "params.state", KitError.Kind.invalidRequest),
      (.invalidParams, "kind", .notConfigured), (.invalidInput, nil, .invalidRequest),
      (.notFound, "provider", .notConfigured), (.notFound, "account", .signInRequired),
      (.notFound, nil, .nothingWaiting), (.conflict, nil, .nothingWaiting),
      (.reauthenticationRequired, nil, .signInRequired), (.permissionDenied, nil, .notPermitted),
      (.rateLimited, nil, .rateLimited), (.shuttingDown, nil, .unavailable),
      (.providerUnreachable, nil, .unavailable), (.providerRejected, nil, .rejected),
      (.internalError, nil, .unexpected), (.cancelled, nil, .cancelled),
    ] as [(UsherError.Reason, String?, KitError.Kind)])
  func refusals(reason: UsherError.Reason, field: String?, kind: KitError.Kind) {
    let provider = ProviderErrorCode(name: ProviderName("p"), code: "17")
    let error = UsherError(
      reason, "why", detail: .init(retryAfterMs: 1500, field: field, provider: provider))
    let expected = KitError(
      kind, "why", field: field, retryAfter: .milliseconds(1500), provider: provider)
    #expect(KitError(error) == expected)
  }

  @Test("a connection error maps to a KitError, and a missing socket's says how to start usherd")
  func noDaemon() {
    let error = KitError(ConnectionError(.noSocket, socketPath: "/s"))
    let message =
      "the socket /s does not exist; to start usherd, run: systemctl start usherd.socket"
    #expect(error == KitError(.unavailable, message))
    #expect(KitError(ConnectionError(.garbled, socketPath: "/s")).kind == .unexpected)
    #expect(KitError(ConnectionError(.notPermitted, socketPath: "/s")).kind == .notPermitted)
  }

  @Test("a CancellationError maps to KitError.cancelled, and an unknown error to unexpected")
  func others() {
    struct Odd: Error {}
    #expect(KitError(CancellationError()).kind == .cancelled)
    #expect(KitError(Odd()).kind == .unexpected)
  }

  @Test(
    "each failure reason of a flow maps to a KitError kind",
    arguments: [
      (.cancelled, .cancelled), (.expired, .expired), (.exchangeTimedOut, .expired),
      (.denied, .denied), (.localAuthFailed, .denied), (.invalidRequest, .invalidRequest),
      (.providerRejected, .rejected), (.exchangeFailed, .rejected),
      (.providerUnreachable, .unavailable), (.providerProtocolError, .unexpected),
      (.attemptsExhausted, .attemptsExhausted), (.reauthenticationRequired, .signInRequired),
    ] as [(Failure.Reason, KitError.Kind)])
  func failures(reason: Failure.Reason, kind: KitError.Kind) {
    let provider = ProviderErrorCode(name: ProviderName("p"), code: "17")
    let failure = Failure(
      reason: reason, title: "t", message: "why", retryable: false, provider: provider)
    #expect(KitError(failure) == KitError(kind, "why", provider: provider))
  }

  @Test("each KitError kind maps to a WalletError, and the wallet's own code takes precedence")
  func walletErrors() {
    let errors = KitError.Kind.allCases.map { WalletError(KitError($0, "why", field: "f")) }
    #expect(errors.allSatisfy { $0.message == "why" && $0.detail.field == "f" })
    let dataErrors = zip(KitError.Kind.allCases, errors).filter {
      if case .dataError = $1 { true } else { false }
    }
    #expect(dataErrors.map(\.0) == [.attemptsExhausted])
    let provider = ProviderErrorCode(
      name: ProviderName("p"), code: "dataError", message: "too many")
    for kind in KitError.Kind.allCases {
      guard case .dataError(let detail) = WalletError(KitError(kind, "why", provider: provider))
      else {
        Issue.record("\(kind)")
        return
      }
      #expect(detail.providerMessage == "too many")
    }
  }
}
