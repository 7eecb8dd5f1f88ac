import JSONRPC
import NIOCore
import UsherCore
import UsherTransport

// Long lines are parsed off the event loop, one at a time. Until a long line is parsed, the
// connection reads no other line, so that calls are answered in order.
extension ConnectionHandler {
  /// A long line, and the task that parses it.
  struct PendingLongLine {
    let line: LongLine
    let task: Task<Void, Never>
  }

  func read(_ line: LongLine) {
    applyCurrentRules()
    let (service, scanner, caller, party) = (service, scanner, caller, party)
    let loop = transport.loop
    let handler = OnLoop(self, loop)
    let task = Task(executorPreference: service.executor) {
      let content = try? await service.readLongLine(of: party) { () throws(UsherError) in
        if Task.isCancelled { throw UsherError(.cancelled, "the connection is closed") }
        return line.read(scanner, service, caller)
      }
      loop.execute { handler.value.finishRead(line, content) }
    }
    pendingLongLine = PendingLongLine(line: line, task: task)
  }

  private func finishRead(_ line: LongLine, _ content: LongLine.Content?) {
    guard let content, let pendingLongLine, pendingLongLine.line === line else { return }
    let begun = transport.loop.now
    self.pendingLongLine = nil
    slice = isRefusing ? .endless : scheduler.slice(for: self)
    line.bytes.withUnsafeBytes { answer($0, content.scanned, content.calls, stored: line) }
    scheduler.charge(content.cost, since: begun, to: party)
    if dropsUnread { dropUnread() }
    resume()
    flush()
    closeWhenDone()
  }

  func cancelLongLine() {
    pendingLongLine?.task.cancel()
    pendingLongLine = nil
  }

  /// Refuses the calls of a long line, each under its own id, because the daemon stops.
  func refuseLongLine() {
    guard let line = pendingLongLine?.line else { return }
    cancelLongLine()
    slice = .endless
    line.bytes.withUnsafeBytes { answer($0, scanner.scan($0)) }
  }
}
