import HeapModule
package import NIOCore

/// Timers of an event loop, sorted by deadline and then by the order of their creation. Used on the
/// loop only.
final class LoopTimers {
  private var heap = Heap<LoopTimer>()
  /// The first element of the heap, stored separately because every iteration of the loop reads it.
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

  /// The deadline of the next timer; nil if there is none.
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

  /// Removes the next timer if it is due at `now` and returns its function; nil if no timer is due.
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

  /// Counts a cancelled timer. Cancelled timers stay in the heap until they are the majority and
  /// more than 64.
  fileprivate func countCancelled() {
    cancelled += 1
    guard cancelled > 64, cancelled > heap.count / 2 else { return }
    heap = Heap(heap.unordered.filter { !$0.isCancelled })
    first = heap.min
    cancelled = 0
  }
}

/// A function that an event loop runs at a deadline. Used on the loop only.
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

  /// Cancels the timer and releases its function; does nothing if it has fired or is cancelled.
  package func cancel() {
    guard body != nil else { return }
    body = nil
    timers.countCancelled()
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
