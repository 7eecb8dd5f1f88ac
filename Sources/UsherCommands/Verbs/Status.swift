import ArgumentParser
import UsherClient

struct StatusVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the state of the daemon and its providers.")

  @OptionGroup var options: GlobalOptions

  @Flag(help: "Use the admin socket: show the whole daemon, not only what is yours.")
  var admin = false

  func run(at context: CommandContext) async throws {
    do {
      defer { warnAboutLeftoverKey(at: context) }
      try await show(at: context)
    } catch let problem as ConnectionError {
      throw try await explained(problem, at: context)
    }
  }

  /// Warns root of a file with the recovery key in memory, which no running usherctl will remove.
  private func warnAboutLeftoverKey(at context: CommandContext) {
    let path = DatabaseOpener.recoveryKeyPath(context.environment)
    guard context.environment.userID == 0, (try? Durable.status(path)) != nil,
      let lock = try? StateLock(of: .system, in: context.environment)
    else { return }
    lock.release()
    context.console.printMessage(
      "the recovery key is still in \(path); to remove it, run: usherctl setup")
  }

  /// Returns the failure for a daemon that cannot be reached. If it is the system's daemon and root
  /// asks, the failure says why the daemon does not run.
  private func explained(_ problem: ConnectionError, at context: CommandContext) async throws
    -> any Error
  {
    let client = admin ? context.admin : context.app
    guard context.environment.userID == 0, client.socketPath.hasPrefix("/run/usherd/"),
      context.environment.tools.path(of: "systemctl") != nil,
      let why = try await Units(environment: context.environment).failureReason(),
      var failure = CommandFailure(problem)
    else { return problem }
    failure.lines += why.lines
    return failure
  }

  private func show(at context: CommandContext) async throws {
    try await context.show(SystemStatus(), on: admin ? context.admin : context.app) { status in
      let console = context.console
      let ready = status.locked == true ? "locked" : status.ready ? "ready" : "not ready"
      console.print(
        "usherd \(status.version), \(ready), up \(Duration.seconds(status.uptimeSeconds).text)")
      console.printProperties([
        ("flows", "\(status.flows)"), ("connections", "\(status.connections)"),
        ("store", status.store?.summary), ("master key", status.masterKey),
        (
          "recovery key",
          status.hasRecoveryKey.map { $0 ? "set" : "none; to create one, run: usherctl setup" }
        ),
        ("callers identified by", status.peerIdentity),
      ])
      if !status.providers.isEmpty { console.print("") }
      console.table(
        ["PROVIDER", "TYPE", "HEALTH"],
        status.providers.map { ["\($0.name)", $0.type, $0.health.rawValue] })
    }
  }
}

extension SystemStatus.Store {
  fileprivate var summary: String { "\(path), schema \(schemaVersion), \(sizeBytes / 1024) KiB" }
}
