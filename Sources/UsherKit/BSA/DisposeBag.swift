import Synchronization

extension BSA {
  /// A keeper of calls in progress that can cancel them, such as a bag of RxSwift.
  ///
  /// ``BSA/DisposeBag`` is one. RxSwift's `DisposeBag` becomes one by an extension in the app:
  ///
  /// ```swift
  /// extension RxSwift.DisposeBag: @retroactive BSA.Disposer {
  ///   public func insert(_ dispose: @escaping @Sendable () -> Void) {
  ///     insert(Disposables.create(with: dispose))
  ///   }
  /// }
  /// ```
  public protocol Disposer: AnyObject {
    /// Keeps a closure that cancels one call. A call of the SDK calls this once, before it begins.
    ///
    /// Call the closure when the calls are to be cancelled; at once if they have been. The closure
    /// may be called on any thread and more than once, also after the call has ended.
    func insert(_ dispose: @escaping @Sendable () -> Void)
  }

  /// A bag of calls in progress, in place of RxSwift's `DisposeBag`.
  ///
  /// When the bag is disposed of or deallocated, its calls are cancelled: no callback of them is
  /// called any more, and their flows are cancelled at the daemon. Calls that have ended are not
  /// retained.
  ///
  /// An app that does not use RxSwift can keep the SDK's spelling with
  /// `typealias DisposeBag = BSA.DisposeBag`.
  public final class DisposeBag: Disposer, Sendable {
    private struct State {
      var calls: [Int: Task<Void, Never>] = [:]
      var closures: [@Sendable () -> Void] = []
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
      let (calls, closures) = state.withLock { state in
        defer { (state.calls, state.closures) = ([:], []) }
        state.isDisposed = true
        return (state.calls.values, state.closures)
      }
      for call in calls { call.cancel() }
      for closure in closures { closure() }
    }

    /// Keeps a closure until the bag is disposed of. The SDK's calls do not need it.
    public func insert(_ dispose: @escaping @Sendable () -> Void) {
      let isDisposed = state.withLock { state in
        if !state.isDisposed { state.closures.append(dispose) }
        return state.isDisposed
      }
      if isDisposed { dispose() }
    }

    fileprivate func start(_ call: @escaping @Sendable () async -> Void) {
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

    private func remove(_ number: Int) {
      state.withLock { _ = $0.calls.removeValue(forKey: number) }
    }

    /// The tasks of the calls in progress.
    var calls: [Task<Void, Never>] { state.withLock { Array($0.calls.values) } }
  }
}

extension BSA.Disposer {
  /// Makes a call that the disposer can cancel; none if it is disposed of already.
  func run(_ call: @escaping @Sendable () async -> Void) {
    if let bag = self as? BSA.DisposeBag { return bag.start(call) }
    let disposable = DisposableCall()
    insert { disposable.dispose() }
    disposable.start(call)
  }
}

/// A call that another keeper of calls than ``BSA/DisposeBag`` can cancel, also before it begins.
private final class DisposableCall: Sendable {
  private enum State {
    case idle
    case running(Task<Void, Never>)
    case disposed
  }

  private let state = Mutex(State.idle)

  func start(_ call: @escaping @Sendable () async -> Void) {
    state.withLock { state in
      guard case .idle = state else { return }
      state = .running(Task { await call() })
    }
  }

  func dispose() {
    state.withLock { state in
      if case .running(let task) = state { task.cancel() }
      state = .disposed
    }
  }
}
