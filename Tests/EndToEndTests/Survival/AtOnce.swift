import Foundation
import UsherTestKit

/// Runs the body for each number on a thread of its own, and returns the results in order.
func atOnce<Value: Sendable>(
  _ numbers: Range<Int>, _ body: @escaping @Sendable (Int) throws -> Value
) throws -> [Value] {
  let results = Results<Value>()
  let group = DispatchGroup()
  // A new thread has none of the task-local values of the task that starts it.
  let needsProcess = OwnProcess.isAsked
  for number in numbers {
    group.enter()
    Thread.detachNewThread {
      OwnProcess.$isAsked.withValue(needsProcess) {
        results.set(Result { try body(number) }, number)
      }
      group.leave()
    }
  }
  group.wait()
  return try results.inOrder().map { try $0.get() }
}

private final class Results<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var values: [Int: Result<Value, any Error>] = [:]

  func set(_ value: Result<Value, any Error>, _ number: Int) {
    lock.withLock { values[number] = value }
  }

  func inOrder() -> [Result<Value, any Error>] {
    lock.withLock { values.sorted { $0.key < $1.key }.map(\.value) }
  }
}
