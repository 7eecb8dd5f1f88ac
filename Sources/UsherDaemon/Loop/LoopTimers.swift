import NIOCore

/// Timers of a loop, by deadline and then in the order of their creation. On the loop only.
final class LoopTimers {
  /// A binary heap with the earliest timer first.
  private var heap: [LoopTimer] = []
  private var cancelled = 0
  private var added: UInt64 = 0

  func add(_ deadline: NIODeadline, _ body: @escaping () -> Void) -> LoopTimer {
    added += 1
    let timer = LoopTimer(deadline, added, of: self, body)
    heap.append(timer)
    rise(from: heap.endIndex - 1)
    return timer
  }

  /// The earliest deadline; nil if there is none.
  var next: NIODeadline? {
    while let first = heap.first {
      if !first.isCancelled { return first.deadline }
      removeFirst()
      cancelled -= 1
    }
    return nil
  }

  /// Removes and returns the body of the next timer that is due at `now`; nil if none is.
  func pop(at now: NIODeadline) -> (() -> Void)? {
    guard let next, next <= now else { return nil }
    return removeFirst().take()
  }

  func removeAll() {
    for timer in heap { timer.cancel() }
    heap = []
    cancelled = 0
  }

  /// Counts a cancelled timer. Cancelled timers stay in the heap while they are few.
  fileprivate func oneIsCancelled() {
    cancelled += 1
    guard cancelled > 64, cancelled > heap.count / 2 else { return }
    heap.removeAll { $0.isCancelled }
    heap.sort { $0.isBefore($1) }
    cancelled = 0
  }

  private func rise(from start: Int) {
    var place = start
    while place > 0, heap[place].isBefore(heap[(place - 1) / 2]) {
      heap.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  @discardableResult
  private func removeFirst() -> LoopTimer {
    heap.swapAt(0, heap.endIndex - 1)
    let first = heap.removeLast()
    var place = 0
    while true {
      let left = 2 * place + 1
      guard left < heap.endIndex else { return first }
      let right = left + 1
      let child = right < heap.endIndex && heap[right].isBefore(heap[left]) ? right : left
      guard heap[child].isBefore(heap[place]) else { return first }
      heap.swapAt(place, child)
      place = child
    }
  }
}

/// Function to run later. On the loop only.
final class LoopTimer {
  let deadline: NIODeadline
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
  func cancel() {
    guard body != nil else { return }
    body = nil
    timers.oneIsCancelled()
  }

  fileprivate var isCancelled: Bool { body == nil }

  fileprivate func take() -> (() -> Void)? {
    defer { body = nil }
    return body
  }

  fileprivate func isBefore(_ other: LoopTimer) -> Bool {
    (deadline, number) < (other.deadline, other.number)
  }
}
