import Logging
import Synchronization
import UsherConfig
import UsherCore
import UsherStore

/// Finds the accounts on disk whose stored wake time is near, each once. ``AccountWatch`` keeps
/// them in memory from then on. Accounts with a later wake time stay on disk.
///
/// An account that changes is not found again, because ``AccountWatch`` observes changes by itself.
final class WakingAccounts: Sendable {
  /// How long before its wake time an account is read into memory.
  static let horizon = Duration.seconds(3600)
  private static let page = 256

  private struct State {
    /// The latest wake time that the search covers; nil before the first `advance(lead:)`.
    var end: Timestamp?
    var last: DueAccount?
    var isSearching = false
  }

  private let store: Store
  private let dependencies: Dependencies
  private let state = Mutex(State())

  init(store: Store, dependencies: Dependencies) {
    self.store = store
    self.dependencies = dependencies
  }

  /// Whether ``AccountWatch`` must keep the account, because the search has passed its wake time.
  func covers(_ record: AccountRecord) -> Bool {
    guard let wakeAt = record.wakeAt else { return false }
    return state.withLock { $0.end.map { wakeAt <= $0 } ?? false }
  }

  /// Extends the search to wake times until now plus `horizon` and `lead`.
  ///
  /// - Parameter lead: How much earlier than the stored wake time work may be due.
  func advance(lead: Duration = .zero) {
    let end = dependencies.clock.now() + Self.horizon + lead
    state.withLock { $0.end = max($0.end ?? end, end) }
  }

  /// Calls `body` with each account that was not found before. If a search is already running, that
  /// search finds them and this call returns at once.
  ///
  /// - Parameter body: Returns whether to continue.
  func search(_ body: (AccountID) -> Bool) async {
    guard !state.withLock({ exchange(&$0.isSearching, with: true) }) else { return }
    defer { state.withLock { $0.isSearching = false } }
    await forEach(after: state.withLock { $0.last }) { account in
      guard body(account.id) else { return false }
      state.withLock { $0.last = account }
      return true
    }
  }

  /// Calls `body` again with the accounts of the given providers that were found before.
  ///
  /// - Parameter body: Returns whether to continue.
  func searchAgain(_ providers: Set<ProviderName>, _ body: (AccountID) -> Bool) async {
    await forEach(after: nil) { !providers.contains($0.provider) || body($0.id) }
  }

  private func forEach(after first: DueAccount?, _ body: (DueAccount) -> Bool) async {
    var last = first
    while let end = state.withLock({ $0.end }),
      let page = page(after: last, until: end), !page.isEmpty
    {
      for account in page where !body(account) { return }
      last = page.last
      await Task.yield()
    }
  }

  private func page(after last: DueAccount?, until end: Timestamp) -> [DueAccount]? {
    do throws(UsherError) {
      return try store.dueAccounts(after: last, until: end, atMost: Self.page)
    } catch {
      dependencies.log.warning(
        "the accounts that are due for background work cannot be read",
        metadata: ["cause": .string(error.message)])
      return nil
    }
  }
}
