import ArgumentParser
import CWipe
import UsherDaemon

/// The program usherd.
@main
struct Usherd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "usherd",
    abstract:
      "Runs identity flows for people and programs, and stores their accounts and tokens.",
    version: Version.current)

  @Option(help: "The configuration file. Files in conf.d/*.toml next to it override it.")
  var config: String?

  @Option(help: "The directory of the database.")
  var state: String?

  @Option(help: "The socket for apps.")
  var socket: String?

  @Option(help: "The socket for administration.")
  var adminSocket: String?

  @Option(
    help: "trace, debug, info, notice, warning, error or critical. Overrides the configuration.")
  var logLevel: String?

  @Flag(
    help: """
      Open the database as at a start, then exit: with status 1 and a message if it cannot be \
      opened.
      """)
  var checkStore = false

  @Flag(
    name: .customLong("print-rpc-description"),
    help: """
      Print the OpenRPC document of the sockets, which rpc.discover returns, and end; no daemon is \
      needed.
      """)
  var printRPCDescription = false

  func run() async throws {
    if printRPCDescription {
      print(RPCDescription.text)
      return
    }
    let launch = Launch(
      configFile: config, stateDirectory: state, socketPath: socket, adminSocketPath: adminSocket,
      logLevel: logLevel, wipesFreedMemory: usher_wipes_freed_memory() != 0)
    if checkStore { launch.checkStore() } else { await launch.run() }
  }
}
