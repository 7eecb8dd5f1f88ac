import JSONRPC
import UsherCore

extension Simulation {
  /// Starts the daemon and waits until it is ready.
  func start() throws {
    try machine.start()
    let limit = simulator.now + 60_000_000_000
    _ = simulator.run(until: limit) { machine.incarnation?.isStarting == false }
    if machine.incarnation?.isReady != true {
      simulator.fail("the daemon is not ready: \(machine.incarnation.map { "\($0.state)" } ?? "")")
    }
  }

  /// Stops the daemon now and again, and starts it again after a pause.
  func scheduleRestart() {
    simulator.after(restarts.next(.seconds(30) ... .seconds(3000))) {
      guard !network.isCalm, machine.incarnation?.isReady == true else { return }
      machine.stop()
      startAgain()
    }
  }

  private func startAgain() {
    simulator.after(restarts.next(.milliseconds(100) ... .seconds(100))) {
      guard machine.incarnation?.hasEnded == true else { return startAgain() }
      do {
        try machine.start()
      } catch {
        simulator.fail("the daemon cannot be started: \(error)")
      }
      scheduleRestart()
    }
  }

  /// Ends all faults, lets everything settle, and checks what must hold then.
  func finish() throws {
    guard simulator.finding == nil else { return }
    simulator.trace.note("calm")
    network.isCalm = true
    let limit = simulator.now + 600_000_000_000
    _ = simulator.run(until: limit) { machine.incarnation?.hasEnded == true }
    if machine.incarnation?.hasEnded == true, simulator.finding == nil { try start() }
    simulator.run(until: limit)
    guard simulator.finding == nil else { return }
    for client in clients {
      for call in client.openCalls where call.sentAt + 300_000_000_000 < simulator.now {
        simulator.fail("\(client.name): \(call.method) is not answered after five minutes")
      }
    }
    for client in clients.prefix(SimulatedUsers.names.count) { checkTokens(of: client) }
    stopAtEnd()
  }

  /// Checks that each account of a user has a token, unless something happened that a broker
  /// cannot mend.
  private func checkTokens(of client: SimulatedClient) {
    guard let list = client.ask("account.list", [:], limit: .seconds(60)),
      let accounts = list["result"]?["accounts"]?.arrayValue
    else { return simulator.fail("\(client.name): account.list has no answer") }
    for account in accounts {
      let id = account["id"]?.stringValue ?? ""
      let name = account["subject"]?.stringValue?.dropFirst("usr_".count) ?? ""
      let answer = client.ask(
        "token.get", ["account": .string(id), "forceRefresh": true], limit: .seconds(120))
      guard let answer else { return simulator.fail("\(client.name): token.get has no answer") }
      if answer["result"] != nil || history.isExcused(String(name)) || checks.wasRevoked(id) {
        continue
      }
      simulator.fail(
        "\(client.name) gets no token of \(name) although no reply was lost and nothing was "
          + "revoked: \(String(decoding: answer.encoded(), as: UTF8.self))")
    }
  }

  /// Stops the daemon in an orderly way.
  private func stopAtEnd() {
    guard simulator.finding == nil else { return }
    machine.stop()
    let limit = simulator.now + 120_000_000_000
    _ = simulator.run(until: limit) { machine.incarnation?.hasEnded == true }
    if machine.incarnation?.state != .stopped {
      simulator.fail("the daemon does not stop: \(machine.incarnation.map { "\($0.state)" } ?? "")")
    }
  }
}
