import ArgumentParser
import UsherClient
import UsherConfig

/// The daemon whose state a command changes: the system's, the user's own, or another one.
enum Instance: Equatable {
  /// The system's daemon, which only root may change.
  case system
  /// The user's own daemon.
  case user
  /// A daemon started without systemd, identified by its state directory.
  case unmanaged(state: String)

  func state(_ environment: CommandEnvironment) -> String {
    switch self {
    case .system: environment.directories.state
    case .user: environment.directories.userState
    case .unmanaged(let state): state
    }
  }

  /// Returns the path of the daemon's database.
  ///
  /// The system's daemon has it in its configuration; for other daemons it is the default path.
  ///
  /// - Throws: `ConfigError` with every problem of the system daemon's configuration.
  func database(_ environment: CommandEnvironment) throws -> String {
    let state = state(environment)
    let config =
      try self == .system ? ConfigFileArguments.parse([]).load(in: environment).config : Config()
    switch config.store.url {
    case .sqlite(let path): return path.hasPrefix("/") ? path : "\(state)/\(path)"
    }
  }
}

/// The option that selects the daemon whose state a command changes.
struct InstanceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "State directory. Default: the system's for root, otherwise your own.",
      valueName: "directory"))
  var state: String?

  /// Returns the selected daemon.
  ///
  /// - Throws: ``CommandFailure`` if the system's daemon is selected and the user is not root.
  func instance(_ context: CommandContext) throws -> Instance {
    if let state {
      let isEnded = state.count > 1 && state.hasSuffix("/")
      return .unmanaged(state: isEnded ? String(state.dropLast()) : state)
    }
    if context.environment.userID == 0 { return .system }
    guard !context.admin.socketPath.hasPrefix("/run/usherd/") else {
      throw CommandFailure(
        "only root may change the system's usherd; repeat the command with sudo",
        status: .notPermitted)
    }
    return .user
  }
}
