import ArgumentParser
import CWipe
import UsherDaemon

/// The usherd program.
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

  @Flag(
    help: """
      Open the database as a start does, and end: with status 1 and a sentence where it does not \
      open.
      """)
  var checkStore = false

  func run() async throws {
    let launch = Launch(
      configFile: config, stateDirectory: state, socketPath: socket, adminSocketPath: adminSocket,
      logLevel: logLevel, wipesFreedMemory: usher_wipes_freed_memory() != 0)
    if checkStore { launch.checkStore() } else { await launch.run() }
  }
}
