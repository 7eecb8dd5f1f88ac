import ArgumentParser
import UsherAPI
import UsherCore

struct StatusVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Whether the daemon is well, and its providers.")

  @OptionGroup var options: GlobalOptions

  @Flag(help: "Ask on the admin socket, for the whole daemon instead of what is yours.")
  var admin = false

  func run(at desk: Desk) async throws {
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
        ("callers known by", status.peerIdentity),
      ])
      if !status.providers.isEmpty { console.say("") }
      console.table(
        ["PROVIDER", "TYPE", "HEALTH"],
        status.providers.map { ["\($0.name)", $0.type, $0.health.rawValue] })
    }
  }
}

extension SystemStatus.Store {
  fileprivate var summary: String {
    "\(path), schema \(schemaVersion), \(sizeBytes / 1024) KiB"
  }
}
