import UsherCore
import UsherTransport

// Calls that need data from disk. The connection reads no other line until the data is loaded, so
// that calls are answered in order. However many such calls arrive together, only one of them is
// loading data at a time; the calls of a batch wait one after the other.
extension ConnectionHandler {
  func wait(for call: ColdCall) {
    coldCalls.append(call)
    if coldCalls.count == 1 { readNextColdCall() }
  }

  private func readNextColdCall() {
    guard let call = coldCalls.first else { return }
    scheduler.chargeDiskRead(party)
    let loop = transport.loop
    let handler = OnLoop(self, loop)
    let (number, read) = (call.number, call.read)
    readTask = Task(executorPreference: service.executor) {
      let outcome = await Result(awaiting: read)
      loop.execute { handler.value.finishRead(number, outcome) }
    }
  }

  private func finishRead(_ number: Int, _ outcome: Result<Response, UsherError>) {
    guard let call = coldCalls.first, call.number == number else { return }
    complete(outcome, of: call)
    // Writing the reply may have closed the connection.
    guard !coldCalls.isEmpty else { return }
    coldCalls.removeFirst()
    readNextColdCall()
    if dropsUnread { dropUnread() }
    if coldCalls.isEmpty { resume() }
    flush()
    closeWhenDone()
  }

  private func complete(_ outcome: Result<Response, UsherError>, of call: ColdCall) {
    do throws(UsherError) {
      let response = try resumed(try outcome.get())
      // Another call of the batch may be in flight under the same id by now.
      if case .later = response, refuseIfInUse(call.id, call.origin) { return }
      // A single line is only read if there is room for its reply, so its reply is never dropped.
      if case .now(let result) = response, case .batch = call.origin {
        try checkRoom(for: result)
      }
      try finish(response, call.id, call.origin)
    } catch {
      fail(call.id, error, call.origin)
    }
  }

  func cancelColdCalls() {
    readTask?.cancel()
    readTask = nil
    coldCalls = []
  }
}
