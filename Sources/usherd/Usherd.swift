import ArgumentParser
import CWipe
import UsherDaemon

/// The daemon's command line.
@main
struct Usherd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "usherd",
    abstract:
      "Ushers people and programs through identity flows, and keeps what comes out of them.",
    version: Version.current)

  @Option(help: "The configuration file; conf.d/*.toml beside it is laid over it.")
  var config: String?

  @Option(help: "The directory of the database.")
  var state: String?

  @Option(help: "The socket for apps.")
  var socket: String?

  @Option(help: "The socket for administration.")
  var adminSocket: String?

  @Option(help: "trace, debug, info, notice, warning, error or critical; over the configuration's.")
  var logLevel: String?

  func run() async throws {
    await Launch(
      configFile: config, stateDirectory: state, socketPath: socket, adminSocketPath: adminSocket,
      logLevel: logLevel, wipesFreedMemory: usher_wipes_freed_memory() != 0
    ).run()
  }
}
