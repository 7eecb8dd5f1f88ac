import UsherCore

// Calls about what is on the disk. Until it has been read no other line is: so calls are answered in
// their order, and however many come in one go, one of them waits; those of a batch wait one after the other.
extension ConnectionHandler {
  func wait(for call: ColdCall) {
    cold.append(call)
    if cold.count == 1 { readNext() }
  }

  private func readNext() {
    guard let call = cold.first else { return }
    turns.reads(party)
    let loop = transport.loop
    let handler = OnLoop(self, loop)
    let (number, read) = (call.number, call.read)
    reading = Task(executorPreference: service.executor) {
      let outcome: Result<Response, UsherError>
      do throws(UsherError) {
        outcome = .success(try await read())
      } catch {
        outcome = .failure(error)
      }
      loop.execute { handler.value.hasRead(number, outcome) }
    }
  }

  private func hasRead(_ number: Int, _ outcome: Result<Response, UsherError>) {
    guard let call = cold.first, call.number == number else { return }
    take(outcome, of: call)
    // The reply may have ended the connection.
    guard !cold.isEmpty else { return }
    cold.removeFirst()
    readNext()
    if keepsNothing { dropUnread() }
    if cold.isEmpty { comeBack() }
    flush()
    closeWhenDone()
  }

  private func take(_ outcome: Result<Response, UsherError>, of call: ColdCall) {
    do throws(UsherError) {
      let response = try resumed(try outcome.get())
      // Another call of its batch may wait under its id by now.
      if case .later = response, isRefused(call.id, call.origin) { return }
      // A line of its own is read only where there is room, so its reply is never dropped.
      if case .now(let result) = response, case .batch = call.origin {
        try checkRoom(for: result)
      }
      try follow(response, call.id, call.origin)
    } catch {
      fail(call.id, error, call.origin)
    }
  }

  func dropCold() {
    reading?.cancel()
    reading = nil
    cold = []
  }
}
