import Synchronization

/// Holds calls that are under way, as RxSwift's does for the SDK.
///
/// When it is disposed of, or let go, its calls are cancelled: nothing of them is told any more, and
/// the flow that a call was about is cancelled at the daemon. Calls that have ended are not held.
public final class DisposeBag: Sendable {
  private struct Standing {
    var calls: [Int: Task<Void, Never>] = [:]
    /// How many calls there were: each one's number.
    var count = 0
    var isDisposed = false
  }

  private let standing = Mutex(Standing())

  public init() {}

  deinit { dispose() }

  /// Cancels its calls. One that is made with it later is not made at all, and nothing is told of it.
  ///
  /// Doing it twice changes nothing. A callback that is running is not stopped.
  public func dispose() {
    let calls = standing.withLock { standing in
      defer { standing.calls = [:] }
      standing.isDisposed = true
      return standing.calls.values
    }
    for call in calls { call.cancel() }
  }

  func run(_ call: @escaping @Sendable () async -> Void) {
    standing.withLock { standing in
      guard !standing.isDisposed else { return }
      standing.count += 1
      let number = standing.count
      standing.calls[number] = Task { [weak self] in
        await call()
        self?.forget(number)
      }
    }
  }

  private func forget(_ number: Int) {
    standing.withLock { _ = $0.calls.removeValue(forKey: number) }
  }

  /// Those under way.
  var calls: [Task<Void, Never>] { standing.withLock { Array($0.calls.values) } }
}
