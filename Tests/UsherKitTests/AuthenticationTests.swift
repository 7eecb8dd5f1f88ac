import FoundationEssentials
import JSONRPC
import Testing
import UsherKit

@Suite("Signing in to a wallet", .timeLimit(.minutes(1)))
struct AuthenticationTests {
  private let request = Wallet.AuthenticationDetailsRequest(
    clientIdentifier: "client", codeChallenge: "challenge", state: "statestate")
  private let start = PaysafeFlow.start(
    "authorize",
    [
      "brandIdentity": "acme", "clientIdentifier": "client", "codeChallenge": "challenge",
      "state": "statestate",
    ])
  private let authorizing = PaysafeFlow.stands(
    "authorize", 2, "authorizing", step: PaysafeFlow.page)
  private let exchanging = PaysafeFlow.stands(
    "authorize", 3, "exchanging", step: PaysafeFlow.exchange())
  private let submitted: JSONValue = [
    "type": "openURL", "redirectURL": "https://p.example/?code=1",
  ]

  private func redirect() throws -> URL { try #require(URL(string: "https://p.example/?code=1")) }

  @Test("what the program leaves open is left to the daemon")
  func defaults() async throws {
    let details = try await wallet([.ask("flow.start", start, authorizing)]) {
      try await $0.authenticationService.getAuthenticationDetails(
        brandIdentity: "acme", request: request)
    }
    #expect(
      details.authenticationURL.absoluteString
        == "https://wallet.example/authorize?state=random-string")
    #expect(details.requestID == "req-flw_1")
  }

  @Test("another client identifier is a data error, in the daemon's words")
  func wrongClient() async throws {
    let failed = PaysafeFlow.failed(
      "authorize", 1, failure: PaysafeFlow.failure("invalid_request", code: "dataError"))
    let error = try await walletError([.ask("flow.start", start, failed)]) {
      try await $0.authenticationService.getAuthenticationDetails(
        brandIdentity: "acme", request: request)
    }
    #expect(error.word == "dataError")
    #expect(error.detail.message == "why it failed")
  }

  @Test("a parameter the daemon refuses is named")
  func wrongParameter() async throws {
    let error = try await walletError([
      .refuse("flow.start", start, PaysafeFlow.error("invalid_params", field: "params.state"))
    ]) {
      try await $0.authenticationService.getAuthenticationDetails(
        brandIdentity: "acme", request: request)
    }
    #expect(error.word == "invalidRequest")
    #expect(error.detail.field == "params.state")
  }

  @Test("a redirect goes to the sign-in it answers")
  func oneOfSeveral() async throws {
    let code = try await wallet([
      .ask(
        "flow.list", PaysafeFlow.authorizeFlows,
        PaysafeFlow.list("authorize", "flw_4", "flw_3", "flw_2", "flw_1")),
      // Waits for a token already.
      .ask(
        "flow.get", PaysafeFlow.flow("flw_4"),
        PaysafeFlow.stands(
          "authorize", 3, "exchanging", id: "flw_4", step: PaysafeFlow.exchange("req-flw_4"))),
      // Another state.
      .ask(
        "flow.get", PaysafeFlow.flow("flw_3"),
        PaysafeFlow.stands("authorize", 2, "authorizing", id: "flw_3", step: PaysafeFlow.page)),
      .refuse(
        "flow.submit", PaysafeFlow.answer(submitted, at: 2, of: "flw_3"),
        PaysafeFlow.error("invalid_input", field: "input.redirectURL")),
      // Came back to the daemon a moment ago.
      .ask(
        "flow.get", PaysafeFlow.flow("flw_2"),
        PaysafeFlow.stands("authorize", 2, "authorizing", id: "flw_2", step: PaysafeFlow.page)),
      .refuse(
        "flow.submit", PaysafeFlow.answer(submitted, at: 2, of: "flw_2"),
        PaysafeFlow.error("conflict")),
      .ask("flow.get", PaysafeFlow.flow("flw_1"), authorizing),
      .ask("flow.submit", PaysafeFlow.answer(submitted, at: 2), exchanging),
    ]) { try await $0.authenticationService.handleRedirect(url: try redirect()) }
    #expect(code.code == "code-1" && code.requestID == "req-flw_1")
    #expect(code.redirectURI == "https://www.partner.com/wallet/dashboard")
    #expect(code.deadline == Date(timeIntervalSince1970: 1_893_456_060))
  }

  @Test("a URL that answers no sign-in changes nothing and is said to be that")
  func nobodysRedirect() async throws {
    let error = try await walletError([
      .ask("flow.list", PaysafeFlow.authorizeFlows, PaysafeFlow.list("authorize", "flw_1")),
      .ask("flow.get", PaysafeFlow.flow(), authorizing),
      .refuse(
        "flow.submit", PaysafeFlow.answer(submitted, at: 2),
        PaysafeFlow.error("invalid_input", field: "input.redirectURL")),
    ]) {
      try await $0.authenticationService.handleRedirect(url: try redirect())
    }
    #expect(error.word == "nothingWaiting")
  }

  @Test("a customer who says no is told by the wallet's own code")
  func denied() async throws {
    let failure = PaysafeFlow.failure("denied", code: "access_denied", message: "not now")
    let error = try await walletError([
      .ask("flow.list", PaysafeFlow.authorizeFlows, PaysafeFlow.list("authorize", "flw_1")),
      .ask("flow.get", PaysafeFlow.flow(), authorizing),
      .ask(
        "flow.submit", PaysafeFlow.answer(submitted, at: 2),
        PaysafeFlow.failed("authorize", 3, failure: failure)),
    ]) {
      try await $0.authenticationService.handleRedirect(url: try redirect())
    }
    #expect(error.word == "denied")
    #expect(
      error.detail.providerCode == "access_denied" && error.detail.providerMessage == "not now")
  }

  @Test("the code of a redirect the daemon gets is waited for")
  func waitsForCode() async throws {
    let code = try await wallet([
      .ask(
        "flow.list", PaysafeFlow.authorizeFlows, PaysafeFlow.list("authorize", "flw_2", "flw_1")),
      .ask(
        "flow.get", PaysafeFlow.flow("flw_2"),
        PaysafeFlow.stands("authorize", 2, "authorizing", id: "flw_2", step: PaysafeFlow.page)),
      .ask("flow.get", PaysafeFlow.flow("flw_1"), authorizing),
      .ask("flow.wait", PaysafeFlow.change(after: 2), PaysafeFlow.waited(exchanging)),
    ]) { try await $0.authenticationService.authenticationCode(requestID: "req-flw_1") }
    #expect(code.code == "code-1")
  }

  @Test("without a sign-in there is no code")
  func noCode() async throws {
    let error = try await walletError([
      .ask("flow.list", PaysafeFlow.authorizeFlows, PaysafeFlow.none)
    ]) {
      try await $0.authenticationService.authenticationCode()
    }
    #expect(error.word == "nothingWaiting")
  }
}

@Suite("Handing in an access token", .timeLimit(.minutes(1)))
struct AccessTokenTests {
  private let exchanging = PaysafeFlow.stands(
    "authorize", 3, "exchanging", step: PaysafeFlow.exchange())
  private let tokens: JSONValue = [
    "type": "exchangeCredential",
    "success": ["accessToken": "at", "expiresIn": "900", "refreshToken": "rt"],
  ]
  private let list = Turn.ask(
    "flow.list", PaysafeFlow.authorizeFlows, PaysafeFlow.list("authorize", "flw_2", "flw_1"))
  /// The newer one stands at its page.
  private let other = Turn.ask(
    "flow.get", PaysafeFlow.flow("flw_2"),
    PaysafeFlow.stands("authorize", 2, "authorizing", id: "flw_2", step: PaysafeFlow.page))

  @Test("it goes to the sign-in that waits for it, and SCA is about that customer then")
  func account() async throws {
    let sca = PaysafeFlow.start(
      "sca",
      [
        "eventId": "e", "walletOperationId": "w", "verification": ["method": "PIN"],
        "account": "acc_7",
      ])
    try await wallet([
      list, other, .ask("flow.get", PaysafeFlow.flow(), exchanging),
      .ask(
        "flow.submit", PaysafeFlow.answer(tokens, at: 3),
        PaysafeFlow.succeeded("authorize", 4, result: #"{"account":"acc_7"}"#)),
      .ask("flow.list", PaysafeFlow.scaFlows("e"), PaysafeFlow.none),
      .ask(
        "flow.start", sca,
        PaysafeFlow.stands("sca", 1, "challenged", step: PaysafeFlow.enterPassword)),
    ]) { wallet in
      let account = try await wallet.authenticate(
        accessToken: "at", expiresIn: 900, refreshToken: "rt")
      #expect(account.id == "acc_7" && wallet.account == account)
      _ = try await wallet.authenticationService.sendSCAChallenge(
        eventID: "e", request: .init(walletOperationID: "w", verification: .init(method: .pin)))
    }
  }

  @Test("of several that wait, the request id names one")
  func named() async throws {
    let error = try await walletError([
      list, other, .ask("flow.get", PaysafeFlow.flow(), exchanging),
    ]) {
      try await $0.authenticate(accessToken: "at", requestID: "req-flw_2")
    }
    #expect(error.word == "nothingWaiting")
    #expect(error.detail.message == "no sign-in waits for an access token")
  }

  @Test("a token that cannot be one is refused, and nobody is signed in")
  func refused() async throws {
    let field = "input.success.accessToken"
    let error = try await walletError([
      list, other, .ask("flow.get", PaysafeFlow.flow(), exchanging),
      .refuse(
        "flow.submit", PaysafeFlow.answer(tokens, at: 3),
        PaysafeFlow.error("invalid_input", field: field)),
    ]) { wallet in
      defer { #expect(wallet.account == nil) }
      return try await wallet.authenticate(
        accessToken: "at", expiresIn: 900, refreshToken: "rt")
    }
    #expect(error.word == "invalidRequest")
    #expect(error.detail.field == field)
  }
}
