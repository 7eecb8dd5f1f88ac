import ArgumentParser
import UsherAPI
import UsherClient
import UsherCore

struct StatusVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Whether the daemon is well, and its providers.")

  @OptionGroup var options: GlobalOptions

  @Flag(help: "Ask on the admin socket, for the whole daemon instead of what is yours.")
  var admin = false

  func run(at desk: Desk) async throws {
    do {
      defer { tellOfLeftKey(at: desk) }
      try await show(at: desk)
    } catch let trouble as ConnectionTrouble {
      throw try await explained(trouble, at: desk)
    }
  }

  /// Tells root of a recovery key in memory that no `usherctl` removes any more.
  private func tellOfLeftKey(at desk: Desk) {
    let path = Opening.passing(desk.world)
    guard desk.world.userID == 0, (try? Durable.status(path)) != nil,
      let lock = try? StateLock(of: .system, in: desk.world)
    else { return }
    lock.release()
    desk.console.note("the recovery key is left in \(path): usherctl setup removes it")
  }

  /// Why nobody is there, where it is the system's daemon and root may ask.
  private func explained(_ trouble: ConnectionTrouble, at desk: Desk) async throws -> any Error {
    let client = admin ? desk.admin : desk.app
    guard desk.world.userID == 0, client.socketPath.hasPrefix("/run/usherd/"),
      desk.world.tools.path(of: "systemctl") != nil,
      let why = try await Units(world: desk.world).why(), var failure = Failure(trouble)
    else { return trouble }
    failure.lines += why.lines
    return failure
  }

  private func show(at desk: Desk) async throws {
    try await desk.show(SystemStatus(), on: admin ? desk.admin : desk.app) { status in
      let console = desk.console
      let ready = status.locked == true ? "locked" : status.ready ? "ready" : "not ready"
      console.say(
        "usherd \(status.version), \(ready), up \(Duration.seconds(status.uptimeSeconds).words)")
      console.facts([
        ("flows", "\(status.flows)"),
        ("connections", "\(status.connections)"),
        ("store", status.store?.summary),
        ("master key", status.masterKey),
        ("recovery key", status.recoveryKeySentence),
        ("callers known by", status.peerIdentity),
      ])
      if !status.providers.isEmpty { console.say("") }
      console.table(
        ["PROVIDER", "TYPE", "HEALTH"],
        status.providers.map { ["\($0.name)", $0.type, $0.health.rawValue] })
    }
  }
}

extension SystemStatus.Reply {
  fileprivate var recoveryKeySentence: String? {
    hasRecoveryKey.map { $0 ? "there is one" : "none: usherctl setup makes one" }
  }
}

extension SystemStatus.Store {
  fileprivate var summary: String {
    "\(path), schema \(schemaVersion), \(sizeBytes / 1024) KiB"
  }
}
