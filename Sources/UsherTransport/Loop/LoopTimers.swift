import HeapModule
package import NIOCore

/// Timers of a loop, by deadline and then in the order of their creation. On the loop only.
final class LoopTimers {
  private var heap = Heap<LoopTimer>()
  /// The first element of the heap. Every iteration of the loop looks at it.
  private var first: LoopTimer?
  private var cancelled = 0
  private var added: UInt64 = 0

  func add(_ deadline: NIODeadline, _ body: @escaping () -> Void) -> LoopTimer {
    added += 1
    let timer = LoopTimer(deadline, added, of: self, body)
    heap.insert(timer)
    if first.map({ timer < $0 }) ?? true { first = timer }
    return timer
  }

  /// The earliest deadline; nil if there is none.
  var next: NIODeadline? {
    while let first {
      if !first.isCancelled { return first.deadline }
      removeFirst()
      cancelled -= 1
    }
    return nil
  }

  @discardableResult
  private func removeFirst() -> LoopTimer {
    defer { first = heap.min }
    return heap.removeMin()
  }

  /// Removes and returns the body of the next timer that is due at `now`; nil if none is.
  func pop(at now: NIODeadline) -> (() -> Void)? {
    guard let next, next <= now else { return nil }
    return removeFirst().takeBody()
  }

  func removeAll() {
    for timer in heap.unordered { timer.cancel() }
    heap = Heap()
    first = nil
    cancelled = 0
  }

  /// Counts a cancelled timer. Cancelled timers stay in the heap while they are few.
  fileprivate func oneIsCancelled() {
    cancelled += 1
    guard cancelled > 64, cancelled > heap.count / 2 else { return }
    heap = Heap(heap.unordered.filter { !$0.isCancelled })
    first = heap.min
    cancelled = 0
  }
}

/// Function to run later. On the loop only.
package final class LoopTimer: Comparable {
  package let deadline: NIODeadline
  private let number: UInt64
  private var body: (() -> Void)?
  private let timers: LoopTimers

  fileprivate init(
    _ deadline: NIODeadline, _ number: UInt64, of timers: LoopTimers, _ body: @escaping () -> Void
  ) {
    self.deadline = deadline
    self.number = number
    self.timers = timers
    self.body = body
  }

  /// Cancels the timer and releases its body; does nothing if it has fired or is cancelled.
  package func cancel() {
    guard body != nil else { return }
    body = nil
    timers.oneIsCancelled()
  }

  fileprivate var isCancelled: Bool { body == nil }

  fileprivate func takeBody() -> (() -> Void)? {
    defer { body = nil }
    return body
  }

  package static func < (first: LoopTimer, second: LoopTimer) -> Bool {
    (first.deadline, first.number) < (second.deadline, second.number)
  }

  package static func == (first: LoopTimer, second: LoopTimer) -> Bool { first === second }
}
