import JSONRPC
import UsherCore

extension Simulation {
  private var simulator: Simulator { parts.simulator }
  private var machine: Machine { parts.machine }

  /// The time after the last fault within which each call is answered.
  private static let settling: UInt64 = 180_000_000_000

  /// Starts the daemon and waits until it is ready.
  func start() {
    parts.supervisor.start()
    parts.checks.access.isLocked.become(false, at: 0)
    parts.checks.access.denied.become([], at: 0)
    awaitReady()
    for (name, value) in SimulatedConfig.credentials.sorted(by: { $0.key < $1.key }) {
      _ = parts.operatorClient.ask(
        "credential.set", ["name": .string(name), "value": .string(value)], limit: .seconds(60))
    }
    for client in clients.prefix(SimulatedUsers.names.count) {
      _ = client.ask(
        "localAuth.setPasscode", ["new": .string(Person.passcode)], limit: .seconds(60))
    }
  }

  private func awaitReady() {
    let limit = simulator.now + 600_000_000_000
    _ = simulator.run(until: limit) { machine.incarnation?.isReady == true }
    guard simulator.finding == nil, machine.incarnation?.isReady != true else { return }
    simulator.fail("the daemon is not ready: \(machine.incarnation.map { "\($0.state)" } ?? "")")
  }

  /// Ends all hazards, lets everything settle, and checks what must hold then.
  func finish() {
    guard simulator.finding == nil else { return }
    simulator.trace.note("calm")
    parts.network.isCalm = true
    plan.end()
    awaitReady()
    guard simulator.finding == nil else { return }
    plan.unlock()
    plan.reload([])
    // A client whose daemon was killed while it slept has not noticed yet.
    simulator.afterLoops()
    simulator.run(until: simulator.now + Self.settling)
    simulator.afterLoops()
    checkOpenCalls()
    for client in clients.prefix(SimulatedUsers.names.count) where simulator.finding == nil {
      checkTokens(of: client)
      checkFlows(of: client)
    }
    if simulator.finding == nil, machine.kills == 0, !hazards.contains(.disk) {
      AuditCheck(
        simulator: simulator, checks: parts.checks, operatorClient: parts.operatorClient
      ).run()
    }
    stopAtEnd()
  }

  private func checkOpenCalls() {
    for client in clients + [parts.operatorClient] {
      for call in client.openCalls where call.sentAt + Self.settling <= simulator.now {
        simulator.fail("\(client.name): \(call.method) is not answered after three minutes")
      }
    }
  }

  /// Checks that each account of a user has a token, unless something happened that a broker
  /// cannot mend.
  private func checkTokens(of client: SimulatedClient) {
    guard let list = client.ask("account.list", [:], limit: .seconds(60)),
      let accounts = list["result"]?["accounts"]?.arrayValue
    else { return simulator.fail("\(client.name): account.list has no answer") }
    for (provider, realm) in Self.realms {
      for account in accounts where account["provider"] == .string(provider) {
        checkToken(["forceRefresh": true], of: account, at: realm, client)
        guard ["demo", "bound"].contains(provider) else { continue }
        for audience in OpenIDWorkload.audiences {
          checkToken(["audience": .string(audience)], of: account, at: realm, client)
        }
        if provider == "demo" { checkToken(["field": "idToken"], of: account, at: realm, client) }
      }
    }
  }

  /// The providers whose accounts must have tokens in the end, and their realms.
  private static let realms = [
    ("demo", "/oidc"), ("service", "/oidc"), ("robot", "/oidc"), ("paysafe", "/paysafe"),
    ("bound", OpenIDWire.realm(ofClient: OpenIDWorkload(.bound).clientID)),
    ("bank", OpenIDWire.realm(ofClient: BackchannelWorkload.clientID)),
  ]

  /// Checks that a call gets a token of an account.
  ///
  /// - Parameter parameters: What the call asks for.
  private func checkToken(
    _ parameters: JSONValue, of account: JSONValue, at provider: String, _ client: SimulatedClient
  ) {
    let id = account["id"] ?? ""
    let name = SandboxAccount.name(of: account["subject"]?.stringValue ?? "")
    let answer = client.ask(
      "token.get", parameters.adding(["account": id]), limit: .seconds(120))
    guard let answer else { return simulator.fail("\(client.name): token.get has no answer") }
    if answer["result"] != nil || parts.history.isExcused(name, at: provider) { return }
    // The provider does not see that the daemon drops tokens: Paysafe has no revocation endpoint,
    // and a client itself or a service account has no sign-in that ends.
    let signIn = parts.history.lastSignIn(name, at: provider)
    if provider == "/paysafe" || [ServiceWorkload.clientID, RobotWorkload.subject].contains(name),
      parts.checks.acknowledged.wasEndAskedFor(name, since: signIn)
    {
      return
    }
    simulator.fail(
      "\(client.name) gets no token of \(name) at \(provider) although no reply was lost and "
        + "nothing was revoked: \(String(decoding: answer.encoded(), as: UTF8.self))")
  }

  /// Checks that the daemon knows each flow of a user that it has told somebody of.
  private func checkFlows(of client: SimulatedClient) {
    for flow in parts.checks.acknowledged.keptFlows(of: client.uid) where simulator.finding == nil {
      if client.ask("flow.get", ["flow": .string(flow)], limit: .seconds(60)) == nil {
        simulator.fail("\(client.name): flow.get has no answer")
      }
    }
  }

  /// Stops the daemon in an orderly way.
  private func stopAtEnd() {
    guard simulator.finding == nil else { return }
    parts.supervisor.isActive = false
    machine.stop()
    let limit = simulator.now + 120_000_000_000
    _ = simulator.run(until: limit) { machine.incarnation?.hasEnded == true }
    if machine.incarnation?.state != .stopped {
      simulator.fail("the daemon does not stop: \(machine.incarnation.map { "\($0.state)" } ?? "")")
    }
  }
}
