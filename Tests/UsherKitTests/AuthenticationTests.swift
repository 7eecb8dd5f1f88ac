import FoundationEssentials
import JSONRPC
import Testing
import UsherKit
import UsherTestKit

@Suite("Paysafe wallet sign-in with UsherKit", .timeLimit(.minutes(10)))
struct AuthenticationTests {
  private let request = Wallet.AuthenticationDetailsRequest(
    clientIdentifier: "client", codeChallenge: "challenge", state: "statestate")
  private let start = PaysafeFlow.start(
    "authorize",
    [
      "brandIdentity": "acme", "clientIdentifier": "client", "codeChallenge": "challenge",
      "state": "statestate",
    ])
  private let authorizing = PaysafeFlow.snapshot(
    "authorize", 2, "authorizing", step: PaysafeFlow.page)
  private let exchanging = PaysafeFlow.snapshot(
    "authorize", 3, "exchanging", step: PaysafeFlow.exchange())
  private let submitted: JSONValue = [
    "type": "openURL", "redirectURL": "https://p.example/?code=1",
  ]

  private func redirect() throws -> URL { try #require(URL(string: "https://p.example/?code=1")) }

  @Test("getAuthenticationDetails sends only the given parameters and returns the sign-in URL")
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

  @Test("authenticate with the token alone has the brand of the sign-in that was begun last")
  func brandOfTheSignIn() async throws {
    let account = try await wallet([
      .ask("flow.start", start, authorizing),
      .ask("flow.list", PaysafeFlow.authorizeFlows, PaysafeFlow.none),
      .ask(
        "flow.start",
        PaysafeFlow.start("authenticate", ["accessToken": "at", "brandIdentity": "acme"]),
        PaysafeFlow.succeeded("authenticate", 1, result: #"{"account":"acc_8"}"#)),
    ]) { wallet in
      _ = try await wallet.authenticationService.getAuthenticationDetails(
        brandIdentity: "acme", request: request)
      return try await wallet.authenticate(accessToken: "at")
    }
    #expect(account.id == "acc_8")
  }

  @Test("getAuthenticationDetails throws dataError if the flow fails with dataError")
  func wrongClient() async throws {
    let failed = PaysafeFlow.failed(
      "authorize", 1, failure: PaysafeFlow.failure("invalid_request", code: "dataError"))
    let error = try await walletError([.ask("flow.start", start, failed)]) {
      try await $0.authenticationService.getAuthenticationDetails(
        brandIdentity: "acme", request: request)
    }
    #expect(error.caseName == "dataError")
    #expect(error.detail.message == "why it failed")
  }

  @Test("getAuthenticationDetails names the parameter that the daemon refuses")
  func wrongParameter() async throws {
    let error = try await walletError([
      .refuse("flow.start", start, PaysafeFlow.error("invalid_params", field: "params.state"))
    ]) {
      try await $0.authenticationService.getAuthenticationDetails(
        brandIdentity: "acme", request: request)
    }
    #expect(error.caseName == "invalidRequest")
    #expect(error.detail.field == "params.state")
  }

  @Test("handleRedirect finds among several sign-ins the one that the redirect URL answers")
  func oneOfSeveral() async throws {
    let code = try await wallet([
      .ask(
        "flow.list", PaysafeFlow.authorizeFlows,
        PaysafeFlow.list("authorize", "flw_4", "flw_3", "flw_2", "flw_1")),
      // This sign-in already waits for an access token.
      .ask(
        "flow.get", PaysafeFlow.flow("flw_4"),
        PaysafeFlow.snapshot(
          "authorize", 3, "exchanging", id: "flw_4", step: PaysafeFlow.exchange("req-flw_4"))),
      // This sign-in has another `state`.
      .ask(
        "flow.get", PaysafeFlow.flow("flw_3"),
        PaysafeFlow.snapshot("authorize", 2, "authorizing", id: "flw_3", step: PaysafeFlow.page)),
      .refuse(
        "flow.submit", PaysafeFlow.answer(submitted, at: 2, of: "flw_3"),
        PaysafeFlow.error("invalid_input", field: "input.redirectURL")),
      // This sign-in has received its redirect in the meantime.
      .ask(
        "flow.get", PaysafeFlow.flow("flw_2"),
        PaysafeFlow.snapshot("authorize", 2, "authorizing", id: "flw_2", step: PaysafeFlow.page)),
      .refuse(
        "flow.submit", PaysafeFlow.answer(submitted, at: 2, of: "flw_2"),
        PaysafeFlow.error("conflict")),
      .ask("flow.get", PaysafeFlow.flow("flw_1"), authorizing),
      .ask("flow.submit", PaysafeFlow.answer(submitted, at: 2), exchanging),
    ]) { try await $0.authenticationService.handleRedirect(url: try redirect()) }
    #expect(code.code == "code-1" && code.requestID == "req-flw_1")
    #expect(code.redirectURI == "http://www.partner.com/wallet/dashboard")
    #expect(code.deadline == Date(timeIntervalSince1970: 1_893_456_060))
  }

  @Test("handleRedirect throws nothingWaiting for a URL that answers no sign-in")
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
    #expect(error.caseName == "nothingWaiting")
  }

  @Test("handleRedirect throws denied with the wallet's own code if the customer refuses")
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
    #expect(error.caseName == "denied")
    #expect(
      error.detail.providerCode == "access_denied" && error.detail.providerMessage == "not now")
  }

  @Test("authenticationCode waits until the redirect reaches the daemon and returns the code")
  func waitsForCode() async throws {
    let code = try await wallet([
      .ask(
        "flow.list", PaysafeFlow.authorizeFlows, PaysafeFlow.list("authorize", "flw_2", "flw_1")),
      .ask(
        "flow.get", PaysafeFlow.flow("flw_2"),
        PaysafeFlow.snapshot("authorize", 2, "authorizing", id: "flw_2", step: PaysafeFlow.page)),
      .ask("flow.get", PaysafeFlow.flow("flw_1"), authorizing),
      .ask("flow.wait", PaysafeFlow.change(after: 2), PaysafeFlow.waited(exchanging)),
    ]) { try await $0.authenticationService.authenticationCode(requestID: "req-flw_1") }
    #expect(code.code == "code-1")
  }

  @Test("authenticationCode throws nothingWaiting if there is no sign-in")
  func noCode() async throws {
    let error = try await walletError([
      .ask("flow.list", PaysafeFlow.authorizeFlows, PaysafeFlow.none)
    ]) {
      try await $0.authenticationService.authenticationCode()
    }
    #expect(error.caseName == "nothingWaiting")
  }
}

@Suite("Access tokens for a wallet sign-in with UsherKit", .timeLimit(.minutes(10)))
struct AccessTokenTests {
  private let exchanging = PaysafeFlow.snapshot(
    "authorize", 3, "exchanging", step: PaysafeFlow.exchange())
  private let tokens: JSONValue = [
    "type": "exchangeCredential",
    "success": ["accessToken": "at", "expiresIn": "900", "refreshToken": "rt"],
  ]
  private let list = Turn.ask(
    "flow.list", PaysafeFlow.authorizeFlows, PaysafeFlow.list("authorize", "flw_2", "flw_1"))
  /// The newer sign-in still shows its page.
  private let other = Turn.ask(
    "flow.get", PaysafeFlow.flow("flw_2"),
    PaysafeFlow.snapshot("authorize", 2, "authorizing", id: "flw_2", step: PaysafeFlow.page))

  @Test("authenticate gives the token to the waiting sign-in, and SCA then uses its account")
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
        PaysafeFlow.snapshot("sca", 1, "challenged", step: PaysafeFlow.enterPassword)),
    ]) { wallet in
      let account = try await wallet.authenticate(
        accessToken: "at", expiresIn: 900, refreshToken: "rt")
      #expect(account.id == "acc_7" && wallet.account == account)
      _ = try await wallet.authenticationService.sendSCAChallenge(
        eventID: "e", request: .init(walletOperationID: "w", verification: .init(method: .pin)))
    }
  }

  @Test("an account of a sign-in is not kept if the wallet was configured for another provider")
  func configuredMeanwhile() async throws {
    let path = FakeDaemon.freshPath()
    let wallet = Wallet(socketPath: path)
    let account = try await FakeDaemon.run(at: path) { peer in
      while true {
        let call = try await peer.next()
        switch call.method {
        case "flow.list":
          try await peer.reply(call, PaysafeFlow.list("authorize", "flw_1"))
        case "flow.get": try await peer.reply(call, exchanging)
        default:
          wallet.configure(provider: "other", socketPath: path)
          try await peer.reply(
            call, PaysafeFlow.succeeded("authorize", 4, result: #"{"account":"acc_7"}"#))
        }
      }
    } _: { _ in
      try await wallet.authenticate(accessToken: "at")
    }
    #expect(account.id == "acc_7")
    #expect(wallet.account == nil)
  }

  @Test("authenticate signs in with the token alone if the named sign-in does not wait for it")
  func named() async throws {
    try await wallet([
      list, other, .ask("flow.get", PaysafeFlow.flow(), exchanging),
      .ask(
        "flow.start",
        PaysafeFlow.start(
          "authenticate", ["accessToken": "at", "expiresIn": 900, "refreshToken": "rt"]),
        PaysafeFlow.succeeded("authenticate", 1, result: #"{"account":"acc_8"}"#)),
    ]) {
      let account = try await $0.authenticate(
        accessToken: "at", expiresIn: 900, refreshToken: "rt", requestID: "req-flw_2")
      #expect(account.id == "acc_8" && $0.account == account)
    }
  }

  @Test("authenticate throws invalidRequest for a refused token and sets no account")
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
    #expect(error.caseName == "invalidRequest")
    #expect(error.detail.field == field)
  }
}
