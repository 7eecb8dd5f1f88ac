import Logging
import Synchronization
import UsherConfig
import UsherCore
import UsherStore

/// Finds the accounts on disk that wake soon, each once: whoever watches has them in mind from then
/// on. Those that wake later are left on the disk.
///
/// What is changed meanwhile is not found again: who watches is told of that otherwise.
final class WakingAccounts: Sendable {
  /// How far ahead those are that are soon.
  static let soon = Duration.seconds(3600)
  private static let page = 256

  private struct State {
    /// Nil before the beginning.
    var end: Timestamp?
    var last: WakingAccount?
    var isSearching = false
  }

  private let store: Store
  private let dependencies: Dependencies
  private let log: Logger
  private let state = Mutex(State())

  init(store: Store, dependencies: Dependencies, log: Logger) {
    self.store = store
    self.dependencies = dependencies
    self.log = log
  }

  /// Whether whoever watches has to have it in mind: it is found no more.
  func haveFound(_ record: AccountRecord) -> Bool {
    guard let wakeAt = record.wakeAt else { return false }
    return state.withLock { $0.end.map { wakeAt <= $0 } ?? false }
  }

  /// From now on those that wake soon are to be had in mind; those there are will be found.
  ///
  /// - Parameter lead: How much earlier than its row says there may be something to do.
  func advance(lead: Duration = .zero) {
    let end = dependencies.clock.now() + Self.soon + lead
    state.withLock { $0.end = max($0.end ?? end, end) }
  }

  /// Calls `body` with those that were not found yet. One searches at a time; what another one has
  /// begun is left to it.
  ///
  /// - Parameter body: Returns whether to go on.
  func search(_ body: (AccountID) -> Bool) async {
    let begin = state.withLock { state -> Bool in
      defer { state.isSearching = true }
      return !state.isSearching
    }
    guard begin else { return }
    defer { state.withLock { $0.isSearching = false } }
    while let page = nextPage(), !page.isEmpty {
      for account in page {
        guard body(account.id) else { return }
        state.withLock { $0.last = account }
      }
      await Task.yield()
    }
  }

  /// Calls `body` with those of some providers that were found already.
  ///
  /// - Parameter body: Returns whether to go on.
  func searchAgain(_ providers: Set<ProviderName>, _ body: (AccountID) -> Bool) async {
    var last: WakingAccount?
    while let end = state.withLock({ $0.end }),
      let page = page(after: last, until: end), !page.isEmpty
    {
      for account in page where providers.contains(account.provider) {
        guard body(account.id) else { return }
      }
      last = page.last
      await Task.yield()
    }
  }

  private func nextPage() -> [WakingAccount]? {
    let (last, end) = state.withLock { ($0.last, $0.end) }
    return end.flatMap { page(after: last, until: $0) }
  }

  private func page(after last: WakingAccount?, until end: Timestamp) -> [WakingAccount]? {
    do throws(UsherError) {
      return try store.wakingAccounts(after: last, until: end, atMost: Self.page)
    } catch {
      log.warning(
        "the accounts that wake cannot be read", metadata: ["cause": .string(error.message)])
      return nil
    }
  }
}
