import Synchronization

/// A bag of calls in progress, in place of RxSwift's `DisposeBag`.
///
/// When the bag is disposed of or deallocated, its calls are cancelled: no callback of them is
/// called any more, and their flows are cancelled at the daemon. Calls that have ended are not
/// retained.
public final class DisposeBag: Sendable {
  private struct State {
    var calls: [Int: Task<Void, Never>] = [:]
    /// The number of calls so far. The bag numbers its calls with it.
    var count = 0
    var isDisposed = false
  }

  private let state = Mutex(State())

  public init() {}

  deinit { dispose() }

  /// Cancels the calls that were given this bag; their callbacks are not called any more. A call
  /// that is given the bag later is not made, and its callback is never called.
  ///
  /// Disposing again has no effect. A callback that is running is not interrupted.
  public func dispose() {
    let calls = state.withLock { state in
      defer { state.calls = [:] }
      state.isDisposed = true
      return state.calls.values
    }
    for call in calls { call.cancel() }
  }

  func run(_ call: @escaping @Sendable () async -> Void) {
    state.withLock { state in
      guard !state.isDisposed else { return }
      state.count += 1
      let number = state.count
      state.calls[number] = Task { [weak self] in
        await call()
        self?.remove(number)
      }
    }
  }

  private func remove(_ number: Int) { state.withLock { _ = $0.calls.removeValue(forKey: number) } }

  /// The tasks of the calls in progress.
  var calls: [Task<Void, Never>] { state.withLock { Array($0.calls.values) } }
}
