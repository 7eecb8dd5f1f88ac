import JSONRPC
import Synchronization
import Testing
import UsherCore
import UsherKit
import UsherTestKit

@Suite("Configuration of a Paysafe wallet")
struct WalletTests {
  @Test("configuring a wallet with the same provider and socket keeps the account")
  func idempotent() {
    let wallet = Wallet(provider: "p", socketPath: "/s", account: "acc_1")
    wallet.configure(provider: "p", socketPath: "/s")
    #expect(wallet.account?.id == "acc_1")
    wallet.configure(provider: "p", socketPath: "/s", account: "acc_2")
    #expect(wallet.account?.id == "acc_2")
  }

  @Test("configuring a wallet with another provider or socket clears the account")
  func another() {
    let wallet = Wallet(provider: "p", socketPath: "/s", account: "acc_1")
    wallet.configure(provider: "q", socketPath: "/s")
    #expect(wallet.account == nil)
    wallet.configure(provider: "q", socketPath: "/s", account: "acc_1")
    wallet.configure(provider: "q", socketPath: "/t")
    #expect(wallet.account == nil)
  }

  @Test("a wallet asks the daemon about its configured provider")
  func providerName() async throws {
    try await playing([
      .ask(
        "flow.list", ["provider": "till", "kind": "authorize", "status": "active"],
        PaysafeFlow.none)
    ]) { path in
      let wallet = Wallet()
      wallet.configure(provider: "till", socketPath: path)
      _ = try? await wallet.authenticationService.authenticationCode()
    }
  }

  @Test("wallet requests are printed and dumped without the client identifier and the value")
  func secrets() {
    let request = Wallet.AuthenticationDetailsRequest(
      clientIdentifier: "hidden-client", codeChallenge: "c", state: "s")
    let attempt = Wallet.SCAAuthenticationEventAttemptEmbeddedHybridRequest(
      walletOperationID: "w", verification: .init(method: .pin), value: "hidden-value")
    var printed = "\(request)\(attempt)"
    dump(request, to: &printed)
    dump(attempt, to: &printed)
    #expect(!printed.contains("hidden"))
  }
}

@Suite("Completions of wallet calls", .timeLimit(.minutes(10)))
struct CompletionTests {
  private final class Count: Sendable {
    let value = Mutex(0)
  }

  @Test("each Paysafe wallet call calls its completion exactly once, for a result or an error")
  func once() async throws {
    let turns = (0..<50).map { index in
      index % 2 == 0
        ? Turn.foundNone
        : .refuse("flow.list", PaysafeFlow.anyFlows, PaysafeFlow.error("internal_error"))
    }
    let count = Count()
    try await wallet(turns) { wallet in
      await withTaskGroup(of: Void.self) { group in
        for _ in turns {
          group.addTask {
            await withCheckedContinuation { continuation in
              wallet.authenticationService.submitSCAAttempt(
                eventID: "e",
                request: .init(
                  walletOperationID: "w", verification: SCAEvent.push, value: "1")
              ) { _ in
                count.value.withLock { $0 += 1 }
                continuation.resume()
              }
            }
          }
        }
      }
    }
    #expect(count.value.withLock { $0 } == 50)
  }

  @Test("a completion that is written on the main actor runs there, and uses its state")
  func mainActor() async throws {
    try await wallet([.foundNone]) { wallet in
      let screen = await Screen()
      await screen.submit(to: wallet)
      await screen.shown.wait()
      #expect(await screen.text == "nothingWaiting")
    }
  }

  /// A class that lives on the main actor, as a view controller does.
  @MainActor
  private final class Screen {
    var text = ""
    let shown = AsyncLatch()

    init() {}

    func submit(to wallet: Wallet) {
      wallet.authenticationService.submitSCAAttempt(
        eventID: "e", request: SCAEvent.attempt(SCAEvent.push)
      ) { result in
        MainActor.assertIsolated()
        if case .failure(let error) = result { self.text = error.caseName }
        self.shown.open()
      }
    }
  }

  @Test("a wallet call in a task that is cancelled ends without a reply of the daemon")
  func cancelled() async throws {
    let asked = AsyncLatch()
    try await FakeDaemon.run { peer in
      _ = try await peer.next()
      asked.open()
      while true { _ = try await peer.next() }
    } _: { daemon in
      let waiting = Task { [path = daemon.path] in
        try await Wallet(socketPath: path).authenticationService.authenticationCode()
      }
      await asked.wait()
      waiting.cancel()
      let error = await #expect(throws: WalletError.self) { try await waiting.value }
      #expect(error?.caseName == "cancelled")
    }
  }
}
